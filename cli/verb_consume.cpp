// SPDX-License-Identifier: Apache-2.0
// `millrace consume`: prints what is in a queue and acknowledges what has been printed, or gives it
// back.
#include "cli/credentials.h"
#include "cli/delivery_print.h"
#include "cli/interruption.h"
#include "cli/verbs.h"
#include "client/amqp_channel.h"

#include <cstdio>
#include <iostream>

namespace millrace::cli {

namespace {

// Without --follow the queue counts as empty when nothing has come for so long.
constexpr std::chrono::milliseconds kQuiet{1000};
// How often Ctrl+C is looked for.
constexpr std::chrono::milliseconds kLook{100};

class Consumption final {
  public:
    Consumption(client::AmqpChannel& channel, const ConsumeRequest& request)
        : channel_(channel), request_(request) {}

    base::Status begin() {
        client::QueueOptions look;
        look.passive = true;
        auto state = channel_.declareQueue(request_.queue, look);
        if (!state) {
            return state.error();
        }
        wanted_ = request_.follow ? request_.count : state->messages;
        if (!request_.follow && request_.count != 0) {
            wanted_ = std::min<std::uint64_t>(wanted_, request_.count);
        }
        endless_ = request_.follow && request_.count == 0;
        // What will be given back must not be awaited with a window, it never moves on.
        if (auto limited = channel_.qos(request_.requeue ? 0 : prefetch()); !limited) {
            return limited;
        }
        if (done()) {
            return {};
        }
        auto tag = channel_.consume(request_.queue);
        return tag ? base::Status() : base::Status(tag.error());
    }

    base::Status run() {
        auto quietSince = std::chrono::steady_clock::now();
        while (!done() && !interrupted()) {
            auto delivery = channel_.next(kLook);
            if (!delivery) {
                return delivery.error();
            }
            if (delivery->has_value()) {
                quietSince = std::chrono::steady_clock::now();
                if (auto taken = take(**delivery); !taken) {
                    return taken;
                }
            } else if (!channel_.takeCancelled().empty()) {
                return base::Error{base::ErrorCode::notFound, "the queue has been deleted"};
            } else if (!request_.follow && std::chrono::steady_clock::now() - quietSince > kQuiet) {
                return {};
            } else if (auto settled = settle(); !settled) {
                return settled;
            }
        }
        return {};
    }

    base::Status settle() {
        if (lastPrinted_ == lastSettled_) {
            return {};
        }
        // Printed means handed over: only then it is acknowledged.
        if (std::fflush(stdout) != 0) {
            return base::Error{base::ErrorCode::io, "cannot write to standard output"};
        }
        lastSettled_ = lastPrinted_;
        return request_.requeue ? channel_.nack(lastPrinted_, true, true)
                                : channel_.ack(lastPrinted_, true);
    }
    std::uint64_t printed() const { return printed_; }

  private:
    std::uint16_t prefetch() const {
        const std::uint64_t window =
            endless_ ? request_.prefetch : std::min<std::uint64_t>(request_.prefetch, wanted_);
        return static_cast<std::uint16_t>(std::clamp<std::uint64_t>(window, 1, 65535));
    }
    bool done() const { return !endless_ && printed_ >= wanted_; }

    base::Status take(const client::Delivery& delivery) {
        const std::string line = request_.json ? jsonOf(delivery) : delivery.body;
        std::fwrite(line.data(), 1, line.size(), stdout);
        std::fputc('\n', stdout);
        ++printed_;
        lastPrinted_ = delivery.deliveryTag;
        const bool half = lastPrinted_ - lastSettled_ >= (prefetch() + 1U) / 2;
        return half && !request_.requeue ? settle() : base::Status();
    }

    client::AmqpChannel& channel_;
    const ConsumeRequest& request_;
    std::uint64_t wanted_ = 0;
    bool endless_ = false;
    std::uint64_t printed_ = 0;
    std::uint64_t lastPrinted_ = 0; // delivery tags
    std::uint64_t lastSettled_ = 0;
};

} // namespace

ExitCode consume(const ConsumeRequest& request) {
    ExitCode code = ExitCode::ok;
    const std::unique_ptr<client::AmqpClient> client = connect(request.server, code);
    if (!client) {
        return code;
    }
    watchForInterruption();
    auto channel = client->openChannel();
    if (!channel) {
        complain(channel.error().text);
        return codeOf(channel.error());
    }
    Consumption consumption(**channel, request);
    base::Status status = consumption.begin();
    if (status) {
        status = consumption.run();
    }
    if (status) {
        status = consumption.settle();
    }
    if (status) {
        status = client->close();
    }
    std::cerr << (request.requeue ? "looked at " : "consumed ") << consumption.printed() << '\n';
    if (!status) {
        complain(status.error().text);
        return consumption.printed() != 0 ? ExitCode::partly : codeOf(status.error());
    }
    return interrupted() ? ExitCode::interrupted : ExitCode::ok;
}

} // namespace millrace::cli
