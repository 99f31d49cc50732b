// SPDX-License-Identifier: Apache-2.0
// The refusals that several topology commands share, in RabbitMQ's words.
#pragma once

#include "base/refusal.h"
#include "catalog/resource_text.h"

#include <string_view>

namespace millrace::engine {

inline base::Refusal notOnDefaultExchange() {
    return {base::ReplyCode::accessRefused, "operation not permitted on the default exchange"};
}
inline base::Refusal noExchange(std::string_view name, std::string_view vhost) {
    return {base::ReplyCode::notFound, "no " + catalog::exchangeText(name, vhost)};
}
inline base::Refusal noQueue(std::string_view name, std::string_view vhost) {
    return {base::ReplyCode::notFound, "no " + catalog::queueText(name, vhost)};
}

} // namespace millrace::engine
