// SPDX-License-Identifier: Apache-2.0
// Files as a seam, so that a test can forget what was not synced, fail the nth call and fill the disk.
#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace millrace::base {

// An open file. Any thread; calls on one File are not synchronised.
class File {
  public:
    virtual ~File() = default;
    // Writes all parts one after the other at `offset`. Not durable before sync() has returned ok.
    virtual Status write(std::uint64_t offset, std::span<const Bytes> parts) = 0;
    // Reads exactly out.size() bytes, or fails (ErrorCode::damaged where the file ends before).
    virtual Status read(std::uint64_t offset, std::span<Byte> out) = 0;
    // Returns when everything written before is safe against a power cut (fdatasync). Never call again after a failure.
    virtual Status sync() = 0;
    virtual Result<std::uint64_t> size() const = 0;
    // The page cache may drop these bytes; a hint that cannot fail.
    virtual void forget(std::uint64_t offset, std::uint64_t length) = 0;
};

enum class OpenMode { read, readWrite, create }; // create: must not exist, read-write

class FileSystem {
  public:
    virtual ~FileSystem() = default;
    virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
    // Atomic; replaces `to`. Durable after syncDirectory of the folder.
    virtual Status rename(const std::string& from, const std::string& to) = 0;
    virtual Status remove(const std::string& path) = 0;
    // Names (not paths) of the entries of a folder, sorted; the folder is made (with its parents) if it does not exist.
    virtual Result<std::vector<std::string>> list(const std::string& folder) = 0;
    // Makes creations, renames and removals in this folder safe against a power cut.
    virtual Status syncDirectory(const std::string& folder) = 0;
    // Bytes that a user may still write on the file system of `folder`.
    virtual Result<std::uint64_t> freeSpace(const std::string& folder) = 0;
};

// The POSIX file system. Opened files carry O_CLOEXEC.
FileSystem& systemFiles();

} // namespace millrace::base
