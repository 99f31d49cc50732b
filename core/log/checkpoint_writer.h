// SPDX-License-Identifier: Apache-2.0
// Writes pages, and finishes rounds: buckets, one sync, then the root in the slot that the last
// root does not lie in.
//
// Every verb may answer ErrorCode::full: nothing is lost then, call it again when there is room.
// Any other error is final, since a failed write or sync may have taken with it what lies beside
// it. Lives on: the checkpoint's writer thread.
#pragma once

#include "log/checkpoint_reader.h"

#include <memory>
#include <set>
#include <string>

namespace millrace::log {

class CheckpointWriter {
  public:
    CheckpointWriter(base::FileSystem& files, std::string folder, PageSegments segments,
                     CheckpointImage image);

    // The file of the roots exists. First of all.
    base::Status begin();
    base::Status put(const PageKey& key, base::LogIndex reflects, base::Bytes bytes);
    void drop(const PageKey& key) { table_.drop(key); }
    base::Status finishRound(base::LogIndex replayFrom);

    base::LogIndex replayFrom() const { return replayFrom_; }
    base::LogIndex neededFrom() const { return neededFrom_; }

  private:
    base::Result<PageSpot> append(const PageHeader& header, base::Bytes payload);
    base::Status nextSegment();
    base::Status flush();
    base::Status keepNeeded();
    std::set<std::uint32_t> chooseSparse() const;
    base::Status copyForward();
    base::Status copyPagesOf(std::uint32_t segment);
    base::Status writeBuckets();
    base::Status writeRoot(base::LogIndex replayFrom);

    base::FileSystem& files_;
    std::string folder_;
    PageSegments segments_;
    PageTable table_;
    std::unique_ptr<base::File> roots_;
    std::size_t slot_;
    std::uint64_t round_;
    std::uint64_t nextSequence_;
    base::LogIndex replayFrom_;
    base::LogIndex neededFrom_;

    std::unique_ptr<base::File> active_;
    std::uint32_t activeNumber_ = 0;
    std::uint64_t position_ = 0; // in the active segment, of buffer_'s first byte
    std::string buffer_;
    std::uint64_t putBytes_ = 0; // in this round
    std::set<std::uint32_t>
        damaged_; // segments that hold a page which could not be copied: left as they are
};

} // namespace millrace::log
