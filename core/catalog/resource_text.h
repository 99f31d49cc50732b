// SPDX-License-Identifier: Apache-2.0
// How RabbitMQ names a queue or an exchange in the texts that clients see: `queue 'q' in vhost
// '/'`.
#pragma once

#include <string>
#include <string_view>

namespace millrace::catalog {

inline std::string resourceText(std::string_view kind, std::string_view name,
                                std::string_view vhost) {
    std::string text(kind);
    text.append(" '").append(name).append("' in vhost '").append(vhost).append("'");
    return text;
}
inline std::string queueText(std::string_view name, std::string_view vhost) {
    return resourceText("queue", name, vhost);
}
inline std::string exchangeText(std::string_view name, std::string_view vhost) {
    return resourceText("exchange", name, vhost);
}

} // namespace millrace::catalog
