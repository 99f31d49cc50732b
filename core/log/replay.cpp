// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostics.h"
#include "log/record_scanner.h"
#include "log/recovery.h"

#include <algorithm>

namespace millrace::log {

namespace {

constexpr LogIndex kMostMissing =
    100'000; // told one by one; more than a segment of records is an error of another kind

class Replay {
  public:
    Replay(LogIndex from, LogIndex end, const ReplayVisitor& visitor, std::uint64_t& damaged)
        : from_(from), end_(end), visitor_(visitor), damaged_(damaged) {}

    void segment(base::File& file, Segment& segment);

  private:
    void record(const RecordView& view, Segment& segment);
    void entry(const RecordView& view, std::uint32_t position);
    void missing(LogIndex upTo, bool stepped, std::int64_t wallMs);
    void lost(MessageId id, std::int64_t wallMs);

    const LogIndex from_;
    const LogIndex end_;
    const ReplayVisitor& visitor_;
    std::uint64_t& damaged_;
    LogIndex expected_ = 0;
};

void Replay::segment(base::File& file, Segment& segment) {
    RecordScanner scanner(file, segment.header.salt, kBlockBytes, segment.dataEnd);
    const LogIndex last = std::min(segment.last, end_);
    if (expected_ == 0) {
        expected_ = std::max(from_, segment.first);
    }
    while (const auto found = scanner.next()) {
        const RecordHeader& header = found->header;
        if (header.index > last) {
            break;
        }
        if (header.index < from_) {
            continue;
        }
        missing(header.index, found->stepped, header.wallMs);
        record(scanner.view(), segment);
        expected_ = header.index + 1;
    }
    if (segment.header.segmentClass == static_cast<std::uint16_t>(SegmentClass::log)) {
        missing(last + 1, true,
                segment.wallMs); // a damaged end has no record behind it in its file
    }
    expected_ = last + 1;
}

void Replay::record(const RecordView& view, Segment& segment) {
    const RecordHeader& header = view.header();
    if (!view.tableIntact()) {
        for (std::uint32_t slot = 0; slot < header.entries; ++slot) {
            lost({header.index, slot}, header.wallMs);
        }
        return;
    }
    for (std::uint32_t position = 0; position < view.entries(); ++position) {
        segment.references += view.entry(position).references;
        entry(view, position);
    }
}

void Replay::entry(const RecordView& view, std::uint32_t position) {
    if (view.entry(position).kind == 0) {
        return; // the log's own
    }
    Replayed shown;
    shown.id = {view.header().index, view.slot(position)};
    shown.kind = view.entry(position).kind;
    shown.routes = view.routes(position);
    shown.wallMs = view.header().wallMs;
    shown.damaged = !view.payloadIntact(position);
    if (shown.damaged) {
        ++damaged_;
    } else {
        shown.payload = view.payload(position);
    }
    visitor_(shown);
}

void Replay::missing(LogIndex upTo, bool stepped, std::int64_t wallMs) {
    if (upTo <= expected_) {
        return;
    }
    if (!stepped || upTo - expected_ > kMostMissing) {
        base::diagnose(base::Severity::warning, "records " + std::to_string(expected_) + " to " +
                                                    std::to_string(upTo - 1) +
                                                    " are not in the log any more");
        expected_ = upTo;
    }
    for (; expected_ < upTo; ++expected_) {
        lost({expected_, 0}, wallMs);
    }
}

void Replay::lost(MessageId id, std::int64_t wallMs) {
    ++damaged_;
    Replayed shown;
    shown.id = id;
    shown.wallMs = wallMs;
    shown.damaged = true;
    visitor_(shown);
}

} // namespace

base::Status replaySegments(base::FileSystem& files,
                            std::span<const std::shared_ptr<Segment>> segments, LogIndex from,
                            LogIndex end, const ReplayVisitor& visitor,
                            std::uint64_t& damagedEntries) {
    Replay replay(from, end, visitor, damagedEntries);
    for (const std::shared_ptr<Segment>& segment : segments) {
        if (segment->last < from) {
            continue;
        }
        base::Result<std::unique_ptr<base::File>> file =
            files.open(segment->path, base::OpenMode::read);
        if (!file) {
            return file.error();
        }
        replay.segment(**file, *segment);
        (*file)->forget(0, segment->fileBytes());
    }
    return {};
}

} // namespace millrace::log
