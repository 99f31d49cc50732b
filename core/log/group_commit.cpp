// SPDX-License-Identifier: Apache-2.0
#include "log/group_commit.h"

#include "base/diagnostics.h"
#include "base/limits.h"
#include "log/named_thread.h"
#include "log/record_view.h"

#include <algorithm>

namespace millrace::log {

namespace {

using base::Byte;
using base::Bytes;
using base::Status;

constexpr std::size_t kPartsPerWrite = 256; // what a file takes in one call
alignas(8) constexpr Byte kZeros[kBlockBytes] = {};

} // namespace

GroupCommit::GroupCommit(std::function<std::optional<Spare>()> takeSegment, bool synchronous,
                         std::function<void()> wake)
    : takeSegment_(std::move(takeSegment)), synchronous_(synchronous), wake_(std::move(wake)) {}

GroupCommit::~GroupCommit() {
    stop();
}

void GroupCommit::start(LogIndex end, const char* threadName) {
    lastIndex_ = end;
    written_.store(end, std::memory_order_release);
    synced_.store(end, std::memory_order_release);
    thread_ = namedThread(threadName, [this] { run(); });
}

void GroupCommit::submit(std::vector<Piece>& pieces, Waiting waiting) {
    bool notify = false;
    {
        const std::lock_guard lock(mutex_);
        if (pending_.empty() && waiting == Waiting::nobody) {
            lazyUntil_ = std::chrono::steady_clock::now() + limits::kLazySync;
        }
        if (pending_.empty()) {
            pending_.swap(pieces);
        } else {
            std::move(pieces.begin(), pieces.end(), std::back_inserter(pending_));
        }
        somebody_ |= waiting == Waiting::somebody;
        notify = state_ == State::waiting || (state_ == State::lazy && somebody_);
        if (notify) {
            state_ = State::busy; // one wake-up is enough
        }
    }
    pieces.clear();
    if (notify) {
        changed_.notify_one();
    }
}

// Waits for pieces and takes all of them. False: the thread shall end.
bool GroupCommit::takeWork(std::vector<Piece>& work) {
    std::unique_lock lock(mutex_);
    while (!stopping_ && pending_.empty()) {
        state_ = State::waiting;
        idle_.store(true, std::memory_order_relaxed);
        progress_.notify_all();
        changed_.wait(lock);
    }
    while (!stopping_ && !somebody_ && std::chrono::steady_clock::now() < lazyUntil_) {
        state_ = State::lazy;
        changed_.wait_until(lock, lazyUntil_);
    }
    state_ = State::busy;
    idle_.store(false, std::memory_order_relaxed);
    somebody_ = false;
    work.clear();
    work.swap(pending_);
    return !stopping_;
}

void GroupCommit::run() {
    std::vector<Piece> work;
    while (takeWork(work)) {
        if (Status done = commitAll(work); !done) {
            error_ = done.error();
            failed_.store(true, std::memory_order_release);
            break;
        }
    }
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    progress_.notify_all();
    wake_();
}

// In groups of at most limits::kGroupBytes, so that the first of many are released early.
Status GroupCommit::commitAll(std::vector<Piece>& work) {
    std::size_t first = 0;
    while (first < work.size()) {
        std::uint64_t bytes = 0;
        std::size_t last = first;
        while (last < work.size() &&
               (last == first || bytes + work[last].bytes <= limits::kGroupBytes)) {
            bytes += work[last++].bytes;
        }
        if (Status done = commit({work.data() + first, last - first}); !done) {
            return done;
        }
        first = last;
    }
    return {};
}

Status GroupCommit::commit(std::span<Piece> group) {
    for (Piece& piece : group) {
        if (piece.footer) {
            if (Status done = seal(piece); !done) {
                return done;
            }
            continue;
        }
        if (current_ != piece.segment) {
            if (Status done = begin(*piece.segment); !done) {
                return done;
            }
        }
        gather(piece);
        if (parts_.size() >= kPartsPerWrite) {
            if (Status done = flush(false); !done) {
                return done;
            }
        }
    }
    if (Status done = flush(true); !done) {
        return done;
    }
    written_.store(lastIndex_, std::memory_order_release);
    if (Status done = syncCurrent(); !done) {
        return done;
    }
    synced_.store(lastIndex_, std::memory_order_release);
    syncedBytes_.store(bytes_, std::memory_order_release);
    forgetBehind();
    wake_();
    return {};
}

Status GroupCommit::begin(Segment& segment) {
    std::optional<Spare> spare = takeSegment_();
    if (!spare) {
        return base::Error{base::ErrorCode::full,
                           "there was no segment to write to when the log was stopped"};
    }
    segment.file = std::move(spare->file);
    segment.path = std::move(spare->path);
    segment.header = spare->header;
    current_ = &segment;
    forgotten_ = 0;
    attached_.fetch_add(1, std::memory_order_acq_rel);
    return {};
}

void GroupCommit::gather(Piece& piece) {
    RecordHeader header;
    std::memcpy(&header, piece.data, sizeof header);
    header.salt = current_->header.salt;
    header.knownDurable = synced_.load(std::memory_order_relaxed);
    sealHeader(header);
    std::memcpy(piece.data, &header, sizeof header);
    if (parts_.empty()) {
        partsOffset_ = piece.offset;
        partsBytes_ = 0;
    }
    if (!parts_.empty() && parts_.back().data() + parts_.back().size() == piece.data) {
        parts_.back() = {parts_.back().data(), parts_.back().size() + piece.bytes};
    } else {
        parts_.emplace_back(piece.data, piece.bytes);
    }
    partsBytes_ += piece.bytes;
    lastIndex_ = piece.index;
    bytes_ += piece.bytes;
}

// Padded to whole pages: else the kernel would have to read the last page of a recycled file before
// it could change half of it.
Status GroupCommit::flush(bool padded) {
    if (parts_.empty()) {
        return {};
    }
    const std::uint64_t end = partsOffset_ + partsBytes_;
    if (padded && end % kBlockBytes != 0) {
        parts_.emplace_back(kZeros, kBlockBytes - end % kBlockBytes);
    }
    Status done = current_->file->write(partsOffset_, parts_);
    parts_.clear();
    dirty_ = true;
    return done;
}

Status GroupCommit::syncCurrent() {
    if (!dirty_ || !synchronous_) {
        return {};
    }
    dirty_ = false;
    syncs_.fetch_add(1, std::memory_order_relaxed);
    return current_->file->sync();
}

// The footer goes with the last sync of its segment; only then may a later segment be written.
Status GroupCommit::seal(Piece& piece) {
    if (Status done = flush(true); !done) {
        return done;
    }
    piece.footer->salt = current_->header.salt;
    sealFooter(*piece.footer);
    const Bytes part{reinterpret_cast<const Byte*>(piece.footer.get()), sizeof(SegmentFooter)};
    if (Status done = current_->file->write(current_->fileBytes() - kBlockBytes, {&part, 1});
        !done) {
        return done;
    }
    dirty_ = true;
    if (Status done = syncCurrent(); !done) {
        return done;
    }
    current_->file->forget(0, current_->fileBytes());
    current_->file.reset();
    current_->beingWritten.store(false, std::memory_order_release);
    current_ = nullptr;
    return {};
}

// Whole pages that are synced and will not be written again.
void GroupCommit::forgetBehind() {
    if (current_ == nullptr) {
        return;
    }
    const std::uint64_t end = (partsOffset_ + partsBytes_) / kBlockBytes * kBlockBytes;
    if (end >= forgotten_ + limits::kGroupBytes) {
        current_->file->forget(forgotten_, end - forgotten_);
        forgotten_ = end;
    }
}

bool GroupCommit::drained(std::chrono::milliseconds within) {
    std::unique_lock lock(mutex_);
    if (!pending_.empty()) {
        somebody_ = true;
        if (state_ != State::busy) {
            state_ = State::busy;
            changed_.notify_one();
        }
    }
    return progress_.wait_for(lock, within, [this] {
        return stopping_ || (pending_.empty() && state_ == State::waiting);
    });
}

void GroupCommit::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

} // namespace millrace::log
