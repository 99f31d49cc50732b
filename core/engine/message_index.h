// SPDX-License-Identifier: Apache-2.0
// A queue's contents: the ids of its unsettled messages in order of arrival, as runs in chunks,
// with one bit each for out and redelivered. Persistent ids and scratch ids stand in one sequence;
// within each of the two kinds ids only rise.
//
// Order: nextReady() is the first by arrival that is neither settled nor out; a message given back
// is at its original place again. Bounded: memory follows what is unsettled: about 0.05 bytes a
// message in bulk, 3-8 for lone ones, plus at most 300 bytes for each chunk of which anything is
// left. An index that was never used is 48 bytes. Sequential verbs cost O(1), one at random a
// search of the chunks and the decoding of one. No allocation per message. Lives on: the engine's
// loop.
//
// Ordinals. Every persistent append is the queue's 1st, 2nd, 3rd ..., a fact of the log alone. The
// delivered mark is an ordinal, so that it can be logged ahead of messages that do not exist yet.
//
// Checkpoint and recovery: see "pages" below, which is sound for any page set that a crash leaves
// behind.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "engine/run.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::engine {

class Chunk;

struct Ready {
    base::MessageId id;
    bool redelivered = false;
    std::uint64_t ordinal = 0; // 0 for a scratch id
};

class MessageIndex {
  public:
    MessageIndex();
    ~MessageIndex();
    MessageIndex(MessageIndex&&) noexcept;
    MessageIndex& operator=(MessageIndex&&) noexcept;

    // --- messages. `at`: a log index not above that of the entry which will say it (the open
    // record's, as long as that is unknown). The id must be above all appended before of its kind
    // (persistent or scratch). Returns its ordinal, 0 for a scratch id.
    std::uint64_t append(const base::MessageId& id);
    // The first ready message; none, too, when that is a persistent one above `limit`: nothing
    // overtakes it. Changes nothing.
    std::optional<Ready> nextReady(base::LogIndex limit);
    // It is out for delivery. Must be ready. O(1) for what nextReady() has just said.
    void markOut(const base::MessageId& id);
    // It is done with, whether it was ready or out. False: it was not there (settled before, or
    // never).
    bool settle(const base::MessageId& id, base::LogIndex at);
    // It was out and is ready again, at its place. False: it was not out. `redelivered` false:
    // nobody has seen it, its flag stays.
    bool giveBack(const base::MessageId& id, bool redelivered = true);
    // Settles up to `most` of the ready messages, in order of arrival (also above any limit). The
    // visitor may release and log each run, and must not call the index. Returns how many; less
    // than `most` means that none is ready now.
    std::uint64_t purgeReady(std::uint64_t most, base::LogIndex at, const RunVisitor& visitor);

    // --- numbers
    std::uint64_t total() const { return ready_ + out_; } // unsettled
    std::uint64_t ready() const { return ready_; }
    std::uint64_t out() const { return out_; }
    std::size_t memoryBytes() const;
    // Gives back what an index without messages still holds for reuse (about 400 bytes). For queues
    // that went idle.
    void trim();

    // --- looking
    bool contains(const base::MessageId& id); // unsettled
    bool isOut(const base::MessageId& id);
    std::uint64_t
    ordinalOf(const base::MessageId& id); // of an unsettled one; 0 if it is not there, or scratch
    // The next ready ids behind `after` in order of arrival ({}: from the first), at most `most`,
    // appended to `ids`. `after` need not be there any more (then: behind where it would stand
    // among its kind). Returns how many.
    std::size_t readyIds(const base::MessageId& after, std::size_t most,
                         std::vector<base::MessageId>& ids);
    // Everything unsettled, ready or out, in order of arrival, as the longest runs of neighbouring
    // slots. (Holds, digests.)
    void forEachUnsettled(const RunVisitor& visitor) const;
    // Likewise only what is out. O(chunks) where nothing is. (What a purge must leave.)
    void forEachOut(const RunVisitor& visitor) const;

    // --- delivered mark: what stands unsettled at or below it after a crash is flagged redelivered
    std::uint64_t ordinals() const {
        return ordinals_;
    } // persistent messages ever appended = ordinal of the last
    std::uint64_t deliveredMark() const { return mark_; }
    void setDeliveredMark(std::uint64_t ordinal, base::LogIndex at);

    // --- pages
    // One page per chunk that ever held a persistent id, named by its key, the first of them; and
    // one small head {ordinals, mark}. Pages hold no scratch ids and nothing of out or redelivered.
    // Out of a page's bytes come exactly its unsettled ids.
    //
    // What the checkpointer must do (the broker does):
    //  1. Encode only between turns: when every change so far is in a closed record. A page
    //  reflects the last closed index, and is
    //     put into the store when that index is committed; drops likewise. Actions reach the store
    //     in the order in which they were taken.
    //  2. A round that begins at index X (last closed + 1) takes removed keys, the head and chunks
    //  until
    //     dirtySince() is 0 or at least X (taking chunks may add removed keys: take those last),
    //     and when all of that is in the store, it may finish with replay start R = X.
    // Recovery with replay start R, then:
    //  3. loadHead(), loadChunk() of every page that came back, in any order; ids at or above R in
    //  them are ignored, since replay
    //     brings all of those; applyAppend(), settle(), applyMark() for every entry from R on;
    //     finishRecovery().
    // Why it is exact. An id at or above R comes from the log alone, with all its settles. An id
    // below R comes from a page alone: its append and every settle below R are in the page, since
    // rule 2 kept R at or below the first change that is not; settles from R on are replayed, and
    // to settle twice does nothing. So a page newer than R is harmless, a page whose drop was lost
    // is emptied by replay and reported removed again, chunks in the middle are like any other, and
    // no page needs to know of its neighbours.
    struct Head {
        std::uint64_t ordinals = 0;
        std::uint64_t mark = 0;
    };
    // The lowest log index of a change that is in no page taken so far; 0: none, everything is in
    // pages.
    base::LogIndex dirtySince() const;
    // Appends the page of the chunk that is dirty for longest to `page`, returns its key; none if
    // no chunk has changes below `before`.
    std::optional<base::MessageId> takeDirtyChunk(base::LogIndex before, std::string& page);
    bool headDirty(base::LogIndex before) const {
        return headDirtySince_ != 0 && headDirtySince_ < before;
    }
    Head takeHead(); // clean from now on
    // Appends the keys whose pages must be dropped. They may not be put again later.
    void takeRemoved(std::vector<base::MessageId>& keys);

    void loadHead(const Head& head, base::LogIndex reflects);
    base::Status loadChunk(const base::MessageId& key, base::Bytes page, base::LogIndex replayFrom);
    void applyAppend(const base::MessageId& id); // then settle() as above
    void applyMark(std::uint64_t ordinal, base::LogIndex at);
    // Error: pages overlap, which no crash leaves behind (damaged store); what was read stands.
    base::Status finishRecovery();

  private:
    struct Body;
    Body& body();

    std::unique_ptr<Body> body_; // on first use
    std::uint64_t ready_ = 0;
    std::uint64_t out_ = 0;
    std::uint64_t ordinals_ = 0;
    std::uint64_t mark_ = 0;
    base::LogIndex headDirtySince_ = 0;
};

} // namespace millrace::engine
