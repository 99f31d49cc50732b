// SPDX-License-Identifier: Apache-2.0
// The whole catalog at one place of the log, as the store loads it and the engine starts from it.
#pragma once

#include "base/ids.h"
#include "catalog/spec.h"

#include <vector>

namespace millrace::catalog {

struct Snapshot {
    base::LogIndex stamp =
        0; // reflects the log up to here: catalog changes of later entries are to be replayed
    base::QueueId nextQueueId =
        1; // above every id that was ever stored, also of queues that are gone
    std::vector<VhostSpec> vhosts;
    std::vector<UserSpec> users;
    std::vector<ExchangeSpec> exchanges;
    std::vector<QueueSpec> queues;
    std::vector<BindingSpec> bindings;
};

} // namespace millrace::catalog
