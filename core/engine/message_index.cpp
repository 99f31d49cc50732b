// SPDX-License-Identifier: Apache-2.0
// The verbs of MessageIndex on messages: append, deliver, settle, give back, purge.
#include "engine/message_index.h"

#include "engine/index_body.h"

namespace millrace::engine {

MessageIndex::MessageIndex() = default;
MessageIndex::~MessageIndex() = default;
MessageIndex::MessageIndex(MessageIndex&&) noexcept = default;
MessageIndex& MessageIndex::operator=(MessageIndex&&) noexcept = default;

MessageIndex::Body& MessageIndex::body() {
    if (!body_) {
        body_ = std::make_unique<Body>();
    }
    return *body_;
}

std::uint64_t MessageIndex::append(const base::MessageId& id) {
    Body& b = body();
    if (b.recovery && b.recovery->loading) [[unlikely]] {
        b.endLoading();
    }
    const unsigned kind = kindOf(id);
    MILLRACE_CHECK(b.last[kind] < id);
    std::uint64_t ordinal = 0;
    Chunk* const chunk = b.chunkForAppend();
    if (kind == 0) {
        ordinal = ++ordinals_;
        if (headDirtySince_ == 0) {
            headDirtySince_ = id.record;
        }
        if (!chunk->key) {
            chunk->key = id;
        }
        if (chunk->dirtySince == 0) {
            b.markDirty(chunk, id.record);
        }
    }
    chunk->append(b.tail, Run{id, 1, ordinal}, b.bytes);
    b.last[kind] = id;
    ++ready_;
    return ordinal;
}

std::optional<Ready> MessageIndex::nextReady(base::LogIndex limit) {
    if (ready_ == 0) {
        return std::nullopt;
    }
    const ChunkCursor& cursor = *body_->front(ready_);
    const base::MessageId id = cursor.id();
    if (!id.isScratch() && id.record > limit) {
        return std::nullopt;
    }
    const std::uint64_t ordinal = cursor.ordinal();
    const bool redelivered = (ordinal != 0 && ordinal <= body_->recoveredMark) ||
                             cursor.chunk->redelivered.test(cursor.position);
    return Ready{id, redelivered, ordinal};
}

void MessageIndex::markOut(const base::MessageId& id) {
    MILLRACE_CHECK(ready_ > 0);
    Body& b = *body_;
    ChunkCursor* cursor = b.returned > 0 ? &b.returnedFrom : &b.main;
    if (cursor->chunk == nullptr || !cursor->run.holds(id)) {
        MILLRACE_CHECK(b.find(id));
        cursor = &b.lookup;
    }
    Chunk* const chunk = cursor->chunk;
    const std::uint32_t position = cursor->runPosition + (id.slot - cursor->run.first.slot);
    MILLRACE_CHECK(chunk->isReady(position));
    chunk->out.set(position, b.bytes);
    ++chunk->outCount;
    if (b.returned > 0 && b.before(chunk, position, b.main)) {
        --b.returned;
    }
    --ready_;
    ++out_;
}

bool MessageIndex::settle(const base::MessageId& id, base::LogIndex at) {
    if (!body_ || !body_->find(id)) {
        return false;
    }
    Body& b = *body_;
    Chunk* const chunk = b.lookup.chunk;
    const std::uint32_t position = b.lookup.position;
    if (chunk->out.test(position)) {
        chunk->out.clear(position);
        --chunk->outCount;
        --out_;
    } else {
        if (b.returned > 0 && b.before(chunk, position, b.main)) {
            --b.returned;
        }
        --ready_;
    }
    chunk->settled.set(position, b.bytes);
    ++chunk->settledCount;
    if (!id.isScratch()) {
        b.markDirty(chunk, at);
    }
    b.retire(chunk, ordinals_);
    return true;
}

bool MessageIndex::giveBack(const base::MessageId& id, bool redelivered) {
    if (!body_ || !body_->find(id)) {
        return false;
    }
    Body& b = *body_;
    Chunk* const chunk = b.lookup.chunk;
    const std::uint32_t position = b.lookup.position;
    if (!chunk->out.test(position)) {
        return false;
    }
    chunk->out.clear(position);
    --chunk->outCount;
    if (redelivered) {
        chunk->redelivered.set(position, b.bytes);
    }
    if (b.before(chunk, position, b.main)) {
        if (b.returned == 0 || b.before(chunk, position, b.returnedFrom)) {
            b.returnedFrom = b.lookup;
        }
        ++b.returned;
    }
    ++ready_;
    --out_;
    return true;
}

std::uint64_t MessageIndex::purgeReady(std::uint64_t most, base::LogIndex at,
                                       const RunVisitor& visitor) {
    std::uint64_t done = 0;
    while (done < most && ready_ > 0) {
        Body& b = *body_;
        ChunkCursor& cursor = *b.front(ready_);
        Chunk* const chunk = cursor.chunk;
        const std::uint32_t from = cursor.position;
        const bool returned = b.returned > 0;
        std::uint32_t end = cursor.runPosition + cursor.run.count;
        if (returned && chunk == b.main.chunk) {
            end = std::min(end, b.main.position);
        }
        end = from + static_cast<std::uint32_t>(std::min<std::uint64_t>(end - from, most - done));
        end = chunk->endOfReady(from, end);
        const Run run{cursor.id(), end - from, cursor.ordinal()};
        for (std::uint32_t position = from; position < end; ++position) {
            chunk->settled.set(position, b.bytes);
        }
        chunk->settledCount += run.count;
        b.returned -= returned ? run.count : 0;
        ready_ -= run.count;
        done += run.count;
        if (!run.first.isScratch()) {
            b.markDirty(chunk, at);
        }
        b.retire(chunk, ordinals_);
        visitor(run);
    }
    return done;
}

} // namespace millrace::engine
