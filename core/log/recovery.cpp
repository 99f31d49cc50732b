// SPDX-License-Identifier: Apache-2.0
#include "log/recovery.h"

#include "base/diagnostics.h"
#include "log/record_view.h"
#include "log/survey.h"

#include <algorithm>

namespace millrace::log {

namespace {

using base::Error;
using base::ErrorCode;
using base::FileSystem;
using base::OpenMode;
using base::Result;
using base::Severity;
using base::Status;

using SegmentPointer = std::shared_ptr<Segment>;

constexpr LogIndex kNoLimit = ~LogIndex{0};

bool endsWith(const std::string& text, std::string_view end) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// A segment whose header block is damaged is taken for what its first record says; its place in the
// log is in its name.
Result<SegmentHeader> guessHeader(base::File& file, const std::string& path,
                                  const std::string& name) {
    SegmentHeader header;
    RecordHeader first;
    Result<std::uint64_t> size = file.size();
    if (!size || *size < 3 * kBlockBytes ||
        !file.read(kBlockBytes, {reinterpret_cast<base::Byte*>(&first), sizeof first}) ||
        !parseHeader({reinterpret_cast<const base::Byte*>(&first), sizeof first}, first.salt,
                     *size)) {
        return Error{ErrorCode::damaged,
                     path + ": the header is damaged and there is no first record"};
    }
    unsigned long long sequence = 0;
    unsigned generation = 0;
    if (std::sscanf(name.c_str(), "%16llx.%u.seg", &sequence, &generation) != 2) {
        return Error{ErrorCode::damaged,
                     path + ": the header is damaged and the name says nothing"};
    }
    header.segmentClass =
        static_cast<std::uint16_t>(generation == 0 ? SegmentClass::log : SegmentClass::compacted);
    header.salt = first.salt;
    header.sequence = header.lastSequence = sequence;
    header.generation = generation;
    header.term = first.term;
    header.fileBytes = *size;
    sealSegmentHeader(header);
    return header;
}

class Recovery {
  public:
    Recovery(FileSystem& files, const std::string& folder) : files_(files), folder_(folder) {}

    Result<Recovered> run() {
        if (Status done = readHeaders(); !done) {
            return done.error();
        }
        dropObsolete();
        if (Status done = findEnd(); !done) {
            return done.error();
        }
        if (Status done = voidBegun(); !done) {
            return done.error();
        }
        if (Status done = describeAll(); !done) {
            return done.error();
        }
        clipRanges();
        return std::move(out_);
    }

  private:
    Status readHeaders();
    Status readHeader(const std::string& name);
    void dropObsolete();
    Status findEnd();
    Status voidBegun();
    Status describeAll();
    void clipRanges();
    Status apply(Segment& segment, Survey found, base::File& file);
    void leave(const Segment& segment) {
        out_.leftovers.push_back({segment.path, segment.fileBytes()});
    }

    FileSystem& files_;
    const std::string folder_;
    Recovered out_;
    std::vector<SegmentPointer> begun_; // behind the end, with records that do not count
};

Status Recovery::readHeaders() {
    Result<std::vector<std::string>> names = files_.list(folder_);
    if (!names) {
        return names.error();
    }
    for (const std::string& name : *names) {
        if (endsWith(name, ".tmp")) {
            out_.leftovers.push_back({folder_ + "/" + name, 0});
        } else if (endsWith(name, ".seg")) {
            if (Status done = readHeader(name); !done) {
                return done;
            }
        }
    }
    std::sort(out_.segments.begin(), out_.segments.end(),
              [](const SegmentPointer& a, const SegmentPointer& b) {
                  return a->header.sequence != b->header.sequence
                             ? a->header.sequence < b->header.sequence
                             : a->header.generation > b->header.generation;
              });
    return {};
}

Status Recovery::readHeader(const std::string& name) {
    const std::string path = folder_ + "/" + name;
    Result<std::unique_ptr<base::File>> file = files_.open(path, OpenMode::readWrite);
    if (!file) {
        return file.error();
    }
    Result<SegmentHeader> header = readSegmentHeader(**file, path);
    if (!header && header.error().code == ErrorCode::unsupported) {
        return header.error();
    }
    if (!header) {
        base::diagnose(Severity::error, header.error().text);
        header = guessHeader(**file, path, name);
    }
    if (!header) {
        // Neither removed nor used: somebody may want to look at it.
        base::diagnose(Severity::error, header.error().text + "; it is left aside");
        return {};
    }
    out_.highestTerm = std::max(out_.highestTerm, header->term);
    out_.nextSequence = std::max(out_.nextSequence, header->lastSequence + 1);
    auto segment = std::make_shared<Segment>();
    segment->path = path;
    segment->header = *header;
    segment->sealed = true;
    out_.segments.push_back(std::move(segment));
    return {};
}

// What a compacted segment stands for, when the crash came before the old files went.
void Recovery::dropObsolete() {
    std::vector<SegmentPointer> kept;
    for (const SegmentPointer& segment : out_.segments) {
        const SegmentHeader& mine = segment->header;
        const bool obsolete = std::any_of(
            out_.segments.begin(), out_.segments.end(), [&](const SegmentPointer& other) {
                return other->header.generation > mine.generation &&
                       other->header.sequence <= mine.sequence &&
                       other->header.lastSequence >= mine.lastSequence;
            });
        if (obsolete) {
            leave(*segment);
        } else {
            kept.push_back(segment);
        }
    }
    out_.segments = std::move(kept);
}

Status Recovery::apply(Segment& segment, Survey found, base::File& file) {
    segment.first = found.first;
    segment.last = found.last;
    segment.dataEnd = found.dataEnd;
    segment.totalReferences = found.references;
    segment.referencedBytes = found.referencedBytes;
    segment.wallMs = found.wallMs;
    segment.spots = std::move(found.spots);
    out_.damagedRecords += found.damagedRecords;
    if (found.damagedRecords != 0) {
        base::diagnose(Severity::error, segment.path + ": " + std::to_string(found.damagedRecords) +
                                            " record(s) that were on disk are damaged");
    }
    auto footer = std::make_unique<SegmentFooter>();
    footer->salt = segment.header.salt;
    describe(segment, *footer);
    sealFooter(*footer);
    segment.spots.clear();
    const base::Bytes part{reinterpret_cast<const base::Byte*>(footer.get()), sizeof *footer};
    if (Status done = file.write(segment.fileBytes() - kBlockBytes, {&part, 1}); !done) {
        return done;
    }
    return file.sync();
}

// The last segment that has a record that counts ends the log. Those behind it are spares, or void.
Status Recovery::findEnd() {
    Evidence evidence = Evidence::knownOnly;
    while (!out_.segments.empty()) {
        Segment& segment = *out_.segments.back();
        Result<std::unique_ptr<base::File>> file = files_.open(segment.path, OpenMode::readWrite);
        if (!file) {
            return file.error();
        }
        // A footer proves nothing about the records before it, but a cut that it bears holds.
        auto footer = std::make_unique<SegmentFooter>();
        const bool sealed = readFooter(**file, segment.header, *footer);
        Survey found =
            survey(**file, segment.header, evidence, sealed ? footer->lastIndex : kNoLimit);
        if (found.droppedRecords != 0) {
            base::diagnose(Severity::warning,
                           "the log ends with a torn record in " + segment.path + "; " +
                               std::to_string(found.droppedRecords) +
                               " record(s) that were never confirmed are dropped");
        }
        if (!found.empty) {
            out_.end = found.last;
            out_.wallMs = found.wallMs;
            out_.highestTerm = std::max(out_.highestTerm, found.term);
            return apply(segment, std::move(found), **file);
        }
        if (found.droppedRecords != 0) {
            evidence = Evidence::synced; // it was begun, so all before it was synced
            begun_.push_back(out_.segments.back());
        }
        leave(segment);
        out_.segments.pop_back();
    }
    return {};
}

// Until it is recycled, a segment behind the end still bears what was cut off. If the power went
// while the first records behind the new end are written, it would be taken for the log's
// continuation: so it says first that nothing in it counts.
Status Recovery::voidBegun() {
    for (const SegmentPointer& segment : begun_) {
        Result<std::unique_ptr<base::File>> file = files_.open(segment->path, OpenMode::readWrite);
        if (!file) {
            return file.error();
        }
        auto footer = std::make_unique<SegmentFooter>();
        footer->salt = segment->header.salt;
        footer->lastIndex = out_.end;
        sealFooter(*footer);
        const base::Bytes part{reinterpret_cast<const base::Byte*>(footer.get()), sizeof *footer};
        if (Status done = (*file)->write(segment->fileBytes() - kBlockBytes, {&part, 1}); !done) {
            return done;
        }
        if (Status done = (*file)->sync(); !done) {
            return done;
        }
    }
    return {};
}

Status Recovery::describeAll() {
    for (std::size_t i = 0; i + 1 < out_.segments.size(); ++i) {
        Segment& segment = *out_.segments[i];
        Result<std::unique_ptr<base::File>> file = files_.open(segment.path, OpenMode::readWrite);
        if (!file) {
            return file.error();
        }
        auto footer = std::make_unique<SegmentFooter>();
        if (!readFooter(**file, segment.header, *footer)) {
            Survey found = survey(**file, segment.header, Evidence::synced, kNoLimit);
            if (found.empty) {
                continue; // clipRanges() leaves it
            }
            if (Status done = apply(segment, std::move(found), **file); !done) {
                return done;
            }
            continue;
        }
        segment.first = footer->firstIndex;
        segment.last = footer->lastIndex;
        segment.dataEnd = footer->dataEnd;
        segment.totalReferences = footer->references;
        segment.referencedBytes = footer->referencedBytes;
        segment.wallMs = footer->wallMs;
    }
    return {};
}

// Records that a later start has written anew are void in the older file.
void Recovery::clipRanges() {
    std::vector<SegmentPointer> kept;
    LogIndex next = out_.end + 1;
    for (std::size_t i = out_.segments.size(); i-- > 0;) {
        Segment& segment = *out_.segments[i];
        segment.last = std::min(segment.last, next - 1);
        if (segment.first == 0 || segment.first > segment.last) {
            leave(segment);
            continue;
        }
        next = segment.first;
        kept.push_back(out_.segments[i]);
    }
    std::reverse(kept.begin(), kept.end());
    out_.segments = std::move(kept);
}

} // namespace

Result<Recovered> recover(FileSystem& files, const std::string& folder) {
    return Recovery(files, folder).run();
}

} // namespace millrace::log
