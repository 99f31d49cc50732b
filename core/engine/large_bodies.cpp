// SPDX-License-Identifier: Apache-2.0
#include "engine/large_bodies.h"

namespace millrace::engine {

using base::MessageId;

void LargeBodies::dropPiece(const MessageId& piece) {
    if (pieces_.erase(piece) > 0) {
        journal_.releaseNow(Run{piece, 1, 0});
    }
}

void LargeBodies::add(const MessageId& message, LargeBody body, std::uint32_t holders) {
    pieces_.insert(body.pieces.begin(), body.pieces.end());
    Message& entry = messages_[message];
    entry.body = std::move(body);
    entry.holders = holders;
    if (!message.isScratch()) {
        dirty_.insert(message);
    }
}

const LargeBody* LargeBodies::find(const MessageId& message) const {
    const auto at = messages_.find(message);
    return at == messages_.end() ? nullptr : &at->second.body;
}

void LargeBodies::letGo(std::map<MessageId, Message>::iterator at) {
    for (const MessageId& piece : at->second.body.pieces) {
        pieces_.erase(piece);
        journal_.releaseWithSettles(Run{piece, 1, 0});
    }
    if (at->second.hasPage) {
        dirty_.insert(at->first);
    } else {
        dirty_.erase(at->first);
    }
    messages_.erase(at);
}

void LargeBodies::settled(const MessageId& message) {
    const auto at = messages_.find(message);
    if (at == messages_.end()) {
        return;
    }
    if (at->second.holders > 0) {
        --at->second.holders;
    }
    if (at->second.holders == 0 && at->second.users == 0) {
        letGo(at);
    }
}

void LargeBodies::use(const MessageId& message) {
    const auto at = messages_.find(message);
    MILLRACE_CHECK(at != messages_.end());
    ++at->second.users;
}

void LargeBodies::unuse(const MessageId& message) {
    const auto at = messages_.find(message);
    MILLRACE_CHECK(at != messages_.end() && at->second.users > 0);
    if (--at->second.users == 0 && at->second.holders == 0) {
        letGo(at);
    }
}

std::size_t LargeBodies::memoryBytes() const {
    return messages_.size() * (sizeof(Message) + 64) +
           pieces_.size() * (sizeof(MessageId) * 2 + 32) + dirty_.size() * 64;
}

bool LargeBodies::takeDirty(Page& page) {
    if (dirty_.empty()) {
        return false;
    }
    page.message = *dirty_.begin();
    dirty_.erase(dirty_.begin());
    page.bytes.clear();
    const auto at = messages_.find(page.message);
    page.drop = at == messages_.end();
    if (!page.drop) {
        at->second.hasPage = true;
        writeLarge(at->second.body, page.bytes);
    }
    return true;
}

base::Status LargeBodies::load(const MessageId& message, base::Bytes bytes) {
    auto body = readLarge(bytes);
    if (!body) {
        return base::Error{base::ErrorCode::damaged, "page of a large message: not well formed"};
    }
    pieces_.insert(body->pieces.begin(), body->pieces.end());
    Message& entry = messages_[message];
    entry.body = std::move(*body);
    entry.hasPage = true;
    return {};
}

void LargeBodies::countHolders(const Run& run) {
    const MessageId end = run.at(run.count);
    for (auto at = messages_.lower_bound(run.first); at != messages_.end() && at->first < end;
         ++at) {
        ++at->second.holders;
    }
}

void LargeBodies::finishRecovery(base::LogIndex replayFrom) {
    std::unordered_set<MessageId> claimed;
    for (auto at = messages_.begin(); at != messages_.end();) {
        if (at->second.holders > 0) {
            claimed.insert(at->second.body.pieces.begin(), at->second.body.pieces.end());
            ++at;
            continue;
        }
        if (at->second.hasPage) {
            dirty_.insert(at->first);
        } else {
            dirty_.erase(at->first);
        }
        at = messages_.erase(at);
    }
    for (const MessageId& piece : pieces_) {
        if (!claimed.contains(piece) && piece.record >= replayFrom) {
            journal_.releaseNow(Run{piece, 1, 0});
        }
    }
    pieces_ = std::move(claimed);
}

void LargeBodies::eachPiece(const std::function<void(const MessageId&)>& visitor) const {
    for (const MessageId& piece : pieces_) {
        visitor(piece);
    }
}

} // namespace millrace::engine
