// SPDX-License-Identifier: Apache-2.0
// A disk in memory that knows what a power cut would leave: bytes since the last sync of their file
// and directory operations since the last sync of their folder are in doubt. No threads, no
// failures: see faulty_files.h.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::support {

// What of the doubtful survives.
struct Keep {
    enum class What {
        nothing, // only what was synced
        sectors, // a random subset of the 512-byte sectors, and the first few directory operations:
                 // torn
        everything, // a kill of the process alone
    };
    What what = What::nothing;
    std::uint64_t seed = 0; // of the choice of sectors
};

class FaultyDisk {
  public:
    static constexpr std::size_t kSector = 512;

    struct Inode {
        struct Write {
            std::uint64_t offset;
            std::string bytes;
        };
        std::string live;    // what the running system sees
        std::string durable; // what is safe
        std::vector<Write> unsynced;
    };
    using Handle = std::shared_ptr<Inode>;

    FaultyDisk() = default;
    // Files are shared by handles, so a copy would not be another disk.
    FaultyDisk(const FaultyDisk&) = delete;
    FaultyDisk& operator=(const FaultyDisk&) = delete;
    FaultyDisk(FaultyDisk&&) = default;
    FaultyDisk& operator=(FaultyDisk&&) = default;

    // A disk of its own, as the next start would find it.
    FaultyDisk afterPowerCut(Keep keep = {}) const;

    // --- files
    Handle find(const std::string& path) const; // null: no such file
    Handle create(const std::string& path);
    static void write(Inode& inode, std::uint64_t offset, std::string_view bytes);
    static void sync(Inode& inode);
    // As Linux after a failed fdatasync: some sectors made it, the others will never, and later
    // syncs do not tell.
    static void loseUnsynced(Inode& inode, std::uint64_t seed);

    // --- names
    bool rename(const std::string& from, const std::string& to);
    bool remove(const std::string& path);
    void makeFolder(const std::string& folder); // at once durable
    bool hasFolder(const std::string& folder) const { return folders_.count(folder) > 0; }
    std::vector<std::string> list(const std::string& folder) const;
    void syncDirectory(const std::string& folder);

    // Bytes of all files as the running system sees them.
    std::uint64_t used() const;

  private:
    struct NameChange {
        std::string folder;
        std::string gone; // removed or renamed away; may be empty
        std::string name; // made; may be empty
        Handle inode;     // of name
    };
    using Names = std::map<std::string, Handle>;
    static void apply(Names& names, const NameChange& change);
    static std::string surviving(const Inode& inode, Keep keep);

    Names live_;
    Names durable_;
    std::vector<NameChange> changes_; // not synced
    std::set<std::string> folders_;
};

std::string folderOf(const std::string& path);

} // namespace millrace::support
