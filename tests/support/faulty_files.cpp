// SPDX-License-Identifier: Apache-2.0
// FaultyDisk behind base::FileSystem, with failures, counts and the hook at sync points.
#include "support/faulty_files.h"

#include <algorithm>

namespace millrace::support {

using base::Error;
using base::ErrorCode;
using base::Status;

class FaultyFiles::OpenFile final : public base::File {
  public:
    OpenFile(FaultyFiles& files, FaultyDisk::Handle inode, std::string path, bool writable)
        : files_(files), inode_(std::move(inode)), path_(std::move(path)), life_(files.life_),
          writable_(writable) {}

    Status write(std::uint64_t offset, std::span<const base::Bytes> parts) override {
        std::string bytes;
        for (const base::Bytes part : parts) {
            bytes.append(base::textOf(part));
        }
        const std::lock_guard lock(files_.mutex_);
        if (Status dead = alive(); !dead.ok()) {
            return dead;
        }
        if (!writable_) {
            return Error{ErrorCode::io, path_ + " is open for reading only"};
        }
        const auto failure = files_.countAndFail(Call::write);
        const std::uint64_t room = roomFor(offset);
        const std::uint64_t wanted = failure ? bytes.size() / 2 : bytes.size();
        const std::string_view fits =
            std::string_view(bytes).substr(0, std::min<std::uint64_t>(room, wanted));
        FaultyDisk::write(*inode_, offset, fits);
        files_.bytesWritten_ += fits.size();
        if (failure) {
            return *failure;
        }
        return fits.size() < bytes.size() ? Status(full()) : Status();
    }

    Status read(std::uint64_t offset, std::span<base::Byte> out) override {
        const std::lock_guard lock(files_.mutex_);
        if (Status dead = alive(); !dead.ok()) {
            return dead;
        }
        if (const auto failure = files_.countAndFail(Call::read)) {
            return *failure;
        }
        const std::string& live = inode_->live;
        if (offset > live.size() || live.size() - offset < out.size()) {
            return Error{ErrorCode::damaged, path_ + " ends before the bytes to read"};
        }
        std::copy_n(live.begin() + static_cast<std::string::difference_type>(offset), out.size(),
                    out.begin());
        return {};
    }

    Status sync() override {
        files_.runHook(path_);
        const std::lock_guard lock(files_.mutex_);
        if (Status dead = alive(); !dead.ok()) {
            return dead;
        }
        if (const auto failure = files_.countAndFail(Call::sync)) {
            FaultyDisk::loseUnsynced(*inode_, files_.overall_);
            return *failure;
        }
        FaultyDisk::sync(*inode_);
        return {};
    }

    base::Result<std::uint64_t> size() const override {
        const std::lock_guard lock(files_.mutex_);
        if (Status dead = alive(); !dead.ok()) {
            return dead.error();
        }
        return std::uint64_t{inode_->live.size()};
    }

    void forget(std::uint64_t, std::uint64_t) override {}

  private:
    Status alive() const {
        return life_ == files_.life_ ? Status() : Status(Error{ErrorCode::io, "the power is off"});
    }
    // Bytes that may be written from offset on: what lies within the file, and what the disk still
    // has.
    std::uint64_t roomFor(std::uint64_t offset) const {
        const std::uint64_t used = files_.disk_.used();
        const std::uint64_t left = files_.capacity_ > used ? files_.capacity_ - used : 0;
        const std::uint64_t end = inode_->live.size();
        if (offset > end) {
            return left > offset - end ? left - (offset - end) : 0;
        }
        return left > std::numeric_limits<std::uint64_t>::max() - (end - offset)
                   ? left
                   : left + (end - offset);
    }
    Error full() const { return {ErrorCode::full, path_ + ": No space left on device"}; }

    FaultyFiles& files_;
    FaultyDisk::Handle inode_;
    std::string path_;
    std::uint64_t life_;
    bool writable_;
};

FaultyFiles::FaultyFiles() = default;
FaultyFiles::FaultyFiles(FaultyDisk disk) : disk_(std::move(disk)) {}
FaultyFiles::~FaultyFiles() = default;

std::optional<Error> FaultyFiles::Plan::hit(std::uint64_t count) const {
    const bool hit = nth != 0 && (times == Times::once ? count == nth : count >= nth);
    return hit ? std::optional(error) : std::nullopt;
}

std::optional<Error> FaultyFiles::countAndFail(Call call) {
    const auto kind = static_cast<std::size_t>(call);
    ++counts_[kind];
    ++overall_;
    if (auto error = plans_[kind].hit(counts_[kind])) {
        return error;
    }
    return overallPlan_.hit(overall_);
}

void FaultyFiles::runHook(const std::string& path) {
    SyncHook hook;
    {
        const std::lock_guard lock(mutex_);
        hook = hook_;
    }
    if (hook) {
        hook(path);
    }
}

base::Result<std::unique_ptr<base::File>> FaultyFiles::open(const std::string& path,
                                                            base::OpenMode mode) {
    const std::lock_guard lock(mutex_);
    if (const auto failure = countAndFail(Call::open)) {
        return *failure;
    }
    FaultyDisk::Handle inode = disk_.find(path);
    if (mode == base::OpenMode::create) {
        if (inode) {
            return Error{ErrorCode::exists, path + " exists already"};
        }
        if (!folderOf(path).empty() && !disk_.hasFolder(folderOf(path))) {
            return Error{ErrorCode::notFound, "no folder " + folderOf(path)};
        }
        inode = disk_.create(path);
    }
    if (!inode) {
        return Error{ErrorCode::notFound, path + " does not exist"};
    }
    return std::unique_ptr<base::File>(
        std::make_unique<OpenFile>(*this, inode, path, mode != base::OpenMode::read));
}

Status FaultyFiles::rename(const std::string& from, const std::string& to) {
    const std::lock_guard lock(mutex_);
    if (const auto failure = countAndFail(Call::rename)) {
        return *failure;
    }
    return disk_.rename(from, to) ? Status()
                                  : Status(Error{ErrorCode::notFound, from + " does not exist"});
}

Status FaultyFiles::remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (const auto failure = countAndFail(Call::remove)) {
        return *failure;
    }
    return disk_.remove(path) ? Status()
                              : Status(Error{ErrorCode::notFound, path + " does not exist"});
}

base::Result<std::vector<std::string>> FaultyFiles::list(const std::string& folder) {
    const std::lock_guard lock(mutex_);
    if (const auto failure = countAndFail(Call::list)) {
        return *failure;
    }
    disk_.makeFolder(folder);
    return disk_.list(folder);
}

Status FaultyFiles::syncDirectory(const std::string& folder) {
    runHook(folder);
    const std::lock_guard lock(mutex_);
    if (const auto failure = countAndFail(Call::syncDirectory)) {
        return *failure;
    }
    disk_.syncDirectory(folder);
    return {};
}

base::Result<std::uint64_t> FaultyFiles::freeSpace(const std::string&) {
    const std::lock_guard lock(mutex_);
    if (const auto failure = countAndFail(Call::freeSpace)) {
        return *failure;
    }
    const std::uint64_t used = disk_.used();
    return capacity_ > used ? capacity_ - used : std::uint64_t{0};
}

void FaultyFiles::crash(Keep keep) {
    const std::lock_guard lock(mutex_);
    disk_ = disk_.afterPowerCut(keep);
    ++life_;
}

FaultyDisk FaultyFiles::afterPowerCut(Keep keep) const {
    const std::lock_guard lock(mutex_);
    return disk_.afterPowerCut(keep);
}

void FaultyFiles::onSync(SyncHook hook) {
    const std::lock_guard lock(mutex_);
    hook_ = std::move(hook);
}

void FaultyFiles::failNth(Call call, std::uint64_t n, Error error, Times times) {
    const std::lock_guard lock(mutex_);
    const auto kind = static_cast<std::size_t>(call);
    plans_[kind] = Plan{counts_[kind] + n, times, std::move(error)};
}

void FaultyFiles::failNthOverall(std::uint64_t n, Error error, Times times) {
    const std::lock_guard lock(mutex_);
    overallPlan_ = Plan{overall_ + n, times, std::move(error)};
}

void FaultyFiles::heal() {
    const std::lock_guard lock(mutex_);
    plans_ = {};
    overallPlan_ = {};
}

void FaultyFiles::setCapacity(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    capacity_ = bytes;
}

std::uint64_t FaultyFiles::count(Call call) const {
    const std::lock_guard lock(mutex_);
    return counts_[static_cast<std::size_t>(call)];
}

std::uint64_t FaultyFiles::callsOverall() const {
    const std::lock_guard lock(mutex_);
    return overall_;
}

std::uint64_t FaultyFiles::bytesWritten() const {
    const std::lock_guard lock(mutex_);
    return bytesWritten_;
}

std::uint64_t FaultyFiles::used() const {
    const std::lock_guard lock(mutex_);
    return disk_.used();
}

std::string FaultyFiles::content(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const FaultyDisk::Handle inode = disk_.find(path);
    MILLRACE_CHECK(inode);
    return inode->live;
}

void FaultyFiles::flipBit(const std::string& path, std::uint64_t offset, unsigned bit) {
    const std::lock_guard lock(mutex_);
    const FaultyDisk::Handle inode = disk_.find(path);
    MILLRACE_CHECK(inode && offset < inode->live.size());
    inode->live[offset] = static_cast<char>(inode->live[offset] ^ (1 << bit));
    if (offset < inode->durable.size()) {
        inode->durable[offset] = static_cast<char>(inode->durable[offset] ^ (1 << bit));
    }
}

void FaultyFiles::setContent(const std::string& path, std::string bytes) {
    const std::lock_guard lock(mutex_);
    disk_.makeFolder(folderOf(path));
    FaultyDisk::Handle inode = disk_.find(path);
    if (!inode) {
        inode = disk_.create(path);
        disk_.syncDirectory(folderOf(path));
    }
    inode->live = inode->durable = std::move(bytes);
    inode->unsynced.clear();
}

} // namespace millrace::support
