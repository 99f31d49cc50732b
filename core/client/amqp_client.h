// SPDX-License-Identifier: Apache-2.0
// A small blocking AMQP 0-9-1 client: one connection, its channels, in one thread.
//
// Promise: no call waits longer than ClientOptions::timeout without progress; a dead, silent or
// nonsensical peer is an Error, and after the first one every call returns it. Publishing is
// pipelined: frames gather in a buffer that goes out when it is large, with flush(), and whenever
// something is waited for. Heartbeats go out only from within calls, so call poll() in long pauses.
// Not synchronised: one thread, also for the channels. The client must outlive its channels.
#pragma once

#include "client/link.h"
#include "client/message.h"
#include "client/reply_slot.h"
#include "client/uri.h"
#include "wire/amqp/writer.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace millrace::client {

class AmqpChannel; // client/amqp_channel.h

struct ClientOptions {
    std::chrono::milliseconds timeout{10'000}; // to connect, for a reply, for output to move
    std::chrono::seconds heartbeat{60};        // the smaller of this and the broker's; 0 = none
    std::uint32_t frameMax = limits::kFrameMax;
    std::uint16_t channelMax = limits::kChannelMax;
    std::string name = "millrace client"; // connection_name, shown in management
};

class AmqpClient final {
  public:
    // Connects, logs in and opens the vhost. ErrorCode::denied: wrong login, or no such vhost for
    // it.
    static base::Result<std::unique_ptr<AmqpClient>> connect(const Endpoint& endpoint,
                                                             const ClientOptions& options = {});
    // The same over a socket that is connected already.
    static base::Result<std::unique_ptr<AmqpClient>> logIn(Socket socket, const Endpoint& endpoint,
                                                           const ClientOptions& options = {});
    // Drops the connection without a word: the broker requeues what was not acked. close() first
    // for an orderly end.
    ~AmqpClient();
    AmqpClient(const AmqpClient&) = delete;
    AmqpClient& operator=(const AmqpClient&) = delete;

    base::Result<std::unique_ptr<AmqpChannel>> openChannel();
    // Waits until everything is in the kernel's hands.
    base::Status flush();
    // Handles what has arrived and sends what can be sent, without waiting.
    base::Status poll();
    // Like poll(), but waits for something to happen, at most so long.
    base::Status pollFor(std::chrono::milliseconds longest);
    // Orderly end: everything written is read by the broker before it answers.
    base::Status close();

    // The broker asked publishers to wait (connection.blocked); its reason, empty if it has not.
    const std::string& blockedReason() const { return blocked_; }
    const std::optional<PeerClose>& closedByPeer() const { return closed_; }
    // A text of the broker's server-properties ("product", "version"), empty if it has none.
    std::string serverProperty(std::string_view name) const;
    std::uint32_t frameMax() const { return frameMax_; }
    int descriptor() const { return link_.descriptor(); }

    // --- for channels and the handshake
    template <typename M> void send(std::uint16_t channel, const M& method) {
        wire::amqp::StringSink sink(link_.output());
        wire::amqp::writeMethod(sink, channel, method);
    }
    // Sends and waits for an Ok (or an Other), which `slot` then holds. `stop` tells an end of the
    // channel meanwhile.
    template <typename Ok, typename Other = Ok, typename M>
    base::Status request(std::uint16_t channel, const M& method, ReplySlot& slot,
                         const std::function<bool()>& stop = {}) {
        if (failure_) {
            return *failure_;
        }
        send(channel, method);
        slot.expect(Ok::id, Other::id);
        return await([&] { return !slot.waiting() || (stop && stop()); },
                     "no reply from the broker");
    }
    base::Status await(const std::function<bool()>& done, const char* what);
    // False: the deadline came first.
    base::Result<bool> awaitUntil(const std::function<bool()>& done, Clock::time_point deadline);
    // Sends until at most a buffer's worth is waiting.
    base::Status makeRoom();
    wire::amqp::StringSink sink() { return wire::amqp::StringSink(link_.output()); }
    void forget(AmqpChannel& channel);
    base::Error fail(base::Error error);
    const std::optional<base::Error>& failure() const { return failure_; }

  private:
    AmqpClient(Socket socket, const ClientOptions& options);
    friend class Handshake; // client/handshake.h: the only other writer of what is negotiated
    struct Listener;        // what the broker may say on channel 0 unasked

    base::Status step(Clock::time_point deadline);
    base::Status drain(std::size_t most);
    base::Status takeFrames();
    base::Status take(const wire::amqp::Frame& frame);
    base::Status takeForConnection(base::Bytes method);
    base::Status takeForNobody(const wire::amqp::Frame& frame);

    ClientOptions options_;
    Link link_;
    ReplySlot reply_;
    std::map<std::uint16_t, AmqpChannel*> channels_;
    std::uint16_t lastChannel_ = 0;
    std::uint16_t channelMax_ = 0;
    std::uint32_t frameMax_ = limits::kFrameMin;
    std::string serverProperties_;
    std::string blocked_;
    std::optional<PeerClose> closed_;
    std::optional<base::Error> failure_;
};

// The error a caller sees for what a broker closed with: its words, and the nearest code.
base::Error errorOf(const PeerClose& close);

} // namespace millrace::client
