// SPDX-License-Identifier: Apache-2.0
// Looking into a MessageIndex: what is there, in which order, in how much memory.
#include "engine/index_body.h"

namespace millrace::engine {

std::size_t MessageIndex::memoryBytes() const {
    return body_ ? sizeof(Body) + body_->bytes + body_->chunks.memoryBytes() +
                       body_->removed.capacity() * sizeof(base::MessageId)
                 : 0;
}

void MessageIndex::trim() {
    if (body_ && total() == 0 && body_->dirtyFirst == nullptr && body_->removed.empty() &&
        !body_->recovery) {
        body_.reset();
    }
}

bool MessageIndex::contains(const base::MessageId& id) {
    return body_ && body_->find(id);
}

bool MessageIndex::isOut(const base::MessageId& id) {
    return contains(id) && body_->lookup.chunk->out.test(body_->lookup.position);
}

std::uint64_t MessageIndex::ordinalOf(const base::MessageId& id) {
    return contains(id) ? body_->lookup.ordinal() : 0;
}

std::size_t MessageIndex::readyIds(const base::MessageId& after, std::size_t most,
                                   std::vector<base::MessageId>& ids) {
    if (ready_ == 0 || most == 0) {
        return 0;
    }
    Body& b = *body_;
    ChunkCursor cursor;
    if (!after) {
        cursor = *b.front(ready_);
    } else {
        b.find(after);
        cursor = b.lookup;
        if (cursor.run.holds(after)) {
            ++cursor.position;
        }
    }
    std::size_t count = 0;
    while (count < most && b.advance(cursor)) {
        cursor.locate();
        ids.push_back(cursor.id());
        ++count;
        ++cursor.position;
    }
    return count;
}

void MessageIndex::forEachUnsettled(const RunVisitor& visitor) const {
    if (!body_) {
        return;
    }
    Run whole;
    ChunkCursor cursor;
    for (Chunk* chunk : body_->chunks) {
        cursor.start(chunk);
        while (cursor.nextRun()) {
            visitUnsettled(
                *chunk, cursor.run, cursor.runPosition, [&](const Run& run, std::uint32_t) {
                    const bool continues = whole.count != 0 && whole.at(whole.count) == run.first &&
                                           (run.firstOrdinal == 0 ||
                                            whole.firstOrdinal + whole.count == run.firstOrdinal);
                    if (continues) {
                        whole.count += run.count;
                        return;
                    }
                    if (whole.count != 0) {
                        visitor(whole);
                    }
                    whole = run;
                });
        }
    }
    if (whole.count != 0) {
        visitor(whole);
    }
}

void MessageIndex::forEachOut(const RunVisitor& visitor) const {
    if (out_ == 0) {
        return;
    }
    ChunkCursor cursor;
    for (Chunk* chunk : body_->chunks) {
        cursor.start(chunk);
        while (chunk->outCount != 0 && cursor.nextRun()) {
            const std::uint32_t end = cursor.runPosition + cursor.run.count;
            std::uint32_t from = chunk->out.nextSet(cursor.runPosition, end);
            while (from < end) {
                const std::uint32_t to = chunk->out.nextClear(from, end);
                const std::uint32_t step = from - cursor.runPosition;
                const std::uint64_t ordinal = cursor.run.firstOrdinal;
                visitor(Run{cursor.run.at(step), to - from, ordinal == 0 ? 0 : ordinal + step});
                from = chunk->out.nextSet(to, end);
            }
        }
    }
}

} // namespace millrace::engine
