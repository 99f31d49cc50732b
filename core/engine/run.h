// SPDX-License-Identifier: Apache-2.0
// A run of message ids: neighbouring slots of one record. Contents of queues, settles and holds are
// said in runs.
#pragma once

#include "base/ids.h"

#include <cstdint>
#include <functional>

namespace millrace::engine {

struct Run {
    base::MessageId first;
    std::uint32_t count = 0;
    std::uint64_t firstOrdinal =
        0; // of `first` among the queue's persistent messages, the others follow; 0 for scratch ids

    base::MessageId at(std::uint32_t step) const { return {first.record, first.slot + step}; }
    bool holds(const base::MessageId& id) const {
        return id.record == first.record && id.slot - first.slot < count;
    }
};

using RunVisitor = std::function<void(const Run&)>;

} // namespace millrace::engine
