// SPDX-License-Identifier: Apache-2.0
// Reads roots, buckets and pages, and believes none of them without its checksum.
#include "log/checkpoint_reader.h"

#include "base/crc32c.h"
#include "base/diagnostics.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace millrace::log {

using base::Byte;
using base::Bytes;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

enum class Slot { empty, root, damaged };

struct Roots {
    std::array<Slot, 2> slots{Slot::empty, Slot::empty};
    std::array<Root, 2> roots;
};

template <typename T> std::uint32_t crcBehind(const T& header, std::size_t skip) {
    return base::crc32c({reinterpret_cast<const Byte*>(&header) + skip, sizeof header - skip});
}

Error damagedAt(const PageSpot& spot, const char* what) {
    return {ErrorCode::damaged, PageSegments::nameOf(spot.segment) + " at " +
                                    std::to_string(spot.offset) + ": " + what};
}

Result<Roots> readRoots(base::FileSystem& files, const std::string& folder,
                        const PageSegments& segments) {
    Roots out;
    const std::string path = folder + "/" + kRootsFile;
    auto file = files.open(path, base::OpenMode::read);
    if (!file && file.error().code != ErrorCode::notFound) {
        return file.error();
    }
    std::array<Byte, 2 * kRootSlotBytes> raw{};
    const Status got = file ? (*file)->read(0, raw) : Status(file.error());
    if (!got) {
        // The file is made and synced before the first segment, so only a first start may find it
        // missing or short.
        const bool cut =
            got.error().code == ErrorCode::notFound || got.error().code == ErrorCode::damaged;
        if (cut && segments.empty()) {
            return out;
        }
        return Error{cut ? ErrorCode::damaged : got.error().code,
                     path + ", the start of the checkpoint: " + got.error().text};
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const Byte* slot = raw.data() + i * kRootSlotBytes;
        if (std::all_of(slot, slot + kRootSlotBytes, [](Byte b) { return b == 0; })) {
            continue;
        }
        Root& root = out.roots[i];
        std::memcpy(&root, slot, sizeof root);
        out.slots[i] =
            root.magic == kRootMagic && root.crc == rootCrc(root) ? Slot::root : Slot::damaged;
        const bool newer = root.version > kCheckpointVersion || root.requiredFeatures != 0 ||
                           root.buckets != kBuckets;
        if (out.slots[i] == Slot::root && newer) {
            return Error{ErrorCode::unsupported, path +
                                                     " was written by a newer Millrace (version " +
                                                     std::to_string(root.version) + ")"};
        }
    }
    return out;
}

Result<std::vector<BucketEntry>> readBucket(const PageSegments& segments, const PageSpot& spot,
                                            std::size_t number) {
    auto file = segments.openToRead(spot.segment);
    if (!file) {
        return Error{ErrorCode::damaged, file.error().text};
    }
    std::string raw(pageRecordBytes(spot.length), '\0');
    if (Status got = (*file)->read(spot.offset, {reinterpret_cast<Byte*>(raw.data()), raw.size()});
        !got) {
        return Error{ErrorCode::damaged, got.error().text};
    }
    PageHeader header;
    PageSpot inRaw = spot;
    inRaw.offset = 0;
    const auto payload = pageRecordAt(raw, inRaw, header);
    if (!payload) {
        return damagedAt(spot, "the list of pages is damaged");
    }
    if (header.type != PageType::bucket || header.object != number ||
        spot.length % sizeof(BucketEntry) != 0) {
        return damagedAt(spot, "is not the list of pages that the round names");
    }
    std::vector<BucketEntry> entries(spot.length / sizeof(BucketEntry));
    std::memcpy(entries.data(), payload.value().data(), spot.length);
    return entries;
}

Result<CheckpointImage> loadRound(const PageSegments& segments, const Root& root) {
    CheckpointImage image;
    image.round = root.round;
    image.replayFrom = image.neededFrom = root.replayFrom;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        image.table.adoptBucket(i, root.bucket[i]);
        if (root.bucket[i].segment == 0) {
            continue;
        }
        const auto entries = readBucket(segments, root.bucket[i], i);
        if (!entries) {
            return entries.error();
        }
        for (const BucketEntry& entry : entries.value()) {
            image.table.adopt(i, entry);
        }
    }
    const auto note = [&](const CheckpointStore::Page& page) {
        image.mostReflected = std::max(image.mostReflected, page.reflects);
    };
    if (Status whole = readPages(segments, image.table, note); !whole) {
        return whole.error();
    }
    return image;
}

// What only the round before needs stays until two more rounds have finished, so that there is
// always one to fall back to.
Status keepOlder(const PageSegments& segments, const Root& chosen, const Root& older,
                 CheckpointImage& image) {
    std::vector<PageSpot> places;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        const PageSpot& spot = older.bucket[i];
        if (spot.segment == 0 || spot == chosen.bucket[i]) {
            continue;
        }
        places.push_back(spot);
        const auto entries = readBucket(segments, spot, i);
        if (!entries) {
            return entries.error();
        }
        for (const BucketEntry& entry : entries.value()) {
            const auto& pages = image.table.pages(i);
            const auto same = pages.find({entry.kind, entry.object, {entry.record, entry.slot}});
            if (same == pages.end() || same->second.spot != entry.spot) {
                places.push_back(entry.spot);
            }
        }
    }
    for (const PageSpot& place : places) {
        image.table.adoptOld(place);
    }
    return {};
}

} // namespace

std::uint32_t rootCrc(const Root& root) {
    return crcBehind(root, 12);
}

void appendPageRecord(std::string& out, PageHeader header, Bytes payload) {
    header.length = static_cast<std::uint32_t>(payload.size());
    header.payloadCrc = base::crc32c(payload);
    header.crc = crcBehind(header, 8);
    const std::size_t end = out.size() + pageRecordBytes(payload.size());
    out.append(reinterpret_cast<const char*>(&header), sizeof header);
    out.append(base::textOf(payload));
    out.resize(end, '\0');
}

Result<Bytes> pageRecordAt(std::string_view segment, const PageSpot& spot, PageHeader& header) {
    if (segment.size() < spot.offset + pageRecordBytes(spot.length)) {
        return damagedAt(spot, "the file ends before the record does");
    }
    std::memcpy(&header, segment.data() + spot.offset, sizeof header);
    if (header.magic != kPageMagic || header.crc != crcBehind(header, 8)) {
        return damagedAt(spot, "the header of the record is damaged");
    }
    if (header.length != spot.length || header.payloadCrc != spot.crc) {
        return damagedAt(spot, "is another record than the round names");
    }
    const Bytes payload = base::bytesOf(segment.substr(spot.offset + sizeof header, spot.length));
    if (base::crc32c(payload) != spot.crc) {
        return damagedAt(spot, "the bytes of the record do not match their checksum");
    }
    return payload;
}

Status readPages(const PageSegments& segments, const PageTable& table,
                 const std::function<void(const CheckpointStore::Page&)>& visitor) {
    struct Wanted {
        const PageKey* key;
        const PageTable::Placed* placed;
    };
    std::vector<Wanted> wanted;
    wanted.reserve(table.size());
    for (std::size_t i = 0; i < kBuckets; ++i) {
        for (const auto& [key, placed] : table.pages(i)) {
            wanted.push_back({&key, &placed});
        }
    }
    std::sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) {
        return std::pair(a.placed->spot.segment, a.placed->spot.offset) <
               std::pair(b.placed->spot.segment, b.placed->spot.offset);
    });
    std::uint32_t current = 0;
    std::string bytes;
    for (const Wanted& want : wanted) {
        const PageSpot& spot = want.placed->spot;
        if (spot.segment != current) {
            auto read = segments.readAll(spot.segment);
            if (!read) {
                return Error{read.error().code == ErrorCode::notFound ? ErrorCode::damaged
                                                                      : read.error().code,
                             "the page of " + describe(*want.key) + ": " + read.error().text};
            }
            bytes = std::move(read).value();
            current = spot.segment;
        }
        PageHeader header;
        const auto payload = pageRecordAt(bytes, spot, header);
        if (!payload) {
            return Error{ErrorCode::damaged,
                         "the page of " + describe(*want.key) + ": " + payload.error().text};
        }
        const PageKey found{header.kind, header.object, {header.record, header.slot}};
        if (header.type != PageType::page || found != *want.key ||
            header.sequence != want.placed->sequence) {
            return Error{ErrorCode::damaged,
                         "the page of " + describe(*want.key) + ": " +
                             damagedAt(spot, "is another page than the round names").text};
        }
        visitor({found, header.reflects, payload.value()});
    }
    return {};
}

Result<CheckpointImage> readCheckpoint(base::FileSystem& files, const std::string& folder,
                                       const PageSegments& segments) {
    const auto read = readRoots(files, folder, segments);
    if (!read) {
        return read.error();
    }
    const Roots& roots = read.value();
    std::vector<std::size_t> order;
    std::optional<Error> worst;
    std::uint64_t newestRound = 0;
    std::uint64_t nextSequence = 1;
    for (std::size_t i = 0; i < 2; ++i) {
        if (roots.slots[i] == Slot::root) {
            order.push_back(i);
            newestRound = std::max(newestRound, roots.roots[i].round);
            nextSequence = std::max(nextSequence, roots.roots[i].nextSequence);
        }
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return roots.roots[a].round > roots.roots[b].round;
    });
    const auto damagedSlots = std::count(roots.slots.begin(), roots.slots.end(), Slot::damaged);
    for (std::size_t at = 0; at < order.size(); ++at) {
        const Root& root = roots.roots[order[at]];
        auto image = loadRound(segments, root);
        if (!image) {
            if (image.error().code != ErrorCode::damaged) {
                return image.error();
            }
            base::diagnose(base::Severity::error, "round " + std::to_string(root.round) +
                                                      " of the checkpoint in " + folder +
                                                      " is damaged: " + image.error().text);
            worst = image.error();
            continue;
        }
        image->slot = order[at];
        if (at + 1 < order.size()) {
            const Root& older = roots.roots[order[at + 1]];
            if (keepOlder(segments, root, older, *image)) {
                image->neededFrom = std::min(older.replayFrom, root.replayFrom);
            }
        }
        image->newestRound = newestRound;
        image->nextSequence = nextSequence;
        return image;
    }
    // One finished round, and no second one to fall back to: then the log still has everything, and
    // replay begins at its start.
    if (order.size() + static_cast<std::size_t>(damagedSlots) <= 1) {
        CheckpointImage fresh;
        fresh.newestRound = newestRound;
        fresh.nextSequence = nextSequence;
        fresh.slot = roots.slots[0] == Slot::empty ? 1 : 0;
        return fresh;
    }
    return Error{ErrorCode::damaged, "both rounds of the checkpoint in " + folder + " are damaged" +
                                         (worst ? ": " + worst->text : std::string())};
}

} // namespace millrace::log
