// SPDX-License-Identifier: Apache-2.0
#include "log/segment_keeper.h"

#include "base/diagnostics.h"
#include "log/compaction.h"
#include "log/named_thread.h"

#include <array>

namespace millrace::log {

namespace {

using base::Byte;
using base::Bytes;
using base::OpenMode;
using base::Result;
using base::Status;

constexpr std::size_t kZeroPiece = 1024 * 1024; // between two looks at what else is to be done
constexpr std::size_t kZeroParts = 16;
constexpr std::chrono::milliseconds kGiveWay{4};
alignas(8) constexpr std::array<Byte, kZeroPiece / kZeroParts> kZeros{};

} // namespace

SegmentKeeper::SegmentKeeper(base::FileSystem& files, SpareShelf& shelf, std::function<void()> wake)
    : files_(files), shelf_(shelf), wake_(std::move(wake)) {}

SegmentKeeper::~SegmentKeeper() {
    stop();
}

void SegmentKeeper::start(Terms terms, const char* threadName) {
    terms_ = std::move(terms);
    measure(); // so that publishes are not welcome by mistake until the thread has looked
    thread_ = namedThread(threadName, [this] { run(); });
}

void SegmentKeeper::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

void SegmentKeeper::want(std::size_t spares) {
    const std::lock_guard lock(mutex_);
    if (orders_.want != spares) {
        orders_.want = spares;
        ordered_ = true;
        changed_.notify_one();
    }
}

void SegmentKeeper::retire(const std::string& path, std::uint64_t fileBytes) {
    const std::lock_guard lock(mutex_);
    orders_.retired.push_back({path, fileBytes});
    ordered_ = true;
    changed_.notify_one();
}

void SegmentKeeper::look() {
    const std::lock_guard lock(mutex_);
    orders_.look = true;
    ordered_ = true;
    changed_.notify_one();
}

void SegmentKeeper::work(std::shared_ptr<Compaction> compaction) {
    const std::lock_guard lock(mutex_);
    orders_.compaction = std::move(compaction);
    ordered_ = true;
    changed_.notify_one();
}

bool SegmentKeeper::stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
}

void SegmentKeeper::run() {
    measure();
    std::shared_ptr<Compaction> compaction;
    for (;;) {
        Orders orders;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stopping_ || ordered_ || compaction; });
            if (stopping_) {
                return;
            }
            ordered_ = false;
            orders.want = orders_.want;
            orders.retired.swap(orders_.retired);
            orders.look = std::exchange(orders_.look, false);
            orders.compaction = std::move(orders_.compaction);
            orders_.compaction.reset();
        }
        if (orders.compaction) {
            compaction = std::move(orders.compaction);
        }
        carryOut(orders);
        if (compaction && !compaction->step(files_)) {
            compaction.reset();
            wake_();
        } else if (compaction) {
            giveWay();
        }
    }
}

// A step of a compaction at most every so often while commits are under way.
void SegmentKeeper::giveWay() {
    if (terms_.busy && terms_.busy()) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kGiveWay, [this] { return stopping_ || ordered_; });
    }
}

void SegmentKeeper::carryOut(Orders& orders) {
    const std::size_t before = shelf_.ready();
    const bool blockedBefore = blocked();
    settle(orders.retired, orders.want);
    if (!blocked() || orders.look || before != shelf_.ready()) {
        prepareUpTo(orders.want);
    }
    removeDownTo(orders.want);
    if (orders.look || before != shelf_.ready()) {
        measure();
    }
    if (before != shelf_.ready() || blockedBefore != blocked()) {
        wake_();
    }
}

void SegmentKeeper::settle(std::vector<Retired>& retired, std::size_t want) {
    bool removed = false;
    for (const Retired& old : retired) {
        if (old.fileBytes == terms_.segmentBytes && shelf_.ready() < want && recycle(old.path)) {
            continue;
        }
        if (Status gone = files_.remove(old.path); !gone) {
            base::diagnose(base::Severity::warning, gone.error().text);
        }
        removed = true;
    }
    if (removed) {
        // A removal that a power cut undoes brings back a segment without holders; the next open()
        // retires it again.
        (void)files_.syncDirectory(terms_.folder);
    }
}

void SegmentKeeper::prepareUpTo(std::size_t want) {
    while (shelf_.ready() < want) {
        if (stopping()) {
            return;
        }
        measure();
        if (shelf_.ready() >= terms_.reserve &&
            freeSpace() < terms_.freeLimit + terms_.segmentBytes) {
            break;
        }
        if (freeSpace() < terms_.segmentBytes) { // known beforehand: nothing is written in vain
            block({base::ErrorCode::full, "the disk of " + terms_.folder + " is full"});
            return;
        }
        if (Status done = prepareNew(); !done) {
            if (done.error().code != base::ErrorCode::stopped) {
                block(done.error());
            }
            return;
        }
        blocked_.store(false, std::memory_order_release);
        wake_();
    }
    blocked_.store(false, std::memory_order_release);
}

void SegmentKeeper::block(const base::Error& why) {
    if (!blocked_.exchange(true, std::memory_order_acq_rel)) {
        base::diagnose(base::Severity::warning, "no room for the log to grow: " + why.text);
    }
}

void SegmentKeeper::removeDownTo(std::size_t want) {
    while (shelf_.ready() > want) {
        const std::optional<Spare> spare = shelf_.takeLast();
        if (!spare) {
            return;
        }
        (void)files_.remove(spare->path); // what stays is found at the next open
    }
}

Status SegmentKeeper::prepareNew() {
    const std::string path = terms_.folder + "/raw-" + std::to_string(rawNames_++) + ".tmp";
    Result<std::unique_ptr<base::File>> file = files_.open(path, OpenMode::create);
    if (!file) {
        return file.error();
    }
    Status done = terms_.synchronous ? zero(**file) : Status{};
    if (done) {
        done = finish(std::move(*file), path);
    }
    if (!done) {
        (void)files_.remove(path);
    }
    return done;
}

Status SegmentKeeper::zero(base::File& file) {
    std::array<Bytes, kZeroParts> parts;
    parts.fill(Bytes(kZeros));
    for (std::uint64_t offset = 0; offset < terms_.segmentBytes; offset += kZeroPiece) {
        if (stopping()) {
            return base::Error{base::ErrorCode::stopped, "the log is stopping"};
        }
        std::uint64_t left = terms_.segmentBytes - offset;
        std::size_t count = 0;
        for (; count < parts.size() && left != 0; ++count) {
            parts[count] = parts[count].first(std::min<std::uint64_t>(left, kZeros.size()));
            left -= parts[count].size();
        }
        if (Status done = file.write(offset, {parts.data(), count}); !done) {
            return done;
        }
    }
    return {};
}

// Away from its old name first: a crash must not leave a half-written header under the name of a
// segment.
Status SegmentKeeper::recycle(const std::string& path) {
    const std::string raw = terms_.folder + "/raw-" + std::to_string(rawNames_++) + ".tmp";
    if (Status done = files_.rename(path, raw); !done) {
        return done;
    }
    Status done = terms_.synchronous ? files_.syncDirectory(terms_.folder) : Status{};
    if (done) {
        Result<std::unique_ptr<base::File>> file = files_.open(raw, OpenMode::readWrite);
        done = file ? finish(std::move(*file), raw) : Status(file.error());
    }
    if (!done) {
        (void)files_.remove(raw);
        return done;
    }
    recycled_.fetch_add(1, std::memory_order_relaxed);
    return {};
}

Status SegmentKeeper::finish(std::unique_ptr<base::File> file, const std::string& path) {
    Spare spare;
    spare.header.segmentClass = static_cast<std::uint16_t>(terms_.segmentClass);
    spare.header.salt = newSalt();
    spare.header.sequence = spare.header.lastSequence = terms_.nextSequence;
    spare.header.term = terms_.term;
    spare.header.fileBytes = terms_.segmentBytes;
    sealSegmentHeader(spare.header);
    if (Status done = writeSegmentHeader(*file, spare.header); !done) {
        return done;
    }
    if (terms_.synchronous) {
        if (Status done = file->sync(); !done) {
            return done;
        }
    }
    spare.path = terms_.folder + "/" + segmentName(terms_.nextSequence, 0);
    if (Status done = files_.rename(path, spare.path); !done) {
        return done;
    }
    if (terms_.synchronous) {
        if (Status done = files_.syncDirectory(terms_.folder); !done) {
            (void)files_.rename(spare.path, path);
            return done;
        }
    }
    ++terms_.nextSequence;
    file->forget(0, terms_.segmentBytes);
    spare.file = std::move(file);
    shelf_.put(std::move(spare));
    return {};
}

void SegmentKeeper::measure() {
    if (Result<std::uint64_t> free = files_.freeSpace(terms_.folder)) {
        freeSpace_.store(*free, std::memory_order_release);
    }
}

} // namespace millrace::log
