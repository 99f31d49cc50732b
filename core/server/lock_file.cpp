// SPDX-License-Identifier: Apache-2.0
// The lock file: flock for exclusion, key = value lines for people and for `millrace status`.
#include "server/lock_file.h"

#include "server/config.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace millrace::server {

namespace {

std::string pathIn(const std::string& dataDirectory) {
    return dataDirectory + "/millrace.lock";
}

std::string contentOf(int descriptor) {
    std::string content(4096, '\0');
    const ssize_t size = ::pread(descriptor, content.data(), content.size(), 0);
    content.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return content;
}

LockHolder parse(std::string_view content) {
    LockHolder holder;
    while (!content.empty()) {
        const std::size_t end = std::min(content.find('\n'), content.size());
        if (auto line = parseConfigLine(content.substr(0, end)); line.ok()) {
            if (line->key == "pid") {
                holder.pid = std::strtoll(line->value.c_str(), nullptr, 10);
            } else if (line->key == "version") {
                holder.version = line->value;
            } else if (line->key == "listener") {
                holder.listeners.push_back(line->value);
            }
        }
        content.remove_prefix(std::min(end + 1, content.size()));
    }
    return holder;
}

} // namespace

LockFile::LockFile(net::Socket file, LockHolder content)
    : file_(std::move(file)), content_(std::move(content)) {}

base::Result<LockFile> LockFile::acquire(const std::string& dataDirectory, std::string version) {
    std::error_code failed;
    if (std::filesystem::create_directories(dataDirectory, failed)) {
        // Messages of others are nobody else's business.
        std::filesystem::permissions(dataDirectory, std::filesystem::perms::owner_all, failed);
    }
    if (failed) {
        return base::Error{base::ErrorCode::io, "cannot make the data directory " + dataDirectory +
                                                    ": " + failed.message()};
    }
    const std::string path = pathIn(dataDirectory);
    net::Socket file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file) {
        return net::systemError("cannot open the lock file " + path);
    }
    if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0) {
        const LockHolder other = parse(contentOf(file.descriptor()));
        return base::Error{base::ErrorCode::locked,
                           "the data directory " + dataDirectory +
                               " is in use by another server, process " +
                               std::to_string(other.pid) + " (" + path +
                               "); stop it first, or choose another directory with --data"};
    }
    LockFile lock(std::move(file), {::getpid(), std::move(version), {}});
    if (auto written = lock.write(); !written) {
        return written.error();
    }
    return lock;
}

base::Result<LockHolder> LockFile::holder(const std::string& dataDirectory) {
    const std::string path = pathIn(dataDirectory);
    const net::Socket file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno == EACCES) {
        return base::Error{base::ErrorCode::io, "not permitted to read " + path};
    }
    // The shared lock is only tried: whoever gets it has found that no server holds the exclusive
    // one.
    if (!file || ::flock(file.descriptor(), LOCK_SH | LOCK_NB) == 0) {
        return base::Error{base::ErrorCode::notFound,
                           "no server is running on the data directory " + dataDirectory};
    }
    return parse(contentOf(file.descriptor()));
}

base::Status LockFile::setListeners(std::vector<std::string> listeners) {
    content_.listeners = std::move(listeners);
    return write();
}

base::Status LockFile::write() const {
    std::string text =
        "pid = " + std::to_string(content_.pid) + "\nversion = " + content_.version + "\n";
    for (const std::string& listener : content_.listeners) {
        text += "listener = " + listener + "\n";
    }
    const ssize_t written = ::pwrite(file_.descriptor(), text.data(), text.size(), 0);
    if (written != static_cast<ssize_t>(text.size()) ||
        ::ftruncate(file_.descriptor(), static_cast<off_t>(text.size())) != 0) {
        return net::systemError("cannot write the lock file");
    }
    return {};
}

} // namespace millrace::server
