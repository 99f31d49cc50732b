// SPDX-License-Identifier: Apache-2.0
// Accounting of confirms: a bit a message between the oldest unanswered one and the newest.
#include "client/confirm_account.h"

#include <utility>

namespace millrace::client {

std::uint64_t ConfirmAccount::published() {
    open_.push_back(true);
    ++outstanding_;
    return next_++;
}

bool ConfirmAccount::answered(std::uint64_t sequence, bool multiple, bool accepted) {
    const std::uint64_t to = multiple && sequence == 0 ? last() : sequence; // 0 = all so far
    if (to < first_ || to >= next_ || (!multiple && !open_[to - first_])) {
        return false;
    }
    for (std::uint64_t each = multiple ? first_ : to; each <= to; ++each) {
        if (open_[each - first_]) {
            settle(each, accepted);
        }
    }
    while (!open_.empty() && !open_.front()) {
        open_.pop_front();
        ++first_;
    }
    return true;
}

void ConfirmAccount::settle(std::uint64_t sequence, bool accepted) {
    open_[sequence - first_] = false;
    --outstanding_;
    refused_ += accepted ? 0 : 1;
    if (!answers_.empty() && answers_.back().to + 1 == sequence &&
        answers_.back().accepted == accepted) {
        answers_.back().to = sequence;
    } else {
        answers_.push_back({sequence, sequence, accepted});
    }
}

std::vector<Confirm> ConfirmAccount::take() {
    return std::exchange(answers_, {});
}

} // namespace millrace::client
