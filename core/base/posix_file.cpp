// SPDX-License-Identifier: Apache-2.0
// The POSIX file system. Positional calls only, so one File may be read by several threads; sync()
// is fdatasync and is never retried, because after a failed one the kernel may have dropped the
// pages that it could not write.
#include "base/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace millrace::base {

namespace {

constexpr std::size_t kPartsPerCall = 256; // below every system's IOV_MAX; 4 KiB of stack

Error failed(const std::string& what, const std::string& path, int number = errno) {
    ErrorCode code = ErrorCode::io;
    switch (number) {
    case ENOENT:
        code = ErrorCode::notFound;
        break;
    case EEXIST:
        code = ErrorCode::exists;
        break;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
        code = ErrorCode::full;
        break;
    default:
        break;
    }
    return {code, "cannot " + what + " " + path + ": " + std::strerror(number)};
}

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    int number() const { return number_; }

  private:
    int number_;
};

// Takes `done` bytes off the front of the parts in [first, count); returns the new first.
std::size_t advance(std::span<iovec> parts, std::size_t first, std::size_t done) {
    while (first < parts.size() && done >= parts[first].iov_len) {
        done -= parts[first].iov_len;
        ++first;
    }
    if (done > 0) {
        parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + done;
        parts[first].iov_len -= done;
    }
    return first;
}

class PosixFile final : public File {
  public:
    PosixFile(Descriptor descriptor, std::string path)
        : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

    Status write(std::uint64_t offset, std::span<const Bytes> parts) override {
        std::array<iovec, kPartsPerCall> batch{};
        std::size_t count = 0;
        for (const Bytes& part : parts) {
            if (part.empty()) {
                continue;
            }
            // writev's interface is not const, its behaviour is.
            batch[count++] = {const_cast<Byte*>(part.data()), part.size()};
            if (count == batch.size()) {
                if (Status done = writeBatch(offset, {batch.data(), count}); !done) {
                    return done;
                }
                count = 0;
            }
        }
        return writeBatch(offset, {batch.data(), count});
    }

    Status read(std::uint64_t offset, std::span<Byte> out) override {
        while (!out.empty()) {
            const ssize_t got =
                ::pread(descriptor_.number(), out.data(), out.size(), static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR) {
                continue;
            }
            if (got < 0) {
                return failed("read", path_);
            }
            if (got == 0) {
                return Error{ErrorCode::damaged, "cannot read " + path_ + " at " +
                                                     std::to_string(offset) +
                                                     ": the file ends before"};
            }
            offset += static_cast<std::uint64_t>(got);
            out = out.subspan(static_cast<std::size_t>(got));
        }
        return {};
    }

    Status sync() override {
        if (::fdatasync(descriptor_.number()) != 0) {
            return failed("sync", path_);
        }
        return {};
    }

    Result<std::uint64_t> size() const override {
        struct stat about {};
        if (::fstat(descriptor_.number(), &about) != 0) {
            return failed("look at", path_);
        }
        return static_cast<std::uint64_t>(about.st_size);
    }

    void forget(std::uint64_t offset, std::uint64_t length) override {
        ::posix_fadvise(descriptor_.number(), static_cast<off_t>(offset),
                        static_cast<off_t>(length), POSIX_FADV_DONTNEED);
    }

  private:
    // Advances `offset` by what it has written. The kernel may take less than asked: near a full
    // disk, or when a signal arrives.
    Status writeBatch(std::uint64_t& offset, std::span<iovec> parts) {
        std::size_t first = 0;
        while (first < parts.size()) {
            const ssize_t done =
                ::pwritev(descriptor_.number(), parts.data() + first,
                          static_cast<int>(parts.size() - first), static_cast<off_t>(offset));
            if (done < 0 && errno == EINTR) {
                continue;
            }
            if (done <= 0) {
                return failed("write", path_, done < 0 ? errno : EIO);
            }
            offset += static_cast<std::uint64_t>(done);
            first = advance(parts, first, static_cast<std::size_t>(done));
        }
        return {};
    }

    Descriptor descriptor_;
    std::string path_;
};

int flagsOf(OpenMode mode) {
    switch (mode) {
    case OpenMode::read:
        return O_RDONLY;
    case OpenMode::readWrite:
        return O_RDWR;
    case OpenMode::create:
        break;
    }
    return O_RDWR | O_CREAT | O_EXCL;
}

Result<Descriptor> openRaw(const std::string& path, int flags, const std::string& what) {
    for (;;) {
        const int number = ::open(path.c_str(), flags | O_CLOEXEC, 0640);
        if (number >= 0) {
            return Descriptor(number);
        }
        if (errno != EINTR) {
            return failed(what, path);
        }
    }
}

Status syncFolder(const std::string& folder) {
    Result<Descriptor> opened = openRaw(folder, O_RDONLY | O_DIRECTORY, "open the folder");
    if (!opened) {
        return opened.error();
    }
    if (::fsync(opened->number()) != 0) {
        return failed("sync the folder", folder);
    }
    return {};
}

// Makes the folder and its parents, each synced into its own parent: else a power cut could take
// the folder with all files in it.
Status makeFolder(const std::string& folder) {
    std::size_t end = 0;
    while (end != std::string::npos) {
        end = folder.find('/', end + 1);
        const std::string path = folder.substr(0, end);
        if (::mkdir(path.c_str(), 0750) == 0) {
            const std::size_t slash = path.find_last_of('/');
            const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
            if (Status synced = syncFolder(parent); !synced) {
                return synced;
            }
        } else if (errno != EEXIST && errno != EISDIR && end == std::string::npos) {
            return failed("make the folder", folder);
        }
    }
    return {};
}

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

class PosixFileSystem final : public FileSystem {
  public:
    Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
        Result<Descriptor> opened =
            openRaw(path, flagsOf(mode), mode == OpenMode::create ? "create" : "open");
        if (!opened) {
            return opened.error();
        }
        return std::unique_ptr<File>(std::make_unique<PosixFile>(std::move(opened).value(), path));
    }

    Status rename(const std::string& from, const std::string& to) override {
        if (::rename(from.c_str(), to.c_str()) != 0) {
            return failed("rename to " + to, from);
        }
        return {};
    }

    Status remove(const std::string& path) override {
        if (::unlink(path.c_str()) != 0) {
            return failed("remove", path);
        }
        return {};
    }

    Result<std::vector<std::string>> list(const std::string& folder) override {
        DIR* open = ::opendir(folder.c_str());
        if (open == nullptr && errno == ENOENT) {
            if (Status made = makeFolder(folder); !made) {
                return made.error();
            }
            open = ::opendir(folder.c_str());
        }
        if (open == nullptr) {
            return failed("list the folder", folder);
        }
        const std::unique_ptr<DIR, CloseFolder> directory(open);
        std::vector<std::string> names;
        errno = 0;
        while (const dirent* entry = ::readdir(directory.get())) {
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") {
                names.emplace_back(name);
            }
            errno = 0;
        }
        if (errno != 0) {
            return failed("list the folder", folder);
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    Status syncDirectory(const std::string& folder) override { return syncFolder(folder); }

    Result<std::uint64_t> freeSpace(const std::string& folder) override {
        struct statvfs about {};
        if (::statvfs(folder.c_str(), &about) != 0) {
            return failed("ask for the free space of", folder);
        }
        return std::uint64_t{about.f_bavail} * about.f_frsize;
    }
};

} // namespace

FileSystem& systemFiles() {
    static PosixFileSystem instance;
    return instance;
}

} // namespace millrace::base
