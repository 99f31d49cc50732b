// SPDX-License-Identifier: Apache-2.0
// Pages of the engine's state, written all the time beside the log: a small log-structured store
// with the newest version of each key.
//
// Atomic by rounds: load() shows exactly the pages that were put and not dropped before the
// finishRound() of the last finished round; what came after is as if it had never been put.
// Recovered: the last finished round, or the one before it if a page of the last one is damaged
// (said aloud, with that round's replayFrom()); if both are damaged, open() refuses and names a
// page. Hence the log must keep what the round before needs: CommitLog::covered() may be told
// logNeededFrom(), not finished(). Bounded: kPagesWaiting bytes wait for the writer; on disk twice
// the live bytes and two segments, and what the last two rounds replaced; never more than
// kPageWriteBytes between two syncs. A full disk is waited out, any other failure of a file is
// final. Lives on: the engine's loop; has one writer thread.
#pragma once

#include "base/file.h"
#include "base/ids.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace millrace::log {

struct PageKey {
    std::uint32_t kind = 0; // the engine's: queue heads, chunks of runs, large messages ...
    std::uint64_t object = 0;
    base::MessageId part; // e.g. the first id of a chunk
    friend auto operator<=>(const PageKey&, const PageKey&) = default;
};

class CheckpointStore {
  public:
    struct Page {
        PageKey key;
        base::LogIndex reflects = 0;
        base::Bytes bytes;
    };
    virtual ~CheckpointStore() = default;

    // Reads and verifies; nothing on disk changes before start(). ErrorCode::damaged: no whole
    // round is left. `wake` is called from the writer thread when a round has finished, ready() has
    // become true or failure() is set.
    static base::Result<std::unique_ptr<CheckpointStore>>
    open(base::FileSystem& files, std::string folder, std::function<void()> wake);

    // Before start(). `synced`: how far the log reaches; a checkpoint ahead of it is refused as a
    // whole (ErrorCode::damaged, says so) before the first page is shown. Pages come in no
    // particular order.
    virtual base::Status load(base::LogIndex synced,
                              const std::function<void(const Page&)>& visitor) = 0;
    // The replay start of the round that load() shows; 1 if there is none.
    virtual base::LogIndex replayFrom() const = 0;

    virtual void start() = 0; // its writer thread
    // Bounded: at most limits::kPagesWaiting wait for the writer, then ready() is false. Also false
    // after a failure.
    virtual bool ready() const = 0;
    // Copies the bytes, at most limits::kPageBytes. What the page reflects must be synced.
    virtual void put(const PageKey& key, base::LogIndex reflects, base::Bytes bytes) = 0;
    // The key has no page any more. The change that made it so must be synced.
    virtual void drop(const PageKey& key) = 0;
    // All puts and drops before are to be safe, then `replayFrom` is recorded. finished() tells
    // when.
    virtual void finishRound(base::LogIndex replayFrom) = 0;
    // The replayFrom of the newest round that is safe on disk.
    virtual base::LogIndex finished() const = 0;
    // Recovery will never replay from below: that of the round before.
    virtual base::LogIndex logNeededFrom() const = 0;
    virtual base::Status failure() const = 0;
    // Works off what was put, finishes what finishRound() asked for, joins the thread. Pages of an
    // unfinished round are forgotten.
    virtual base::Status stop() = 0;
};

} // namespace millrace::log
