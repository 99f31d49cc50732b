// SPDX-License-Identifier: Apache-2.0
// A base::FileSystem in memory that forgets what was not synced, fails the nth call, fills up,
// counts, and stops at every sync point so that a test can look at the disk as it would be if the
// power went now. Any thread.
#pragma once

#include "base/file.h"
#include "support/faulty_disk.h"

#include <array>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>

namespace millrace::support {

enum class Call { open, write, read, sync, rename, remove, list, syncDirectory, freeSpace };
inline constexpr std::size_t kCalls = 9;

enum class Times {
    once,
    always, // the nth and every later one
};

class FaultyFiles final : public base::FileSystem {
  public:
    FaultyFiles();
    explicit FaultyFiles(FaultyDisk disk);
    ~FaultyFiles() override;

    base::Result<std::unique_ptr<base::File>> open(const std::string& path,
                                                   base::OpenMode mode) override;
    base::Status rename(const std::string& from, const std::string& to) override;
    base::Status remove(const std::string& path) override;
    base::Result<std::vector<std::string>> list(const std::string& folder) override;
    base::Status syncDirectory(const std::string& folder) override;
    base::Result<std::uint64_t> freeSpace(const std::string& folder) override;

    // --- power. Files opened before a crash() fail from then on.
    void crash(Keep keep = {});
    FaultyDisk afterPowerCut(Keep keep = {}) const;
    // Called before every sync of a file and of a folder takes effect, from the thread that syncs,
    // without a lock held: it may look, fail, and wait.
    using SyncHook = std::function<void(const std::string& path)>;
    void onSync(SyncHook hook);

    // --- failures. n = 1 is the next call. A failing write leaves its first half, a failing sync
    // loses sectors for good.
    void failNth(Call call, std::uint64_t n, base::Error error, Times times = Times::once);
    void failNthOverall(std::uint64_t n, base::Error error, Times times = Times::once);
    void heal(); // forgets planned failures
    // Writes that would take more fail (ErrorCode::full) after filling up what is left.
    void setCapacity(std::uint64_t bytes);

    // --- counts since construction
    std::uint64_t count(Call call) const;
    std::uint64_t callsOverall() const;
    std::uint64_t bytesWritten() const;

    // --- the test's eye and hand on the medium
    std::uint64_t used() const;
    std::string content(const std::string& path) const;
    void flipBit(const std::string& path, std::uint64_t offset, unsigned bit = 0);
    // Replaces a file, or makes it; durable at once.
    void setContent(const std::string& path, std::string bytes);

  private:
    class OpenFile;
    struct Plan {
        std::uint64_t nth = 0; // in the count of its kind; 0: none
        Times times = Times::once;
        base::Error error;
        std::optional<base::Error> hit(std::uint64_t count) const;
    };

    std::optional<base::Error> countAndFail(Call call); // with mutex_ held
    void runHook(const std::string& path);              // without

    mutable std::mutex mutex_;
    FaultyDisk disk_;
    std::uint64_t life_ = 0; // rises with every crash
    std::uint64_t capacity_ = std::numeric_limits<std::uint64_t>::max();
    std::array<std::uint64_t, kCalls> counts_{};
    std::uint64_t overall_ = 0;
    std::uint64_t bytesWritten_ = 0;
    std::array<Plan, kCalls> plans_;
    Plan overallPlan_;
    SyncHook hook_;
};

} // namespace millrace::support
