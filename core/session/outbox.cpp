// SPDX-License-Identifier: Apache-2.0
// Chunks are kept in the order of their bytes, so the one that empties is always the oldest.
#include "session/outbox.h"

#include "base/check.h"
#include "base/limits.h"

#include <algorithm>
#include <utility>

namespace millrace::session {

void Outbox::newChunk() {
    if (firstChunk_ < chunks_.size()) {
        const Byte* begin = chunks_.back().get();
        const auto end = parts_.rend() - static_cast<std::ptrdiff_t>(firstPart_);
        const auto last =
            std::find_if(parts_.rbegin(), end, [](const Part& part) { return !part.owner; });
        if (last != end && last->data >= begin && last->data < begin + limits::kOutboxChunkBytes) {
            last->endsChunk = true;
        } else { // all of it has been sent
            memory_.give(std::move(chunks_.back()));
            chunks_.pop_back();
        }
    }
    chunks_.push_back(memory_.take());
    tailUsed_ = 0;
}

Byte* Outbox::reserve(std::size_t size) {
    MILLRACE_CHECK(size <= limits::kOutboxChunkBytes);
    if (firstChunk_ == chunks_.size() || limits::kOutboxChunkBytes - tailUsed_ < size) {
        newChunk();
    }
    return chunks_.back().get() + tailUsed_;
}

void Outbox::commit(std::size_t size) {
    if (size == 0) {
        return;
    }
    const Byte* at = chunks_.back().get() + tailUsed_;
    const bool joins = firstPart_ < parts_.size() && !parts_.back().owner &&
                       parts_.back().data + parts_.back().size == at;
    if (joins) {
        parts_.back().size += size;
    } else {
        parts_.push_back({at, size, nullptr, 0, false});
    }
    tailUsed_ += size;
    size_ += size;
    appended_ += size;
}

void Outbox::append(Bytes bytes) {
    while (!bytes.empty()) {
        Byte* at = reserve(1);
        const std::size_t count = std::min(bytes.size(), limits::kOutboxChunkBytes - tailUsed_);
        std::memcpy(at, bytes.data(), count);
        commit(count);
        bytes = bytes.subspan(count);
    }
}

void Outbox::refer(Bytes bytes, std::shared_ptr<const void> owner) {
    MILLRACE_CHECK(owner != nullptr);
    if (bytes.empty()) {
        return;
    }
    // An owner is a record or what was read around it: counted once for neighbours out of it.
    const bool same = owner.get() == lastOwner_;
    const std::size_t kept = same ? bytes.size() : std::max(bytes.size(), limits::kRecordBytes);
    lastOwner_ = owner.get();
    memory_.keep(kept);
    parts_.push_back({bytes.data(), bytes.size(), std::move(owner), kept, false});
    size_ += bytes.size();
    appended_ += bytes.size();
}

std::size_t Outbox::gather(std::span<Bytes> out) const {
    const std::size_t count = std::min(out.size(), parts_.size() - firstPart_);
    for (std::size_t i = 0; i < count; ++i) {
        const Part& part = parts_[firstPart_ + i];
        out[i] = {part.data, part.size};
    }
    return count;
}

void Outbox::consumed(std::size_t count) {
    MILLRACE_CHECK(count <= size_);
    size_ -= count;
    while (count > 0) {
        Part& part = parts_[firstPart_];
        if (count < part.size) {
            part.data += count;
            part.size -= count;
            return;
        }
        count -= part.size;
        part.owner.reset();
        memory_.letGo(part.kept);
        if (part.endsChunk) {
            memory_.give(std::move(chunks_[firstChunk_++]));
        }
        ++firstPart_;
    }
    if (size_ == 0) {
        clear();
        return;
    }
    if (firstPart_ >= kForgottenParts && firstPart_ * 2 >= parts_.size()) {
        parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(firstPart_));
        chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(firstChunk_));
        firstPart_ = 0;
        firstChunk_ = 0;
    }
}

void Outbox::clear() {
    for (; firstChunk_ < chunks_.size(); ++firstChunk_) {
        memory_.give(std::move(chunks_[firstChunk_]));
    }
    for (; firstPart_ < parts_.size(); ++firstPart_) {
        memory_.letGo(parts_[firstPart_].kept);
    }
    parts_.clear();
    chunks_.clear();
    if (parts_.capacity() > kKeptParts) {
        parts_.shrink_to_fit(); // an idle connection is to cost about 1 KiB
    }
    lastOwner_ = nullptr;
    firstPart_ = 0;
    firstChunk_ = 0;
    tailUsed_ = 0;
    size_ = 0;
}

} // namespace millrace::session
