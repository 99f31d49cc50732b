// SPDX-License-Identifier: Apache-2.0
#include "log/record_scanner.h"

#include <algorithm>

namespace millrace::log {

RecordScanner::RecordScanner(base::File& file, std::uint64_t salt, std::uint64_t begin,
                             std::uint64_t end, std::size_t window)
    : file_(file), salt_(salt), position_(begin), end_(end), window_(window) {}

std::optional<RecordScanner::Found> RecordScanner::next() {
    bool stepped = false;
    while (position_ + sizeof(RecordHeader) <= end_) {
        const base::Bytes raw = at(position_, sizeof(RecordHeader));
        if (const auto header = parseHeader(raw, salt_, end_ - position_);
            header && header->index > lastIndex_) {
            found_ = {position_, *header, stepped};
            lastIndex_ = header->index;
            position_ += recordBytes(*header);
            return found_;
        }
        stepped = true;
        position_ += 8;
    }
    return std::nullopt;
}

base::Bytes RecordScanner::bytes() {
    return at(found_.offset, recordBytes(found_.header));
}

RecordView RecordScanner::view() {
    return RecordView(found_.header, bytes());
}

base::Bytes RecordScanner::at(std::uint64_t offset, std::size_t length) {
    length = static_cast<std::size_t>(std::min<std::uint64_t>(length, end_ - offset));
    if (offset < bufferedFrom_ || offset + length > bufferedFrom_ + buffered_) {
        const std::size_t wanted = static_cast<std::size_t>(
            std::min<std::uint64_t>(std::max(length, window_), end_ - offset));
        if (wanted > capacity_) {
            buffer_ = std::make_unique_for_overwrite<base::Byte[]>(wanted);
            capacity_ = wanted;
        }
        readOrZero(file_, offset, {buffer_.get(), wanted});
        bufferedFrom_ = offset;
        buffered_ = wanted;
    }
    return {buffer_.get() + (offset - bufferedFrom_), length};
}

void readOrZero(base::File& file, std::uint64_t offset, std::span<base::Byte> out) {
    if (file.read(offset, out)) {
        return;
    }
    while (!out.empty()) {
        const std::size_t piece =
            std::min<std::size_t>(out.size(), kBlockBytes - offset % kBlockBytes);
        if (!file.read(offset, out.first(piece))) {
            std::fill_n(out.begin(), piece, base::Byte{0});
        }
        offset += piece;
        out = out.subspan(piece);
    }
}

} // namespace millrace::log
