// SPDX-License-Identifier: Apache-2.0
#include "engine/waits.h"

#include "engine/channel_state.h"
#include "engine/journal.h"

#include <algorithm>

namespace millrace::engine {

bool Waits::await(ChannelState& channel, base::LogIndex index, std::uint64_t ticket) {
    if (journal_.isVisible(index)) {
        return false;
    }
    replies_.push_back({&channel, index, ticket});
    return true;
}

void Waits::cancelled(ChannelState& channel, std::string tag, base::LogIndex index) {
    cancels_.push_back({&channel, index, std::move(tag)});
}

void Waits::fail(ChannelState& channel, base::Refusal why) {
    failures_.push_back({&channel, std::move(why)});
}

void Waits::hasConfirms(ChannelState& channel) {
    if (!channel.confirmsFresh) {
        channel.confirmsFresh = true;
        fresh_.push_back(&channel);
    }
}

void Waits::forget(ChannelState& channel) {
    const auto ofChannel = [&channel](const auto& item) { return item.channel == &channel; };
    std::erase_if(replies_, ofChannel);
    std::erase_if(cancels_, ofChannel);
    std::erase_if(failures_, ofChannel);
    // Lists that are being worked off keep their places.
    for (Reply& reply : resuming_) {
        reply.channel = ofChannel(reply) ? nullptr : reply.channel;
    }
    for (Failure& failure : failing_) {
        failure.channel = ofChannel(failure) ? nullptr : failure.channel;
    }
    if (channel.confirmsFresh) {
        std::erase(fresh_, &channel);
    }
    if (channel.confirmsWait) {
        std::erase(waiting_, &channel);
    }
}

void Waits::confirm(ChannelState& channel) {
    channel.confirms->release(journal_.horizons().committed,
                              [&channel](std::uint64_t from, std::uint64_t to, bool accepted) {
                                  channel.client.confirmed(from, to, accepted);
                              });
}

void Waits::endTurn() {
    for (ChannelState* channel : fresh_) {
        channel->confirmsFresh = false;
        confirm(*channel);
        if (channel->confirms->waiting() > 0 && !channel->confirmsWait) {
            channel->confirmsWait = true;
            waiting_.push_back(channel);
        }
    }
    fresh_.clear();
    cancel();
    failing_.swap(failures_);
    for (std::size_t i = 0; i < failing_.size(); ++i) {
        if (failing_[i].channel) {
            failing_[i].channel->client.resumed(0, &failing_[i].why);
        }
    }
    failing_.clear();
}

void Waits::advanced() {
    std::size_t kept = 0;
    for (ChannelState* channel : waiting_) {
        confirm(*channel);
        if (channel->confirms->waiting() > 0) {
            waiting_[kept++] = channel;
        } else {
            channel->confirmsWait = false;
        }
    }
    waiting_.resize(kept);
    resume();
    cancel();
}

void Waits::resume() {
    const auto due = [this](const Reply& reply) { return journal_.isVisible(reply.index); };
    const auto later = std::stable_partition(replies_.begin(), replies_.end(), due);
    resuming_.assign(replies_.begin(), later);
    replies_.erase(replies_.begin(), later);
    for (std::size_t i = 0; i < resuming_.size(); ++i) {
        if (resuming_[i].channel) {
            resuming_[i].channel->client.resumed(resuming_[i].ticket, nullptr);
        }
    }
    resuming_.clear();
}

void Waits::cancel() {
    const auto due = [this](const Cancel& cancel) { return journal_.isVisible(cancel.index); };
    for (const Cancel& cancel : cancels_) {
        if (due(cancel)) {
            cancel.channel->client.cancelled(cancel.tag);
        }
    }
    std::erase_if(cancels_, due);
}

} // namespace millrace::engine
