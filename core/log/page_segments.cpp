// SPDX-License-Identifier: Apache-2.0
// Making, finding, recycling and removing the checkpoint's segment files.
#include "log/page_segments.h"

#include "base/crc32c.h"
#include "base/limits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace millrace::log {

using base::Error;
using base::ErrorCode;
using base::Status;

namespace {

constexpr std::string_view kPrefix = "page-";

std::uint32_t headerCrc(const PageSegmentHeader& header) {
    const auto* raw = reinterpret_cast<const base::Byte*>(&header);
    return base::crc32c({raw + 12, sizeof header - 12});
}

// 0: not a segment's name.
std::uint32_t numberOf(std::string_view name) {
    if (!name.starts_with(kPrefix)) {
        return 0;
    }
    name.remove_prefix(kPrefix.size());
    std::uint32_t number = 0;
    const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
    return fault == std::errc() && end == name.data() + name.size() ? number : 0;
}

} // namespace

std::string PageSegments::nameOf(std::uint32_t number) {
    char name[16];
    std::snprintf(name, sizeof name, "%08u", number);
    return std::string(kPrefix) + name;
}

std::string PageSegments::pathOf(std::uint32_t number) const {
    return folder_ + "/" + nameOf(number);
}

Status PageSegments::open() {
    const auto names = files_.list(folder_);
    if (!names) {
        return names.error();
    }
    for (const std::string& name : names.value()) {
        const std::uint32_t number = numberOf(name);
        if (number == 0) {
            continue;
        }
        all_.insert(number);
        auto file = openToRead(number);
        if (!file) {
            return file.error();
        }
        PageSegmentHeader header;
        const auto size = (*file)->size();
        if (!size) {
            return size.error();
        }
        const Status got =
            (*file)->read(0, {reinterpret_cast<base::Byte*>(&header), sizeof header});
        const bool known =
            got.ok() && header.magic == kPageSegmentMagic && header.crc == headerCrc(header);
        if (known && (header.version > kCheckpointVersion || header.requiredFeatures != 0)) {
            return Error{ErrorCode::unsupported,
                         pathOf(number) + " was written by a newer Millrace (version " +
                             std::to_string(header.version) + ", features " +
                             std::to_string(header.requiredFeatures) + ")"};
        }
        // A file whose making was cut short. It holds no page, or the round that names it will say
        // that it is damaged.
        if (!known || size.value() != limits::kPageSegmentBytes) {
            broken_.insert(number);
        }
    }
    return {};
}

base::Result<std::unique_ptr<base::File>> PageSegments::openToRead(std::uint32_t number) const {
    return files_.open(pathOf(number), base::OpenMode::read);
}

base::Result<std::string> PageSegments::readAll(std::uint32_t number) const {
    auto file = openToRead(number);
    if (!file) {
        return file.error();
    }
    const auto size = (*file)->size();
    if (!size) {
        return size.error();
    }
    std::string bytes(std::min<std::uint64_t>(size.value(), limits::kPageSegmentBytes), '\0');
    if (Status got = (*file)->read(0, {reinterpret_cast<base::Byte*>(bytes.data()), bytes.size()});
        !got) {
        return got.error();
    }
    (*file)->forget(0, bytes.size());
    return bytes;
}

Status PageSegments::fill(base::File& file, std::uint32_t number) {
    static constexpr std::size_t kPiece = 256 * 1024;
    static_assert(limits::kPageSegmentBytes % kPiece == 0);
    const std::string zeros(kPiece, '\0');
    const base::Bytes piece = base::bytesOf(zeros);
    for (std::uint64_t at = 0; at < limits::kPageSegmentBytes; at += kPiece) {
        if (Status done = file.write(at, {&piece, 1}); !done) {
            return done;
        }
    }
    PageSegmentHeader header;
    header.number = number;
    header.fileBytes = limits::kPageSegmentBytes;
    header.crc = headerCrc(header);
    const base::Bytes raw{reinterpret_cast<const base::Byte*>(&header), sizeof header};
    if (Status done = file.write(0, {&raw, 1}); !done) {
        return done;
    }
    return file.sync();
}

base::Result<std::uint32_t> PageSegments::make() {
    std::uint32_t number = 1;
    while (all_.count(number) != 0) {
        ++number;
    }
    auto file = files_.open(pathOf(number), base::OpenMode::create);
    if (!file) {
        return file.error();
    }
    if (Status filled = fill(**file, number); !filled) {
        // Gives back what it took; that this may fail too changes nothing.
        [[maybe_unused]] const bool removed = files_.remove(pathOf(number)).ok();
        return filled.error();
    }
    all_.insert(number);
    if (Status named = files_.syncDirectory(folder_); !named) {
        return named.error();
    }
    return number;
}

base::Result<std::unique_ptr<base::File>> PageSegments::take(std::uint32_t& number) {
    if (free_.empty()) {
        const auto made = make();
        if (!made) {
            return made.error();
        }
        free_.insert(made.value());
    }
    number = *free_.begin();
    free_.erase(free_.begin());
    return files_.open(pathOf(number), base::OpenMode::readWrite);
}

Status PageSegments::keepOnly(const std::set<std::uint32_t>& needed, std::uint32_t active) {
    bool removed = false;
    std::set<std::uint32_t> kept;
    free_.clear();
    for (const std::uint32_t number : all_) {
        if (number == active || needed.count(number) != 0) {
            kept.insert(number);
            continue;
        }
        if (free_.empty() && broken_.count(number) == 0) {
            kept.insert(number);
            free_.insert(number);
            continue;
        }
        if (Status gone = files_.remove(pathOf(number)); !gone) {
            return gone;
        }
        broken_.erase(number);
        removed = true;
    }
    all_ = std::move(kept);
    if (removed) {
        if (Status named = files_.syncDirectory(folder_); !named) {
            return named;
        }
    }
    if (!free_.empty() || active == 0) {
        return {};
    }
    const auto made = make();
    if (made) {
        free_.insert(made.value());
    }
    return made || made.error().code == ErrorCode::full ? Status() : Status(made.error());
}

} // namespace millrace::log
