// SPDX-License-Identifier: Apache-2.0
// How dispatch gets at the bytes: recent memory, read-ahead, or a fetch that only this queue waits
// for; bodies in pieces.
#include "engine/dispatch.h"

#include "base/limits.h"
#include "engine/engine.h"

#include <algorithm>

namespace millrace::engine {

using base::MessageId;

bool Dispatch::obtain(Queue& queue, const MessageId& id, log::Stored& out) {
    ReadAhead& ahead = queue.serving->ahead;
    if (!ahead.empty()) {
        auto taken = ahead.take(id);
        if (ahead.empty()) {
            std::erase(withAhead_, &queue);
        }
        if (taken) {
            out = std::move(*taken);
            return true;
        }
    }
    if (engine_.journal.read(id, out)) {
        return true;
    }
    if (ahead.fetching == 0) {
        fetchBatch(queue, id);
    }
    return false;
}

void Dispatch::fetchBatch(Queue& queue, const MessageId& id) {
    ReadAhead& ahead = queue.serving->ahead;
    if (aheadBytes_ > engine_.options.readAheadBytes) {
        trimAhead();
    }
    // Never nothing: a queue that must wait for others' memory could wait for ever.
    const std::size_t most = aheadBytes_ > engine_.options.readAheadBytes ? 1 : ahead.batch();
    std::vector<MessageId> ids;
    queue.index.readyIds({}, most, ids);
    const auto other = std::find_if(ids.begin(), ids.end(), [this, &id](const MessageId& next) {
        return next.isScratch() != id.isScratch() ||
               (!next.isScratch() && !engine_.journal.isVisible(next.record));
    });
    ids.erase(other, ids.end());
    std::erase_if(ids, [&ahead](const MessageId& next) { return ahead.holds(next); });
    ahead.fetching = ++lastToken_;
    fetches_[lastToken_] = {&queue, nullptr};
    engine_.journal.fetch(lastToken_, std::move(ids));
}

void Dispatch::trimAhead() {
    std::erase_if(withAhead_, [](Queue* queue) {
        const bool stalled = !queue->serving->hasTaker();
        if (stalled) {
            queue->serving->ahead.clear();
        }
        return stalled;
    });
}

void Dispatch::fetched(std::uint64_t token, std::vector<log::Stored> entries) {
    const auto found = fetches_.find(token);
    if (found == fetches_.end()) {
        return;
    }
    const Fetch fetch = found->second;
    fetches_.erase(found);
    if (fetch.queue) {
        ReadAhead& ahead = fetch.queue->serving->ahead;
        ahead.fetching = 0;
        if (ahead.empty() && !entries.empty()) {
            withAhead_.push_back(fetch.queue);
        }
        ahead.add(std::move(entries), aheadBytes_);
        wake(*fetch.queue);
        return;
    }
    Sending& sending = *fetch.channel->sending;
    sending.fetching = 0;
    sending.fetched = entries.empty() ? log::Stored{} : std::move(entries.front());
    sending.fetched.damaged = sending.fetched.damaged || entries.empty();
    sending.isFetched = true;
    pump(*fetch.channel);
}

// --- bodies in pieces

void Dispatch::startSending(ChannelState& channel, const MessageId& message,
                            const LargeBody& body) {
    engine_.large.use(message);
    channel.sending = std::make_unique<Sending>();
    channel.sending->message = message;
    channel.sending->pieces = body.pieces;
}

bool Dispatch::pieceOf(Sending& sending, ChannelState& channel, log::Stored& out) {
    if (sending.isFetched) {
        sending.isFetched = false;
        out = std::move(sending.fetched);
        return true;
    }
    const MessageId& id = sending.pieces[sending.next];
    if (sending.fetching != 0) {
        return false;
    }
    if (engine_.journal.read(id, out)) {
        return true;
    }
    sending.fetching = ++lastToken_;
    fetches_[lastToken_] = {nullptr, &channel};
    engine_.journal.fetch(lastToken_, {id});
    return false;
}

void Dispatch::pump(ChannelState& channel) {
    while (channel.sending && !channel.full && !channel.connection.isFull() &&
           !channel.sending->failed) {
        Sending& sending = *channel.sending;
        log::Stored piece;
        if (!pieceOf(sending, channel, piece)) {
            return;
        }
        if (piece.damaged) {
            sending.failed = true;
            engine_.waits.fail(
                channel, {base::ReplyCode::internalError, "the rest of a message cannot be read"});
            return;
        }
        ++sending.next;
        const bool last = sending.next == sending.pieces.size();
        channel.full = channel.client.piece(piece.payload, last) == Appetite::full;
        if (last) {
            finishSending(channel);
        }
    }
}

void Dispatch::finishSending(ChannelState& channel) {
    const MessageId message = channel.sending->message;
    channel.sending.reset();
    engine_.large.unuse(message);
    wakeChannel(channel);
}

} // namespace millrace::engine
