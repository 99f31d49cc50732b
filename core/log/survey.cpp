// SPDX-License-Identifier: Apache-2.0
#include "log/survey.h"

#include "log/record_scanner.h"

#include <algorithm>

namespace millrace::log {

namespace {

struct Sighting {
    RecordScanner::Found found;
    bool intact = false;
    std::uint64_t references = 0;
    std::uint64_t referencedBytes = 0;
};

Sighting look(RecordScanner& scanner, const RecordScanner::Found& found) {
    Sighting sighting{found, false, 0, 0};
    const RecordView view = scanner.view();
    sighting.intact = view.intact();
    if (!view.tableIntact()) {
        return sighting;
    }
    for (std::uint32_t position = 0; position < view.entries(); ++position) {
        const TableEntry& entry = view.entry(position);
        sighting.references += entry.references;
        sighting.referencedBytes += entry.references != 0 ? view.payload(position).size() : 0;
    }
    return sighting;
}

// Whether the log goes on with this record, given where it stands so far.
bool follows(const Survey& so, const Sighting& next, base::LogIndex durable, bool sparse) {
    const RecordHeader& header = next.found.header;
    if (header.term < so.term) {
        return false;
    }
    const bool gap = next.found.stepped || (!sparse && !so.empty && header.index != so.last + 1);
    return (!gap || header.index - 1 <= durable) && (next.intact || header.index <= durable);
}

void accept(Survey& so, const Sighting& next, std::uint64_t fileBytes, bool sparse) {
    const RecordHeader& header = next.found.header;
    if (so.empty) {
        so.first = header.index;
        so.empty = false;
        so.damagedRecords += next.found.stepped ? 1 : 0;
    } else if (!sparse) {
        so.damagedRecords += header.index - so.last - 1;
    }
    so.damagedRecords += next.intact ? 0 : 1;
    so.last = header.index;
    so.term = header.term;
    so.wallMs = std::max(so.wallMs, header.wallMs);
    so.dataEnd = next.found.offset + recordBytes(header);
    so.references += next.references;
    so.referencedBytes += next.referencedBytes;
    noteSpot(so.spots, so.first, header.index, next.found.offset, fileBytes);
}

} // namespace

Survey survey(base::File& file, const SegmentHeader& header, Evidence evidence,
              base::LogIndex limit) {
    RecordScanner scanner(file, header.salt, kBlockBytes, header.fileBytes - kBlockBytes);
    std::vector<Sighting> sightings;
    base::LogIndex durable = evidence == Evidence::synced ? ~base::LogIndex{0} : 0;
    while (const auto found = scanner.next()) {
        sightings.push_back(look(scanner, *found));
        durable = std::max(durable, found->header.knownDurable);
    }
    const bool sparse = header.segmentClass != static_cast<std::uint16_t>(SegmentClass::log);
    Survey result;
    std::size_t accepted = 0;
    while (accepted < sightings.size() && sightings[accepted].found.header.index <= limit &&
           follows(result, sightings[accepted], durable, sparse)) {
        accept(result, sightings[accepted++], header.fileBytes, sparse);
    }
    result.droppedRecords = sightings.size() - accepted;
    return result;
}

} // namespace millrace::log
