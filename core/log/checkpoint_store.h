// SPDX-License-Identifier: Apache-2.0
// Pages of the engine's state, written all the time beside the log: a small log-structured store with the newest version of each key.
//
// Durable when committed() covers the page. A page bears the log index that it reflects and must only be put when that index is
// synced; open() refuses a page that is ahead of the log. Dead versions are recycled; live ones are copied forward.
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

    // `synced`: how far the log reaches; a page ahead of it is a refusal of the whole checkpoint (ErrorCode::damaged, says so).
    // Damaged newest versions are reported in damaged(); the caller then replays from further back or reports loss.
    static base::Result<std::unique_ptr<CheckpointStore>> open(base::FileSystem& files, std::string folder, std::function<void()> wake);

    virtual base::Status load(base::LogIndex synced, const std::function<void(const Page&)>& visitor) = 0;
    // The replay start that the last finished round recorded; 1 if none.
    virtual base::LogIndex replayFrom() const = 0;

    virtual void start() = 0; // its writer thread
    // Loop thread; copies the bytes. Bounded: at most 4 MiB wait for the writer, then ready() is false.
    virtual bool ready() const = 0;
    virtual void put(const PageKey& key, base::LogIndex reflects, base::Bytes bytes) = 0;
    // The key has no page any more. The change that made it so must be synced.
    virtual void drop(const PageKey& key) = 0;
    // All pages put before are to be synced, then `replayFrom` is recorded. finished() tells when.
    virtual void finishRound(base::LogIndex replayFrom) = 0;
    // Loop thread: the replayFrom of the newest round that is safe on disk.
    virtual base::LogIndex finished() const = 0;
    virtual base::Status failure() const = 0;
    virtual base::Status stop() = 0;
};

} // namespace millrace::log
