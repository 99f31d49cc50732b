// SPDX-License-Identifier: Apache-2.0
#include "log/record_reader.h"

#include "base/diagnostics.h"
#include "base/limits.h"
#include "log/named_thread.h"
#include "log/record_scanner.h"
#include "log/survey.h"

#include <algorithm>
#include <utility>

namespace millrace::log {

namespace {

using base::Byte;
using base::Bytes;

constexpr std::size_t kWindow = limits::kRecordBytes; // one read brings any record but the biggest
constexpr std::uint64_t kForgetStep =
    4 * 1024 * 1024; // read so far, then the page cache may drop it
constexpr std::size_t kShareOfWindow =
    4; // less of it wanted: copied out, so that little is kept in memory

} // namespace

RecordReader::RecordReader(base::FileSystem& files, std::size_t openSegments,
                           std::function<void()> wake)
    : files_(files), openSegments_(openSegments), wake_(std::move(wake)) {}

RecordReader::~RecordReader() {
    stop();
}

void RecordReader::start(const char* threadName) {
    thread_ = namedThread(threadName, [this] { run(); });
}

void RecordReader::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

void RecordReader::fetch(Job job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_one();
}

void RecordReader::forget(const std::string& path) {
    const std::lock_guard lock(mutex_);
    forgotten_.push_back(path);
    changed_.notify_one();
}

void RecordReader::take(std::vector<Job>& done) {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
}

void RecordReader::run() {
    for (;;) {
        std::vector<Job> jobs;
        std::vector<std::string> forgotten;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock,
                          [this] { return stopping_ || !jobs_.empty() || !forgotten_.empty(); });
            if (stopping_) {
                return;
            }
            jobs.swap(jobs_);
            forgotten.swap(forgotten_);
        }
        for (const std::string& path : forgotten) {
            open_.remove_if([&](const Open& opened) { return opened.path == path; });
        }
        for (Job& job : jobs) {
            carryOut(job);
            {
                const std::lock_guard lock(mutex_);
                done_.push_back(std::move(job));
            }
            wake_();
        }
    }
}

void RecordReader::carryOut(Job& job) {
    std::vector<Wanted*> order;
    order.reserve(job.wanted.size());
    for (Wanted& wanted : job.wanted) {
        if (wanted.segment) {
            order.push_back(&wanted);
        }
    }
    std::sort(order.begin(), order.end(),
              [](const Wanted* a, const Wanted* b) { return a->entry.id < b->entry.id; });
    for (std::size_t first = 0; first < order.size();) {
        std::size_t last = first + 1;
        while (last < order.size() &&
               order[last]->entry.id.record == order[first]->entry.id.record) {
            ++last;
        }
        record({order.data() + first, last - first});
        first = last;
    }
}

// All wanted entries of one record. What is not found stays damaged.
void RecordReader::record(std::span<Wanted*> group) {
    for (Wanted* wanted : group) {
        wanted->entry.damaged = true;
    }
    const Wanted& any = *group.front();
    Open* opened = open(*any.segment);
    if (opened == nullptr) {
        return;
    }
    const std::optional<Found> found = locate(*opened, any);
    if (!found) {
        return;
    }
    const std::uint64_t bytes = recordBytes(found->header);
    const RecordView view(found->header, at(*opened, found->offset, bytes, any.dataEnd));
    if (view.tableIntact()) {
        answer(group, view, window_.bytes);
    }
    noteProgress(*opened, *found);
}

void RecordReader::answer(std::span<Wanted*> group, const RecordView& view,
                          const std::shared_ptr<const void>& owner) {
    std::size_t total = 0;
    for (Wanted* wanted : group) {
        const auto position = view.find(wanted->entry.id.slot);
        if (position && view.payloadIntact(*position)) {
            wanted->entry.damaged = false;
            wanted->entry.kind = view.entry(*position).kind;
            wanted->entry.payload = view.payload(*position);
            wanted->entry.owner = owner;
            total += wanted->entry.payload.size();
        }
    }
    if (total >= window_.length / kShareOfWindow) {
        return;
    }
    const std::shared_ptr<Byte[]> copy(new Byte[total]);
    std::size_t filled = 0;
    for (Wanted* wanted : group) {
        if (!wanted->entry.damaged) {
            Bytes& payload = wanted->entry.payload;
            std::copy(payload.begin(), payload.end(), copy.get() + filled);
            payload = {copy.get() + filled, payload.size()};
            wanted->entry.owner = copy;
            filled += payload.size();
        }
    }
}

RecordReader::Open* RecordReader::open(const Segment& segment) {
    for (auto at = open_.begin(); at != open_.end(); ++at) {
        if (at->path == segment.path) {
            open_.splice(open_.begin(), open_, at);
            return &open_.front();
        }
    }
    while (open_.size() >= openSegments_) {
        open_.pop_back();
    }
    base::Result<std::unique_ptr<base::File>> file = openFile(segment.path);
    if (!file) {
        return nullptr;
    }
    open_.emplace_front();
    open_.front().path = segment.path;
    open_.front().file = std::move(*file);
    return &open_.front();
}

// What cannot be opened for want of descriptors is not damaged: it is waited for.
base::Result<std::unique_ptr<base::File>> RecordReader::openFile(const std::string& path) {
    for (;;) {
        auto file = files_.open(path, base::OpenMode::read);
        if (file || file.error().code != base::ErrorCode::full) {
            shortageReported_ = shortageReported_ && !file.ok();
            return file;
        }
        if (!open_.empty()) {
            open_.pop_back();
        } else if (!awaitDescriptor(path)) {
            return file;
        }
    }
}

bool RecordReader::awaitDescriptor(const std::string& path) {
    if (!std::exchange(shortageReported_, true)) {
        base::diagnose(base::Severity::warning,
                       "reading " + path + " waits for a free descriptor (ulimit -n)");
    }
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, limits::kDescriptorRetry, [this] { return stopping_; });
}

void RecordReader::loadSpots(Open& opened, const Segment& segment, std::uint64_t dataEnd) {
    opened.spotsLoaded = true;
    auto footer = std::make_unique<SegmentFooter>();
    if (readFooter(*opened.file, segment.header, *footer)) {
        opened.spots.assign(footer->spot, footer->spot + footer->spots);
        return;
    }
    RecordScanner scanner(*opened.file, segment.header.salt, kBlockBytes, dataEnd);
    while (const auto found = scanner.next()) {
        noteSpot(opened.spots, segment.first, found->header.index, found->offset,
                 segment.fileBytes());
    }
}

// The nearest known record at or before the wanted one.
std::uint64_t RecordReader::whereToBegin(Open& opened, const Wanted& wanted) {
    std::uint64_t begin = wanted.offset;
    if (begin == 0) {
        if (!opened.spotsLoaded) {
            loadSpots(opened, *wanted.segment, wanted.dataEnd);
        }
        begin = offsetBefore(opened.spots, wanted.segment->first, wanted.entry.id.record);
    }
    const bool goesOn = window_.path == opened.path && window_.nextIndex != 0 &&
                        window_.nextIndex <= wanted.entry.id.record && window_.nextOffset >= begin;
    return goesOn ? window_.nextOffset : begin;
}

std::optional<RecordReader::Found> RecordReader::locate(Open& opened, const Wanted& wanted) {
    std::uint64_t offset = whereToBegin(opened, wanted);
    while (offset + sizeof(RecordHeader) <= wanted.dataEnd) {
        const auto header = parseHeader(at(opened, offset, sizeof(RecordHeader), wanted.dataEnd),
                                        wanted.segment->header.salt, wanted.dataEnd - offset);
        if (!header) {
            offset += 8; // damaged: the next one begins somewhere behind
            continue;
        }
        if (header->index >= wanted.entry.id.record) {
            return header->index == wanted.entry.id.record ? std::optional(Found{*header, offset})
                                                           : std::nullopt;
        }
        offset += recordBytes(*header);
    }
    return std::nullopt;
}

Bytes RecordReader::at(Open& opened, std::uint64_t offset, std::size_t length, std::uint64_t end) {
    length = static_cast<std::size_t>(std::min<std::uint64_t>(length, end - offset));
    const bool inside = window_.path == opened.path && offset >= window_.offset &&
                        offset + length <= window_.offset + window_.length;
    if (!inside) {
        const auto wanted = static_cast<std::size_t>(
            std::min<std::uint64_t>(std::max(length, kWindow), end - offset));
        window_ =
            Window{opened.path, offset, wanted, std::shared_ptr<Byte[]>(new Byte[wanted]), 0, 0};
        readOrZero(*opened.file, offset, {window_.bytes.get(), wanted});
        opened.readSinceForget += wanted;
    }
    return {window_.bytes.get() + (offset - window_.offset), length};
}

void RecordReader::noteProgress(Open& opened, const Found& found) {
    window_.nextIndex = found.header.index + 1;
    window_.nextOffset = found.offset + recordBytes(found.header);
    if (opened.readSinceForget >= kForgetStep) {
        opened.file->forget(0, found.offset);
        opened.readSinceForget = 0;
    }
}

} // namespace millrace::log
