// SPDX-License-Identifier: Apache-2.0
// The queue between the engine's loop and the checkpoint's writer thread.
#include "log/checkpoint_store.h"

#include "base/diagnostics.h"
#include "base/limits.h"
#include "log/checkpoint_writer.h"
#include "log/named_thread.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace millrace::log {

using base::Error;
using base::ErrorCode;
using base::Status;

namespace {

struct Command {
    enum class What { put, drop, finishRound };
    What what = What::put;
    PageKey key;
    base::LogIndex index = 0; // what the page reflects, or the replay start
    std::string bytes;
};

class Store final : public CheckpointStore {
  public:
    Store(base::FileSystem& files, std::string folder, PageSegments segments, CheckpointImage image,
          std::function<void()> wake)
        : files_(files), folder_(std::move(folder)), segments_(std::move(segments)),
          image_(std::move(image)), wake_(std::move(wake)), finished_(image_->replayFrom),
          neededFrom_(image_->neededFrom), replayFrom_(image_->replayFrom) {}
    ~Store() override { [[maybe_unused]] const bool ended = stop().ok(); }

    Status load(base::LogIndex synced, const std::function<void(const Page&)>& visitor) override {
        MILLRACE_CHECK(image_);
        const base::LogIndex ahead = std::max(image_->mostReflected, image_->replayFrom - 1);
        if (ahead > synced) {
            return Error{
                ErrorCode::damaged,
                "the checkpoint in " + folder_ + " is ahead of the log: it reflects log index " +
                    std::to_string(ahead) + ", but the log ends at " + std::to_string(synced) +
                    ". Files of the log are missing or from another time; put them back"};
        }
        return readPages(segments_, image_->table, visitor);
    }
    base::LogIndex replayFrom() const override { return replayFrom_; }

    void start() override {
        MILLRACE_CHECK(image_ && !thread_.joinable());
        thread_ = namedThread("checkpoint", [this, writer = std::make_shared<CheckpointWriter>(
                                                       files_, folder_, std::move(segments_),
                                                       std::move(*image_))] { run(*writer); });
        image_.reset();
    }

    bool ready() const override {
        return waiting_.load() < limits::kPagesWaiting && !failed_.load();
    }

    void put(const PageKey& key, base::LogIndex reflects, base::Bytes bytes) override {
        MILLRACE_CHECK(bytes.size() <= limits::kPageBytes);
        waiting_ += bytes.size();
        enqueue({Command::What::put, key, reflects, std::string(base::textOf(bytes))});
    }
    void drop(const PageKey& key) override { enqueue({Command::What::drop, key, 0, {}}); }
    void finishRound(base::LogIndex from) override {
        enqueue({Command::What::finishRound, {}, from, {}});
    }

    base::LogIndex finished() const override { return finished_.load(); }
    base::LogIndex logNeededFrom() const override { return neededFrom_.load(); }

    Status failure() const override {
        const std::lock_guard lock(mutex_);
        return failure_ ? Status(*failure_) : Status();
    }

    Status stop() override {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        if (thread_.joinable()) {
            thread_.join();
        }
        return failure();
    }

  private:
    void enqueue(Command command) {
        {
            const std::lock_guard lock(mutex_);
            if (failure_) {
                return;
            }
            queue_.push_back(std::move(command));
        }
        changed_.notify_all();
    }

    void run(CheckpointWriter& writer) {
        Status status = untilThereIsRoom([&] { return writer.begin(); });
        std::vector<Command> batch;
        while (status.ok()) {
            batch.clear();
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
                batch.swap(queue_);
            }
            if (batch.empty()) {
                return;
            }
            for (std::size_t i = 0; i < batch.size() && status.ok(); ++i) {
                status = untilThereIsRoom([&] { return execute(writer, batch[i]); });
            }
        }
        fail(status.error());
    }

    Status execute(CheckpointWriter& writer, const Command& command) {
        switch (command.what) {
        case Command::What::put: {
            const Status done =
                writer.put(command.key, command.index, base::bytesOf(command.bytes));
            if (done.ok()) {
                consumed(command.bytes.size());
            }
            return done;
        }
        case Command::What::drop:
            writer.drop(command.key);
            return {};
        case Command::What::finishRound:
            break;
        }
        if (Status done = writer.finishRound(command.index); !done) {
            return done;
        }
        neededFrom_ = writer.neededFrom();
        finished_ = writer.replayFrom();
        wake_();
        return {};
    }

    void consumed(std::size_t bytes) {
        const std::size_t before = waiting_.fetch_sub(bytes);
        if (before >= limits::kPagesWaiting && before - bytes < limits::kPagesWaiting) {
            wake_();
        }
    }

    // A full disk is an alarm, not an end: others may make room. An orderly stop does not wait for
    // it.
    template <typename Work> Status untilThereIsRoom(Work work) {
        for (;;) {
            const Status done = work();
            if (done.ok() || done.error().code != ErrorCode::full) {
                return done;
            }
            std::unique_lock lock(mutex_);
            if (changed_.wait_for(lock, limits::kPageSpaceRetry, [this] { return stopping_; })) {
                return done;
            }
        }
    }

    void fail(const Error& error) {
        base::diagnose(base::Severity::error,
                       "the checkpoint in " + folder_ + " has stopped: " + error.text);
        {
            const std::lock_guard lock(mutex_);
            failure_ = error;
            queue_.clear();
        }
        failed_ = true;
        wake_();
    }

    base::FileSystem& files_;
    std::string folder_;
    PageSegments segments_;
    std::optional<CheckpointImage> image_; // until start()
    std::function<void()> wake_;
    std::atomic<base::LogIndex> finished_;
    std::atomic<base::LogIndex> neededFrom_;
    base::LogIndex replayFrom_;
    std::atomic<std::size_t> waiting_{0};
    std::atomic<bool> failed_{false};

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Command> queue_;   // guarded by mutex_
    std::optional<Error> failure_; // guarded by mutex_
    bool stopping_ = false;        // guarded by mutex_
    std::thread thread_;
};

} // namespace

base::Result<std::unique_ptr<CheckpointStore>>
CheckpointStore::open(base::FileSystem& files, std::string folder, std::function<void()> wake) {
    PageSegments segments(files, folder);
    if (Status opened = segments.open(); !opened) {
        return opened.error();
    }
    auto image = readCheckpoint(files, folder, segments);
    if (!image) {
        return image.error();
    }
    if (!wake) {
        wake = [] {};
    }
    return std::unique_ptr<CheckpointStore>(std::make_unique<Store>(
        files, std::move(folder), std::move(segments), std::move(image).value(), std::move(wake)));
}

} // namespace millrace::log
