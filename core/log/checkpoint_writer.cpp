// SPDX-License-Identifier: Apache-2.0
// The order of writes that makes a round whole or absent.
#include "log/checkpoint_writer.h"

#include "base/crc32c.h"
#include "base/diagnostics.h"
#include "base/limits.h"

#include <algorithm>
#include <cstring>

namespace millrace::log {

using base::Bytes;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

CheckpointWriter::CheckpointWriter(base::FileSystem& files, std::string folder,
                                   PageSegments segments, CheckpointImage image)
    : files_(files), folder_(std::move(folder)), segments_(std::move(segments)),
      table_(std::move(image.table)), slot_(image.slot), round_(image.newestRound + 1),
      nextSequence_(image.nextSequence), replayFrom_(image.replayFrom),
      neededFrom_(image.neededFrom) {}

Status CheckpointWriter::begin() {
    const std::string path = folder_ + "/" + kRootsFile;
    auto opened = files_.open(path, base::OpenMode::readWrite);
    if (!opened && opened.error().code == ErrorCode::notFound) {
        opened = files_.open(path, base::OpenMode::create);
    }
    if (!opened) {
        return opened.error();
    }
    const auto size = (*opened)->size();
    if (!size) {
        return size.error();
    }
    if (size.value() < 2 * kRootSlotBytes) {
        const std::string zeros(2 * kRootSlotBytes, '\0');
        const Bytes raw = base::bytesOf(zeros);
        if (Status done = (*opened)->write(0, {&raw, 1}); !done) {
            return done;
        }
        if (Status done = (*opened)->sync(); !done) {
            return done;
        }
    }
    if (Status named = files_.syncDirectory(folder_); !named) {
        return named;
    }
    roots_ = std::move(opened).value();
    return keepNeeded();
}

Status CheckpointWriter::keepNeeded() {
    std::set<std::uint32_t> needed;
    for (const auto& [number, use] : table_.segments()) {
        needed.insert(number);
    }
    return segments_.keepOnly(needed, activeNumber_);
}

Status CheckpointWriter::put(const PageKey& key, base::LogIndex reflects, Bytes bytes) {
    PageHeader header;
    header.sequence = nextSequence_;
    header.reflects = reflects;
    header.kind = key.kind;
    header.object = key.object;
    header.record = key.part.record;
    header.slot = key.part.slot;
    const auto spot = append(header, bytes);
    if (!spot) {
        return spot.error();
    }
    ++nextSequence_;
    putBytes_ += pageRecordBytes(bytes.size());
    table_.put(key, spot.value(), header.sequence);
    return {};
}

// A write that fails leaves the buffer; only the verbs' callers know whether to come again.
Result<PageSpot> CheckpointWriter::append(const PageHeader& header, Bytes payload) {
    const std::uint64_t bytes = pageRecordBytes(payload.size());
    if (bytes > limits::kPageSegmentBytes - kPageBlockBytes) {
        return Error{ErrorCode::invalid, "the checkpoint has more pages than its format can list"};
    }
    if (!active_ || position_ + buffer_.size() + bytes > limits::kPageSegmentBytes) {
        if (Status ready = nextSegment(); !ready) {
            return ready.error();
        }
    }
    PageSpot spot;
    spot.segment = activeNumber_;
    spot.offset = static_cast<std::uint32_t>(position_ + buffer_.size());
    spot.length = static_cast<std::uint32_t>(payload.size());
    spot.crc = base::crc32c(payload);
    appendPageRecord(buffer_, header, payload);
    if (buffer_.size() >= limits::kPageWriteBytes) {
        if (Status done = flush(); !done) {
            return done.error();
        }
    }
    return spot;
}

Status CheckpointWriter::nextSegment() {
    if (Status done = flush(); !done) {
        return done;
    }
    if (Status kept = keepNeeded(); !kept) {
        return kept;
    }
    std::uint32_t number = 0;
    auto taken = segments_.take(number);
    if (!taken) {
        return taken.error();
    }
    active_ = std::move(taken).value();
    activeNumber_ = number;
    position_ = kPageBlockBytes;
    return {};
}

// Ends at a block: a later write never touches a block that a finished round stands on, so tearing
// it does no harm.
Status CheckpointWriter::flush() {
    const Bytes all = base::bytesOf(buffer_);
    for (std::size_t done = 0; done < all.size(); done += limits::kPageWriteBytes) {
        const Bytes piece = all.subspan(done, std::min(limits::kPageWriteBytes, all.size() - done));
        Status written = active_->write(position_ + done, {&piece, 1});
        if (written.ok()) {
            written = active_->sync();
        }
        if (!written) {
            // Prepared bytes cannot lack room: whatever was said, it is final.
            return Error{ErrorCode::io, written.error().text};
        }
    }
    const std::uint64_t end = position_ + buffer_.size();
    active_ ? active_->forget(position_, buffer_.size()) : void();
    position_ = (end + kPageBlockBytes - 1) / kPageBlockBytes * kPageBlockBytes;
    buffer_.clear();
    return {};
}

// Files take at most twice the live bytes and two segments, beside what only the last two rounds
// still need. So the segments with the least in them are emptied until that holds, but at most
// about as much is copied as the round itself has written.
std::set<std::uint32_t> CheckpointWriter::chooseSparse() const {
    struct Use {
        std::uint64_t live;
        std::uint32_t number;
        bool operator<(const Use& other) const { return live < other.live; }
    };
    std::vector<Use> uses;
    std::uint64_t live = 0;
    std::uint64_t occupied = 0;
    for (const auto& [number, use] : table_.segments()) {
        live += use.live;
        if (use.live == 0) {
            continue;
        }
        ++occupied;
        if (number != activeNumber_ && damaged_.count(number) == 0) {
            uses.push_back({use.live, number});
        }
    }
    std::sort(uses.begin(), uses.end());
    std::set<std::uint32_t> chosen;
    const std::uint64_t bound = 2 * live + 2 * limits::kPageSegmentBytes;
    const std::uint64_t budget = std::max<std::uint64_t>(putBytes_, limits::kPageWriteBytes);
    std::uint64_t copied = 0;
    for (const Use& use : uses) {
        const std::uint64_t added = copied / limits::kPageSegmentBytes;
        if ((occupied - chosen.size() + added) * limits::kPageSegmentBytes <= bound ||
            copied >= budget) {
            break;
        }
        chosen.insert(use.number);
        copied += use.live;
    }
    return chosen;
}

Status CheckpointWriter::copyForward() {
    for (const std::uint32_t segment : chooseSparse()) {
        if (Status done = copyPagesOf(segment); !done) {
            return done;
        }
    }
    putBytes_ = 0;
    return {};
}

Status CheckpointWriter::copyPagesOf(std::uint32_t segment) {
    struct Live {
        PageKey key;
        PageSpot spot;
    };
    std::vector<Live> pages;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        if (table_.bucketSpots()[i].segment == segment) {
            table_.markDirty(i);
        }
        for (const auto& [key, placed] : table_.pages(i)) {
            if (placed.spot.segment == segment) {
                pages.push_back({key, placed.spot});
            }
        }
    }
    const auto bytes = segments_.readAll(segment);
    if (!bytes) {
        return bytes.error();
    }
    for (const Live& page : pages) {
        PageHeader header;
        const auto payload = pageRecordAt(bytes.value(), page.spot, header);
        if (!payload) {
            base::diagnose(base::Severity::error, "checkpoint: " + payload.error().text +
                                                      " (the page of " + describe(page.key) + ")");
            damaged_.insert(segment);
            continue;
        }
        const auto spot = append(header, payload.value());
        if (!spot) {
            return spot.error();
        }
        table_.move(page.key, spot.value());
    }
    return {};
}

Status CheckpointWriter::writeBuckets() {
    for (std::size_t i = 0; i < kBuckets; ++i) {
        if (!table_.dirty(i)) {
            continue;
        }
        PageSpot place;
        if (!table_.pages(i).empty()) {
            PageHeader header;
            header.type = PageType::bucket;
            header.object = i;
            header.sequence = nextSequence_;
            const std::string entries = table_.encode(i);
            const auto spot = append(header, base::bytesOf(entries));
            if (!spot) {
                return spot.error();
            }
            ++nextSequence_;
            place = spot.value();
        }
        table_.placeBucket(i, place);
    }
    return {};
}

Status CheckpointWriter::writeRoot(base::LogIndex replayFrom) {
    Root root;
    root.round = round_;
    root.replayFrom = replayFrom;
    root.nextSequence = nextSequence_;
    std::copy(table_.bucketSpots().begin(), table_.bucketSpots().end(), root.bucket);
    root.crc = rootCrc(root);
    const std::size_t slot = 1 - slot_;
    std::string raw(kRootSlotBytes, '\0');
    std::memcpy(raw.data(), &root, sizeof root);
    const Bytes bytes = base::bytesOf(raw);
    Status written = roots_->write(slot * kRootSlotBytes, {&bytes, 1});
    if (written.ok()) {
        written = roots_->sync();
    }
    if (!written) {
        return Error{ErrorCode::io, written.error().text};
    }
    slot_ = slot;
    ++round_;
    return {};
}

Status CheckpointWriter::finishRound(base::LogIndex replayFrom) {
    if (Status done = copyForward(); !done) {
        return done;
    }
    if (Status done = writeBuckets(); !done) {
        return done;
    }
    if (Status done = flush(); !done) {
        return done;
    }
    if (Status done = writeRoot(replayFrom); !done) {
        return done;
    }
    table_.roundFinished();
    neededFrom_ = std::min(replayFrom_, replayFrom);
    replayFrom_ = replayFrom;
    return keepNeeded();
}

} // namespace millrace::log
