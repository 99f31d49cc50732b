// SPDX-License-Identifier: Apache-2.0
// What a power cut leaves of files and names.
#include "support/faulty_disk.h"

#include "support/random.h"

#include <algorithm>

namespace millrace::support {

namespace {

void put(std::string& content, std::uint64_t offset, std::string_view bytes) {
    if (content.size() < offset + bytes.size()) {
        content.resize(offset + bytes.size(), '\0');
    }
    std::copy(bytes.begin(), bytes.end(),
              content.begin() + static_cast<std::string::difference_type>(offset));
}

void putSomeSectors(std::string& content, const FaultyDisk::Inode::Write& write, Random& random) {
    const unsigned percent = static_cast<unsigned>(random.below(101));
    std::uint64_t done = 0;
    while (done < write.bytes.size()) {
        const std::uint64_t at = write.offset + done;
        const std::uint64_t length = std::min<std::uint64_t>(
            FaultyDisk::kSector - at % FaultyDisk::kSector, write.bytes.size() - done);
        if (random.chance(percent)) {
            put(content, at, std::string_view(write.bytes).substr(done, length));
        }
        done += length;
    }
}

} // namespace

std::string folderOf(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string FaultyDisk::surviving(const Inode& inode, Keep keep) {
    if (keep.what == Keep::What::everything) {
        return inode.live;
    }
    std::string content = inode.durable;
    if (keep.what == Keep::What::sectors) {
        Random random(keep.seed);
        for (const Inode::Write& write : inode.unsynced) {
            putSomeSectors(content, write, random);
        }
    }
    return content;
}

FaultyDisk FaultyDisk::afterPowerCut(Keep keep) const {
    Names names = durable_;
    Random random(keep.seed);
    std::size_t kept = 0;
    if (keep.what == Keep::What::sectors) {
        kept = random.below(changes_.size() + 1);
    } else if (keep.what == Keep::What::everything) {
        kept = changes_.size();
    }
    for (std::size_t i = 0; i < kept; ++i) {
        apply(names, changes_[i]);
    }
    FaultyDisk after;
    after.folders_ = folders_;
    for (const auto& [name, inode] : names) {
        auto fresh = std::make_shared<Inode>();
        fresh->live = surviving(*inode, Keep{keep.what, random.next()});
        fresh->durable = fresh->live;
        after.live_.emplace(name, fresh);
    }
    after.durable_ = after.live_;
    return after;
}

FaultyDisk::Handle FaultyDisk::find(const std::string& path) const {
    const auto found = live_.find(path);
    return found == live_.end() ? nullptr : found->second;
}

FaultyDisk::Handle FaultyDisk::create(const std::string& path) {
    changes_.push_back({folderOf(path), "", path, std::make_shared<Inode>()});
    apply(live_, changes_.back());
    return changes_.back().inode;
}

void FaultyDisk::write(Inode& inode, std::uint64_t offset, std::string_view bytes) {
    put(inode.live, offset, bytes);
    inode.unsynced.push_back({offset, std::string(bytes)});
}

void FaultyDisk::sync(Inode& inode) {
    for (const Inode::Write& write : inode.unsynced) {
        put(inode.durable, write.offset, write.bytes);
    }
    inode.unsynced.clear();
}

void FaultyDisk::loseUnsynced(Inode& inode, std::uint64_t seed) {
    inode.durable = surviving(inode, Keep{Keep::What::sectors, seed});
    inode.unsynced.clear();
}

void FaultyDisk::apply(Names& names, const NameChange& change) {
    if (!change.gone.empty()) {
        names.erase(change.gone);
    }
    if (!change.name.empty()) {
        names[change.name] = change.inode;
    }
}

bool FaultyDisk::rename(const std::string& from, const std::string& to) {
    const Handle inode = find(from);
    if (!inode) {
        return false;
    }
    changes_.push_back({folderOf(to), from, to, inode});
    apply(live_, changes_.back());
    return true;
}

bool FaultyDisk::remove(const std::string& path) {
    if (!find(path)) {
        return false;
    }
    changes_.push_back({folderOf(path), path, "", nullptr});
    apply(live_, changes_.back());
    return true;
}

void FaultyDisk::makeFolder(const std::string& folder) {
    for (std::string at = folder; !at.empty(); at = folderOf(at)) {
        folders_.insert(at);
    }
}

std::vector<std::string> FaultyDisk::list(const std::string& folder) const {
    std::vector<std::string> names;
    const auto add = [&](const std::string& path) {
        if (!path.empty() && folderOf(path) == folder) {
            names.push_back(folder.empty() ? path : path.substr(folder.size() + 1));
        }
    };
    for (const auto& [path, inode] : live_) {
        add(path);
    }
    for (const std::string& path : folders_) {
        add(path);
    }
    std::sort(names.begin(), names.end());
    return names;
}

void FaultyDisk::syncDirectory(const std::string& folder) {
    std::vector<NameChange> others;
    for (NameChange& change : changes_) {
        if (change.folder == folder) {
            apply(durable_, change);
        } else {
            others.push_back(std::move(change));
        }
    }
    changes_ = std::move(others);
}

std::uint64_t FaultyDisk::used() const {
    std::uint64_t sum = 0;
    for (const auto& [path, inode] : live_) {
        sum += inode->live.size();
    }
    return sum;
}

} // namespace millrace::support
