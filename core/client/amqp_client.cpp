// SPDX-License-Identifier: Apache-2.0
// The connection: waiting, channel 0, and handing frames to channels.
#include "client/amqp_client.h"

#include "client/amqp_channel.h"
#include "client/handshake.h"

namespace millrace::client {

using namespace wire::amqp;

namespace {

constexpr std::size_t kOutputBytes =
    256 * 1024; // of published frames, before publish() waits for the socket

} // namespace

base::Error errorOf(const PeerClose& close) {
    base::ErrorCode code = base::ErrorCode::invalid;
    switch (close.code) {
    case base::ReplyCode::accessRefused:
    case base::ReplyCode::notAllowed:
        code = base::ErrorCode::denied;
        break;
    case base::ReplyCode::notFound:
        code = base::ErrorCode::notFound;
        break;
    case base::ReplyCode::resourceLocked:
        code = base::ErrorCode::locked;
        break;
    case base::ReplyCode::connectionForced:
        code = base::ErrorCode::stopped;
        break;
    case base::ReplyCode::notImplemented:
        code = base::ErrorCode::unsupported;
        break;
    default:
        break;
    }
    return {code, "the broker answered " + std::to_string(static_cast<int>(close.code)) + ": " +
                      close.text};
}

struct AmqpClient::Listener {
    AmqpClient& client;

    void on(const ConnectionClose& method) {
        client.closed_ =
            PeerClose{static_cast<base::ReplyCode>(method.replyCode.value()),
                      std::string(method.replyText.view()), method.classId, method.methodId};
        client.send(0, ConnectionCloseOk{});
        static_cast<void>(
            client.link_.exchange(Clock::now())); // as a courtesy: the end is known already
        client.fail(errorOf(*client.closed_));
    }
    void on(const ConnectionBlocked& method) {
        client.blocked_ = method.reason.view().empty() ? "blocked" : method.reason.view();
    }
    void on(const ConnectionUnblocked&) { client.blocked_.clear(); }
    void on(const ConnectionCloseOk&) {} // both sides closed at once
    template <typename M> void on(const M&) {
        client.fail({base::ErrorCode::invalid, "the broker sent method " +
                                                   std::to_string(M::id.classId) + "." +
                                                   std::to_string(M::id.methodId) + " unasked"});
    }
};

AmqpClient::AmqpClient(Socket socket, const ClientOptions& options)
    : options_(options), link_(std::move(socket), limits::kFrameMax) {}

AmqpClient::~AmqpClient() = default;

base::Result<std::unique_ptr<AmqpClient>> AmqpClient::connect(const Endpoint& endpoint,
                                                              const ClientOptions& options) {
    base::Result<Socket> socket =
        Socket::connect(endpoint.host, endpoint.port, Clock::now() + options.timeout);
    if (!socket) {
        return socket.error();
    }
    return logIn(std::move(socket).value(), endpoint, options);
}

base::Result<std::unique_ptr<AmqpClient>> AmqpClient::logIn(Socket socket, const Endpoint& endpoint,
                                                            const ClientOptions& options) {
    std::unique_ptr<AmqpClient> client(new AmqpClient(std::move(socket), options));
    if (base::Status done = Handshake(*client).run(endpoint); !done) {
        return done.error();
    }
    return client;
}

base::Result<std::unique_ptr<AmqpChannel>> AmqpClient::openChannel() {
    if (lastChannel_ == channelMax_) {
        return base::Error{
            base::ErrorCode::full,
            "all channels of this connection have been used: open another connection"};
    }
    const auto number =
        ++lastChannel_; // numbers are not used again: nothing late can reach the wrong channel
    auto channel = std::make_unique<AmqpChannel>(*this, number);
    channels_[number] = channel.get();
    if (base::Status opened = channel->open(); !opened) {
        return opened.error();
    }
    return channel;
}

void AmqpClient::forget(AmqpChannel& channel) {
    channels_.erase(channel.number());
}

base::Error AmqpClient::fail(base::Error error) {
    if (!failure_) {
        failure_ = std::move(error);
    }
    return *failure_;
}

base::Status AmqpClient::step(Clock::time_point deadline) {
    if (failure_) {
        return *failure_;
    }
    if (const base::Result<bool> moved = link_.exchange(deadline); !moved) {
        return fail(moved.error());
    }
    return takeFrames();
}

base::Result<bool> AmqpClient::awaitUntil(const std::function<bool()>& done,
                                          Clock::time_point deadline) {
    while (!done()) {
        const base::Status moved = step(deadline);
        if (done()) {
            break; // it came, even if the end of the connection came right behind it
        }
        if (!moved) {
            return moved.error();
        }
        if (Clock::now() >= deadline) {
            return false;
        }
    }
    return true;
}

base::Status AmqpClient::await(const std::function<bool()>& done, const char* what) {
    const base::Result<bool> came = awaitUntil(done, Clock::now() + options_.timeout);
    if (!came) {
        return came.error();
    }
    if (!came.value()) {
        const std::string why =
            blocked_.empty() ? "" : " (it has blocked publishers: " + blocked_ + ")";
        return fail(
            {base::ErrorCode::timeout,
             std::string(what) + " for " + std::to_string(options_.timeout.count()) + " ms" + why});
    }
    return {};
}

base::Status AmqpClient::drain(std::size_t most) {
    while (link_.unsent() > most) {
        const std::size_t before = link_.unsent();
        if (base::Status moved =
                await([&] { return link_.unsent() < before; }, "the broker takes no bytes");
            !moved) {
            return moved;
        }
    }
    return failure_ ? base::Status(*failure_) : base::Status();
}

base::Status AmqpClient::makeRoom() {
    return drain(kOutputBytes);
}

base::Status AmqpClient::flush() {
    return drain(0);
}

base::Status AmqpClient::poll() {
    return step(Clock::now());
}

base::Status AmqpClient::pollFor(std::chrono::milliseconds longest) {
    return step(Clock::now() + longest);
}

base::Status AmqpClient::close() {
    if (base::Status answered =
            request<ConnectionCloseOk>(0, ConnectionClose{200, "Goodbye", 0, 0}, reply_);
        !answered) {
        return answered;
    }
    fail({base::ErrorCode::stopped, "the connection has been closed"});
    return {};
}

std::string AmqpClient::serverProperty(std::string_view name) const {
    const auto found = base::FieldTable(base::bytesOf(serverProperties_)).find(name);
    return found && found->isText() ? std::string(found->text()) : std::string();
}

base::Status AmqpClient::takeFrames() {
    for (;;) {
        Frame frame;
        const base::Result<bool> whole = link_.next(frame);
        if (!whole) {
            return fail(whole.error());
        }
        if (!whole.value()) {
            return {};
        }
        if (base::Status taken = take(frame); !taken) {
            return fail(taken.error());
        }
    }
}

base::Status AmqpClient::take(const Frame& frame) {
    if (frame.type == frame_type::kHeartbeat) {
        return {};
    }
    if (frame.channel == 0) {
        return frame.type == frame_type::kMethod
                   ? takeForConnection(frame.payload)
                   : base::Status(base::Error{base::ErrorCode::invalid,
                                              "the broker sent content on channel 0"});
    }
    const auto found = channels_.find(frame.channel);
    return found == channels_.end() ? takeForNobody(frame) : found->second->take(frame);
}

base::Status AmqpClient::takeForConnection(base::Bytes method) {
    if (reply_.take(method)) {
        return {};
    }
    Listener listener{*this};
    if (ClientMethods::dispatch(method, listener) != wire::Dispatched::handled) {
        return base::Error{base::ErrorCode::invalid,
                           "the broker sent a method that cannot be decoded"};
    }
    return failure_ ? base::Status(*failure_) : base::Status();
}

// Of channels that were let go: what is still under way to them means nothing, but a close wants
// its answer.
base::Status AmqpClient::takeForNobody(const Frame& frame) {
    if (frame.type == frame_type::kMethod && methodIdOf(frame.payload) == ChannelClose::id) {
        send(frame.channel, ChannelCloseOk{});
    }
    return {};
}

} // namespace millrace::client
