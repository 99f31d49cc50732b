// SPDX-License-Identifier: Apache-2.0
#include "log/compaction.h"

#include "base/limits.h"
#include "log/record_scanner.h"

#include <algorithm>

namespace millrace::log {

namespace {

using base::Bytes;
using base::Status;

constexpr std::size_t kStepBytes = 1024 * 1024; // between two looks at what else is to be done

} // namespace

Compaction::Compaction(std::string folder, std::vector<std::shared_ptr<Segment>> victims,
                       bool synchronous)
    : folder_(std::move(folder)), victims_(std::move(victims)), synchronous_(synchronous) {}

std::string Compaction::temporaryPath() const {
    return folder_ + "/compaction.tmp";
}

bool Compaction::ask(CommitLogListener& listener, std::size_t most) {
    const std::size_t end = std::min(candidates_.size(), asked_ + most);
    for (; asked_ < end; ++asked_) {
        Candidate& candidate = candidates_[asked_];
        candidate.needed =
            listener.needed(candidate.id, candidate.kind,
                            {routes_.data() + candidate.routesBegin, candidate.routesCount});
        kept_ += candidate.needed ? 1 : 0;
    }
    return asked_ == candidates_.size();
}

bool Compaction::step(base::FileSystem& files) {
    const Phase now = phase();
    Status done;
    Phase next = now;
    if (now == Phase::reading) {
        read(files);
        next = atEnd() ? Phase::asking : now;
    } else if (now == Phase::writing) {
        done = file_ ? copy(files) : beginWriting(files);
        next = done && atEnd() ? Phase::settling : now;
    } else if (now == Phase::naming) {
        done = giveName(files);
        next = Phase::done;
    }
    if (done && !trouble_) {
        done = trouble_;
    }
    if (!done) {
        error_ = done.error();
        file_.reset();
        (void)files.remove(temporaryPath());
        next = Phase::failed;
    }
    if (next != now) {
        handOver(next);
    }
    return next == now && (now == Phase::reading || now == Phase::writing);
}

std::optional<RecordScanner::Found> Compaction::next(base::FileSystem& files,
                                                     std::uint64_t& budget) {
    while (budget != 0 && trouble_) {
        if (!scanner_) {
            if (victim_ == victims_.size()) {
                return std::nullopt;
            }
            trouble_ = openVictim(files);
            continue;
        }
        const Segment& segment = *victims_[victim_ - 1];
        const auto found = scanner_->next();
        if (found && found->header.index <= segment.last) {
            budget -= std::min(budget, recordBytes(found->header));
            return found;
        }
        scanner_.reset();
        source_->forget(0, segment.fileBytes());
        source_.reset();
    }
    return std::nullopt;
}

Status Compaction::openVictim(base::FileSystem& files) {
    const Segment& segment = *victims_[victim_++];
    base::Result<std::unique_ptr<base::File>> file = files.open(segment.path, base::OpenMode::read);
    if (!file) {
        return file.error();
    }
    source_ = std::move(*file);
    scanner_ = std::make_unique<RecordScanner>(*source_, segment.header.salt, kBlockBytes,
                                               segment.dataEnd);
    return {};
}

void Compaction::read(base::FileSystem& files) {
    std::uint64_t budget = kStepBytes;
    while (next(files, budget)) {
        list(scanner_->view());
    }
}

// Entries that had holders when they were appended; the others are covered by a checkpoint.
void Compaction::list(const RecordView& view) {
    if (!view.tableIntact()) {
        return; // nobody can read any of it
    }
    std::uint16_t listed = 0;
    std::uint32_t begin = 0;
    for (std::uint32_t position = 0; position < view.entries(); ++position) {
        const TableEntry& entry = view.entry(position);
        if (entry.references == 0) {
            continue;
        }
        const auto routes = view.routes(position);
        if (entry.routeList != listed) {
            listed = entry.routeList;
            begin = static_cast<std::uint32_t>(routes_.size());
            routes_.insert(routes_.end(), routes.begin(), routes.end());
        }
        candidates_.push_back({{view.header().index, view.slot(position)},
                               entry.kind,
                               false,
                               begin,
                               static_cast<std::uint32_t>(routes.size())});
    }
}

Status Compaction::beginWriting(base::FileSystem& files) {
    victim_ = 0;
    (void)files.remove(temporaryPath());
    base::Result<std::unique_ptr<base::File>> file =
        files.open(temporaryPath(), base::OpenMode::create);
    if (!file) {
        return file.error();
    }
    file_ = std::move(*file);
    result_ = std::make_shared<Segment>();
    SegmentHeader& header = result_->header;
    header.segmentClass = static_cast<std::uint16_t>(SegmentClass::compacted);
    header.salt = newSalt();
    header.sequence = victims_.front()->header.sequence;
    header.lastSequence = victims_.back()->header.lastSequence;
    for (const auto& victim : victims_) {
        header.generation = std::max(header.generation, victim->header.generation + 1);
        header.term = std::max(header.term, victim->header.term);
        header.fileBytes += victim->dataEnd; // at most, for the distance of spots
    }
    result_->first = victims_.front()->first;
    result_->last = victims_.back()->last;
    result_->wallMs = victims_.back()->wallMs;
    result_->sealed = true;
    flushed_ = kBlockBytes;
    return {};
}

Status Compaction::copy(base::FileSystem& files) {
    std::uint64_t budget = kStepBytes;
    while (const auto found = next(files, budget)) {
        if (candidate_ < candidates_.size() &&
            candidates_[candidate_].id.record == found->header.index) {
            copyRecord(scanner_->view());
        }
        if (buffer_.size() >= kStepBytes) {
            if (Status done = flush(); !done) {
                return done;
            }
        }
    }
    return atEnd() && trouble_ ? finish() : Status{};
}

void Compaction::copyRecord(const RecordView& view) {
    const LogIndex index = view.header().index;
    record_.begin(view.header(), result_->header.salt);
    for (; candidate_ < candidates_.size() && candidates_[candidate_].id.record == index;
         ++candidate_) {
        const auto position =
            view.tableIntact() ? view.find(candidates_[candidate_].id.slot) : std::nullopt;
        if (candidates_[candidate_].needed && position) {
            record_.add(view, *position);
        }
    }
    if (record_.empty()) {
        return;
    }
    noteSpot(result_->spots, result_->first, index, flushed_ + buffer_.size(),
             result_->fileBytes());
    result_->totalReferences += record_.references();
    result_->referencedBytes += record_.referencedBytes();
    record_.write(buffer_);
}

// Synced every few MiB, so that a commit beside it never waits for much.
Status Compaction::flush() {
    const Bytes part = base::bytesOf(buffer_);
    if (Status done = file_->write(flushed_, {&part, 1}); !done) {
        return done;
    }
    flushed_ += part.size();
    unsynced_ += part.size();
    buffer_.clear();
    if (synchronous_ && unsynced_ >= limits::kGroupBytes) {
        unsynced_ = 0;
        return file_->sync();
    }
    return {};
}

Status Compaction::finish() {
    result_->dataEnd = flushed_ + buffer_.size();
    buffer_.resize((result_->dataEnd + kBlockBytes - 1) / kBlockBytes * kBlockBytes - flushed_,
                   '\0');
    if (Status done = flush(); !done) {
        return done;
    }
    result_->header.fileBytes = flushed_ + kBlockBytes;
    sealSegmentHeader(result_->header);
    auto footer = std::make_unique<SegmentFooter>();
    footer->salt = result_->header.salt;
    describe(*result_, *footer);
    sealFooter(*footer);
    result_->spots.clear();
    const Bytes part{reinterpret_cast<const base::Byte*>(footer.get()), sizeof *footer};
    if (Status done = file_->write(flushed_, {&part, 1}); !done) {
        return done;
    }
    if (Status done = writeSegmentHeader(*file_, result_->header); !done) {
        return done;
    }
    if (synchronous_) {
        if (Status done = file_->sync(); !done) {
            return done;
        }
    }
    file_->forget(0, result_->fileBytes());
    return {};
}

Status Compaction::giveName(base::FileSystem& files) {
    file_.reset();
    result_->path =
        folder_ + "/" + segmentName(result_->header.sequence, result_->header.generation);
    if (Status done = files.rename(temporaryPath(), result_->path); !done) {
        return done;
    }
    return synchronous_ ? files.syncDirectory(folder_) : Status{};
}

} // namespace millrace::log
