// SPDX-License-Identifier: Apache-2.0
// The verbs of every turn: append, submit, read, fetch, release.
#include "log/local_log.h"

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/limits.h"

#include <algorithm>

namespace millrace::log {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

std::uint64_t payloadBytesOf(const Entry& entry) {
    std::uint64_t bytes = 0;
    for (const Bytes& part : entry.parts) {
        bytes += part.size();
    }
    return bytes;
}

} // namespace

Result<MessageId> LocalLog::append(const Entry& entry) {
    MILLRACE_CHECK(started_);
    const std::uint64_t payloadBytes = payloadBytesOf(entry);
    if (writer_.failed() || admission_.diskShort()) [[unlikely]] {
        if (writer_.failed() || !hasRoomFor(RecordBuilder::bytesAlone(entry, payloadBytes))) {
            return refusal();
        }
    }
    if (builder_.isOpen()) {
        if (const auto slot = builder_.tryAdd(entry, payloadBytes)) {
            return MessageId{builder_.index(), *slot};
        }
        closeRecord();
    }
    if (RecordBuilder::bytesAlone(entry, payloadBytes) > directory_.capacity()) {
        return Error{ErrorCode::invalid, "an entry of " + std::to_string(payloadBytes) +
                                             " bytes and " + std::to_string(entry.routes.size()) +
                                             " routes does not fit into a segment of the log"};
    }
    openRecord(entry, payloadBytes);
    const auto slot = builder_.tryAdd(entry, payloadBytes);
    MILLRACE_CHECK(slot);
    return MessageId{builder_.index(), *slot};
}

Error LocalLog::refusal() const {
    if (writer_.failed()) {
        return {ErrorCode::stopped, "the log has stopped: " + writer_.error().text};
    }
    return {ErrorCode::full, "no space left for the log in " + options_.folder};
}

// While no new segments can be prepared, what has one to go to is taken; so settles use up the
// reserve.
bool LocalLog::hasRoomFor(std::uint64_t bytes) const {
    if (!durable()) {
        return true; // bounded by memory, see considerSpace()
    }
    const std::uint64_t open = builder_.isOpen() ? limits::kRecordBytes : 0;
    const std::uint64_t offered = shelf_.offered();
    const std::uint64_t segments = offered > directory_.begun() ? offered - directory_.begun() : 0;
    return bytes + open <= directory_.room() || segments != 0;
}

void LocalLog::openRecord(const Entry& entry, std::uint64_t payloadBytes) {
    recent_.evict(durable() ? horizons_.written : writer_.written());
    wallMs_ = std::max<std::int64_t>(wallMs_, clock_.wallNow().count());
    Slab& slab = recent_.slabFor(RecordBuilder::bytesAlone(entry, payloadBytes));
    builder_.open(slab, nextIndex_++, term_, wallMs_);
}

void LocalLog::closeRecord() {
    const LogIndex index = builder_.index();
    RecentRecord record = builder_.close();
    record.references = static_cast<std::uint32_t>(builder_.references());
    horizons_.appended = index;
    if (durable()) {
        const SegmentDirectory::Contents contents{index, record.bytes, builder_.references(),
                                                  builder_.referencedBytes(), builder_.wallMs()};
        queue(index, record, contents);
        somebodyWaits_ |= builder_.somebodyWaits();
    }
    recent_.add(record);
}

void LocalLog::queue(LogIndex index, RecentRecord& record,
                     const SegmentDirectory::Contents& contents) {
    const SegmentDirectory::Place place = directory_.place(contents);
    if (place.sealed != nullptr) {
        queueFooter(*place.sealed);
        considerSpace();
    }
    Piece piece;
    piece.segment = place.segment;
    piece.data = record.data();
    piece.bytes = record.bytes;
    piece.offset = place.offset;
    piece.index = index;
    closed_.push_back(std::move(piece));
    queuedBytes_ += record.bytes;
}

void LocalLog::queueFooter(Segment& sealed) {
    Piece end;
    end.segment = &sealed;
    end.footer = std::make_unique<SegmentFooter>();
    describe(sealed, *end.footer);
    closed_.push_back(std::move(end));
}

void LocalLog::submit() {
    if (builder_.isOpen()) {
        closeRecord();
    }
    endTurn();
    if (!durable()) {
        horizons_.written = horizons_.synced = horizons_.committed = horizons_.appended;
        pushOut();
    }
    if (closed_.empty()) {
        return;
    }
    lastAppend_ = clock_.now();
    writer_.submit(closed_, somebodyWaits_ ? Waiting::somebody : Waiting::nobody);
    somebodyWaits_ = false;
    considerSpace();
}

// Everything that was decided in this turn is appended.
void LocalLog::endTurn() {
    ticksSinceTurn_ = 0;
    for (const auto& segment : empty_) {
        if (segment->emptySince == kUntilSubmit) {
            segment->emptySince = std::max<LogIndex>(horizons_.appended, 1);
        }
    }
    reclaim_.submitted(horizons_.appended);
}

bool LocalLog::read(const MessageId& id, Stored& out) {
    out.id = id;
    out.owner.reset();
    out.damaged = false;
    if (builder_.isOpen() && id.record == builder_.index()) {
        return builder_.read(id.slot, out);
    }
    const RecentRecord* record = recent_.find(id.record);
    if (record == nullptr || id.slot >= record->entries) {
        return false;
    }
    const base::Byte* payload = record->data() + sizeof(RecordHeader);
    const auto* table = reinterpret_cast<const TableEntry*>(payload + align8(record->payloadBytes));
    const std::uint32_t begin = id.slot == 0 ? 0 : table[id.slot - 1].end;
    out.kind = table[id.slot].kind;
    out.payload = {payload + begin, table[id.slot].end - begin};
    return true;
}

void LocalLog::fetch(std::uint64_t token, std::vector<MessageId> ids) {
    RecordReader::Job job;
    job.token = token;
    job.wanted.resize(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        RecordReader::Wanted& wanted = job.wanted[i];
        if (read(ids[i], wanted.entry)) {
            const std::shared_ptr<base::Byte[]> copy(new base::Byte[wanted.entry.payload.size()]);
            std::copy(wanted.entry.payload.begin(), wanted.entry.payload.end(), copy.get());
            wanted.entry.payload = {copy.get(), wanted.entry.payload.size()};
            wanted.entry.owner = copy;
            continue;
        }
        Segment* segment = directory_.find(ids[i].record);
        if (segment == nullptr) {
            wanted.entry.damaged = true;
            continue;
        }
        ++segment->readers;
        wanted.segment = directory_.share(*segment);
        wanted.offset = segment->spots.empty()
                            ? 0
                            : offsetBefore(segment->spots, segment->first, ids[i].record);
        wanted.dataEnd = segment->dataEnd;
    }
    reader_.fetch(std::move(job));
}

void LocalLog::release(const MessageId& first, std::uint32_t slots, std::uint32_t count) {
    const std::uint64_t released = std::uint64_t{slots} * count;
    if (builder_.isOpen() && first.record == builder_.index()) {
        builder_.release(released);
        return;
    }
    RecentRecord* record = durable() ? nullptr : recent_.find(first.record);
    if (record != nullptr) {
        record->references -=
            static_cast<std::uint32_t>(std::min<std::uint64_t>(released, record->references));
        if (!record->pushed) {
            if (record->references == 0) {
                unheld_.push_back(first.record); // views of it last until the next turn's verbs
            }
            return;
        }
    }
    Segment* segment = directory_.find(first.record);
    if (segment == nullptr) {
        return; // gone: replay settles again what was settled before the crash
    }
    if (released > segment->references) {
        base::diagnose(base::Severity::error,
                       "more holders let go of " + segment->path + " than it has");
    }
    segment->references -= std::min(released, segment->references);
    if (segment->references == 0) {
        noteEmpty(directory_.share(*segment));
    }
}

// The entry that says why the last holder let go may still be on its way: the segment waits for the
// end of the turn, then for the sync.
void LocalLog::noteEmpty(const std::shared_ptr<Segment>& segment) {
    if (segment->emptySince == 0) {
        segment->emptySince = kUntilSubmit;
        empty_.push_back(segment);
    }
}

void LocalLog::covered(LogIndex below) {
    covered_ = std::max(covered_, below);
    for (const auto& segment : directory_.all()) {
        if (segment->last >= covered_) {
            break;
        }
        if (segment->references == 0 && segment->sealed) {
            noteEmpty(segment);
        }
    }
}

} // namespace millrace::log
