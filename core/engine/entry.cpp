// SPDX-License-Identifier: Apache-2.0
#include "engine/entry.h"

#include "engine/run_codec.h"

namespace millrace::engine {

namespace {

void putNumber(std::string& out, std::uint64_t value) {
    base::Byte raw[kMaxVarintBytes];
    out.append(base::textOf({raw, putVarint(raw, value)}));
}

// Reads numbers forward; ok() is false for good once the bytes end too early.
class NumberReader {
  public:
    explicit NumberReader(base::Bytes bytes)
        : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
    std::uint64_t next() {
        if (!ok_ || at_ == end_) {
            ok_ = false;
            return 0;
        }
        const std::uint64_t value = getVarint(at_, end_);
        ok_ = at_ <= end_;
        return value;
    }
    Run nextRun(base::LogIndex& before) {
        Run run;
        run.first.record = before + next();
        run.first.slot = static_cast<std::uint32_t>(next());
        run.count = static_cast<std::uint32_t>(next() + 1);
        before = run.first.record;
        return run;
    }
    bool ok() const { return ok_; }
    bool atEnd() const { return at_ == end_; }

  private:
    const base::Byte* at_;
    const base::Byte* end_;
    bool ok_ = true;
};

void putRun(std::string& out, const Run& run, base::LogIndex& before) {
    base::Byte raw[3 * kMaxVarintBytes];
    std::size_t size = putVarint(raw, run.first.record - before);
    size += putVarint(raw + size, run.first.slot);
    size += putVarint(raw + size, run.count - 1);
    out.append(base::textOf({raw, size}));
    before = run.first.record;
}

} // namespace

void MessageHead::store(base::Byte* to) const {
    to[0] = exchangeLength;
    to[1] = keyLength;
    to[2] = flags;
    to[3] = 0;
    base::storeLittle(to + 4, holders);
    base::storeLittle(to + 8, propertiesLength);
}

MessageHead MessageHead::load(const base::Byte* from) {
    MessageHead head;
    head.exchangeLength = from[0];
    head.keyLength = from[1];
    head.flags = from[2];
    head.holders = base::loadLittle<std::uint32_t>(from + 4);
    head.propertiesLength = base::loadLittle<std::uint32_t>(from + 8);
    return head;
}

std::optional<MessageEntry> readMessage(base::Bytes payload) {
    if (payload.size() < MessageHead::kBytes) {
        return std::nullopt;
    }
    MessageEntry entry;
    entry.head = MessageHead::load(payload.data());
    base::ByteReader in(payload.subspan(MessageHead::kBytes));
    entry.exchange = base::textOf(in.bytes(entry.head.exchangeLength));
    entry.routingKey = base::textOf(in.bytes(entry.head.keyLength));
    entry.properties = in.bytes(entry.head.propertiesLength);
    entry.rest = in.rest();
    if (!in.ok()) {
        return std::nullopt;
    }
    return entry;
}

void writeLarge(const LargeBody& body, std::string& out) {
    base::ByteWriter writer(out);
    writer.little<std::uint64_t>(body.size);
    writer.little<std::uint32_t>(static_cast<std::uint32_t>(body.pieces.size()));
    for (const base::MessageId& piece : body.pieces) {
        writer.little<std::uint64_t>(piece.record);
        writer.little<std::uint32_t>(piece.slot);
    }
}

std::optional<LargeBody> readLarge(base::Bytes rest) {
    base::ByteReader in(rest);
    LargeBody body;
    body.size = in.little<std::uint64_t>();
    const auto count = in.little<std::uint32_t>();
    if (!in.ok() || in.remaining() != std::size_t{count} * 12) {
        return std::nullopt;
    }
    body.pieces.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        base::MessageId piece;
        piece.record = in.little<std::uint64_t>();
        piece.slot = in.little<std::uint32_t>();
        body.pieces.push_back(piece);
    }
    return body;
}

void SettleWriter::queue(base::QueueId queue, std::uint32_t runs) {
    putNumber(out_, queue);
    putNumber(out_, runs);
    before_ = 0;
}

void SettleWriter::run(const Run& run) {
    putRun(out_, run, before_);
}

bool readSettles(base::Bytes blocks, const SettleVisitor& visitor) {
    NumberReader in(blocks);
    while (in.ok() && !in.atEnd()) {
        const base::QueueId queue = in.next();
        base::LogIndex before = 0;
        for (std::uint64_t runs = in.next(); runs > 0 && in.ok(); --runs) {
            const Run run = in.nextRun(before);
            if (in.ok()) {
                visitor(queue, run);
            }
        }
    }
    return in.ok();
}

void writeMark(const DeliveredMark& mark, std::string& out) {
    putNumber(out, mark.queue);
    putNumber(out, mark.ordinal);
}

std::optional<DeliveredMark> readMark(base::Bytes payload) {
    NumberReader in(payload);
    DeliveredMark mark;
    mark.queue = in.next();
    mark.ordinal = in.next();
    return in.ok() && in.atEnd() ? std::optional(mark) : std::nullopt;
}

void writePurge(const Purge& purge, std::string& out) {
    putNumber(out, purge.queue);
    putNumber(out, purge.upTo.record);
    putNumber(out, purge.upTo.slot);
    base::LogIndex before = 0;
    for (const Run& run : purge.kept) {
        putRun(out, run, before);
    }
}

std::optional<Purge> readPurge(base::Bytes payload) {
    NumberReader in(payload);
    Purge purge;
    purge.queue = in.next();
    purge.upTo.record = in.next();
    purge.upTo.slot = static_cast<std::uint32_t>(in.next());
    base::LogIndex before = 0;
    while (in.ok() && !in.atEnd()) {
        const Run run = in.nextRun(before);
        if (in.ok()) {
            purge.kept.push_back(run);
        }
    }
    return in.ok() ? std::optional(std::move(purge)) : std::nullopt;
}

} // namespace millrace::engine
