// SPDX-License-Identifier: Apache-2.0
#include "engine/serving.h"

#include "base/check.h"

#include <algorithm>

namespace millrace::engine {

Serving::Level& Serving::levelOf(const Consumer& consumer) {
    const auto at = std::find_if(levels_.begin(), levels_.end(), [&consumer](const Level& level) {
        return level.priority == consumer.priority;
    });
    MILLRACE_CHECK(at != levels_.end());
    return *at;
}

void Serving::add(Consumer& consumer) {
    consumers_.push_back(&consumer);
    const auto at = std::find_if(levels_.begin(), levels_.end(), [&consumer](const Level& level) {
        return level.priority <= consumer.priority;
    });
    if (at != levels_.end() && at->priority == consumer.priority) {
        ++at->consumers;
        return;
    }
    levels_.insert(at, Level{consumer.priority, 1, nullptr});
}

void Serving::remove(Consumer& consumer) {
    rest(consumer);
    std::erase(consumers_, &consumer);
    Level& level = levelOf(consumer);
    if (--level.consumers == 0) {
        levels_.erase(levels_.begin() + (&level - levels_.data()));
    }
}

void Serving::wake(Consumer& consumer) {
    if (consumer.isReady()) {
        return;
    }
    ++ready_;
    Level& level = levelOf(consumer);
    if (!level.first) {
        level.first = consumer.next = consumer.previous = &consumer;
        return;
    }
    consumer.next = level.first;
    consumer.previous = level.first->previous;
    consumer.previous->next = &consumer;
    level.first->previous = &consumer;
}

void Serving::rest(Consumer& consumer) {
    if (!consumer.isReady()) {
        return;
    }
    --ready_;
    Level& level = levelOf(consumer);
    if (level.first == &consumer) {
        level.first = consumer.next == &consumer ? nullptr : consumer.next;
    }
    consumer.previous->next = consumer.next;
    consumer.next->previous = consumer.previous;
    consumer.next = consumer.previous = nullptr;
}

Consumer* Serving::next() const {
    for (const Level& level : levels_) {
        if (level.first) {
            return level.first;
        }
    }
    return nullptr;
}

void Serving::rotate(Consumer& served) {
    Level& level = levelOf(served);
    if (level.first == &served) {
        level.first = served.next;
    }
}

} // namespace millrace::engine
