// SPDX-License-Identifier: Apache-2.0
// A log's life: open, replay, start, stop.
#include "log/local_log.h"

#include "base/check.h"
#include "base/diagnostics.h"

#include <algorithm>

namespace millrace::log {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::uint64_t kLeastSegment = 128 * 1024; // any record but the biggest fits
constexpr std::chrono::milliseconds kDrainLook{50}; // between two looks at a disk that may be full
constexpr std::uint64_t kMostSegment = 0xFFFF'F000; // offsets are 32 bits wide in a footer

std::function<void()> callable(std::function<void()> wake) {
    return wake ? std::move(wake) : [] {};
}

Options checked(Options options) {
    options.wake = callable(std::move(options.wake));
    return options;
}

} // namespace

LocalLog::LocalLog(base::FileSystem& files, const base::Clock& clock, Options options)
    : files_(files), clock_(clock), options_(checked(std::move(options))),
      recent_(options_.memoryBytes), directory_(options_.segmentBytes),
      admission_({options_.segmentBytes, options_.reserveSegments, options_.diskFreeLimit}),
      keeper_(files, shelf_, options_.wake), writer_(
                                                 [this] {
                                                     std::optional<Spare> spare = shelf_.take();
                                                     keeper_.look(); // the next one is to be made
                                                     return spare;
                                                 },
                                                 options_.kind == Kind::durable, options_.wake),
      reader_(files, options_.openSegments, options_.wake),
      reclaim_(directory_, keeper_, options_.folder, options_.kind == Kind::durable) {}

LocalLog::~LocalLog() {
    stopThreads();
}

Result<std::unique_ptr<LocalLog>> LocalLog::open(base::FileSystem& files, const base::Clock& clock,
                                                 Options options) {
    if (options.segmentBytes % kBlockBytes != 0 || options.segmentBytes < kLeastSegment ||
        options.segmentBytes > kMostSegment) {
        return Error{ErrorCode::invalid,
                     "a log segment must have a multiple of 4096 bytes, from 128 KiB to 4 GiB"};
    }
    std::unique_ptr<LocalLog> log(new LocalLog(files, clock, std::move(options)));
    Status done = log->durable() ? log->openDurable() : log->openScratch();
    if (!done) {
        return done.error();
    }
    return log;
}

Status LocalLog::openDurable() {
    Result<Recovered> found = recover(files_, options_.folder);
    if (!found) {
        return found.error();
    }
    recovered_ = std::move(*found);
    damagedEntries_ = recovered_.damagedRecords;
    horizons_ = {recovered_.end, recovered_.end, recovered_.end, recovered_.end};
    nextIndex_ = recovered_.end + 1;
    markedTo_ = recovered_.end;
    wallMs_ = recovered_.wallMs;
    term_ = recovered_.highestTerm + 1;
    recent_.begin(nextIndex_);
    directory_.adopt(std::move(recovered_.segments));
    return {};
}

Status LocalLog::openScratch() {
    Result<std::vector<std::string>> names = files_.list(options_.folder);
    if (!names) {
        return names.error();
    }
    for (const std::string& name : *names) {
        if (Status gone = files_.remove(options_.folder + "/" + name); !gone) {
            return gone;
        }
    }
    horizons_ = {base::kScratchBit, base::kScratchBit, base::kScratchBit, base::kScratchBit};
    nextIndex_ = base::kScratchBit | 1;
    pushedTo_ = base::kScratchBit;
    covered_ = ~LogIndex{0}; // nothing of it is ever replayed
    term_ = 1;
    recent_.begin(nextIndex_);
    return {};
}

Status LocalLog::replay(LogIndex from, const ReplayVisitor& visitor) {
    MILLRACE_CHECK(!started_);
    if (!durable()) {
        return {};
    }
    if (from > horizons_.appended + 1) {
        return Error{ErrorCode::damaged, "the log in " + options_.folder + " ends at record " +
                                             std::to_string(horizons_.appended) +
                                             ", but a checkpoint says that it reaches " +
                                             std::to_string(from - 1) + ": records are missing"};
    }
    covered_ = std::max(covered_, from);
    damagedEntries_ = 0;
    return replaySegments(files_, directory_.all(), from, horizons_.appended, visitor,
                          damagedEntries_);
}

void LocalLog::hold(const MessageId& first, std::uint32_t slots, std::uint32_t count) {
    // What is gone was settled after the checkpoint was written; replay says so too.
    if (Segment* segment = directory_.find(first.record)) {
        segment->references += std::uint64_t{slots} * count;
    }
}

void LocalLog::start(CommitLogListener& listener) {
    MILLRACE_CHECK(!started_);
    started_ = true;
    listener_ = &listener;
    lastAppend_ = clock_.now();
    for (const Recovered::Leftover& leftover : recovered_.leftovers) {
        keeper_.retire(leftover.path, leftover.fileBytes);
    }
    SegmentKeeper::Terms terms;
    terms.folder = options_.folder;
    terms.segmentBytes = options_.segmentBytes;
    terms.segmentClass = durable() ? SegmentClass::log : SegmentClass::scratch;
    terms.term = term_;
    terms.nextSequence = recovered_.nextSequence;
    terms.reserve = durable() ? options_.reserveSegments : 0;
    terms.freeLimit = options_.diskFreeLimit;
    terms.synchronous = durable();
    terms.busy = [this] { return !writer_.idle(); };
    recovered_ = {};
    keeper_.want(durable() ? options_.reserveSegments : 0);
    keeper_.start(std::move(terms), durable() ? "log-keeper" : "scratch-keeper");
    writer_.start(horizons_.appended, durable() ? "log-writer" : "scratch-writer");
    reader_.start(durable() ? "log-reader" : "scratch-reader");
    covered(0); // what nobody holds any more since the last start
    considerSpace();
}

Status LocalLog::stop() {
    if (!started_) {
        return {};
    }
    submit();
    Status done = drainAll();
    if (done && durable() && horizons_.appended != markedTo_) {
        writeMark(); // so that the next open() knows that everything was synced
        done = drainAll();
    }
    stopThreads();
    return done;
}

// Waits for the sync of everything appended. A full disk that leaves it without a segment ends the
// waiting.
Status LocalLog::drainAll() {
    while (!writer_.drained(kDrainLook)) {
        if (shelf_.offered() < directory_.begun() && keeper_.blocked()) {
            shelf_.close();
        }
    }
    horizons_.written = std::max(horizons_.written, writer_.written());
    horizons_.synced = horizons_.committed = std::max(horizons_.synced, writer_.synced());
    return writer_.failed() ? Status(writer_.error()) : Status{};
}

void LocalLog::stopThreads() {
    shelf_.close();
    writer_.stop();
    keeper_.stop();
    reader_.stop();
}

} // namespace millrace::log
