// SPDX-License-Identifier: Apache-2.0
// One channel of an AmqpClient: topology, publishing with confirms, consuming.
//
// Promise: messages go out in the order of publish(); deliveries come out in the order of arrival;
// every confirm, return and server-sent cancel is kept until it is taken. When the broker closes
// the channel, the waiting call and all later ones return its reason; the connection goes on. Lives
// on: its client's thread.
#pragma once

#include "base/result.h"
#include "client/confirm_account.h"
#include "client/message.h"
#include "client/reply_slot.h"
#include "wire/amqp/frame.h"

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::client {

class AmqpClient;

struct QueueOptions {
    bool passive = false, durable = false, exclusive = false, autoDelete = false;
    base::Bytes arguments = {}; // raw table
};
struct QueueState {
    std::string name;
    std::uint32_t messages = 0, consumers = 0;
};
struct ExchangeOptions {
    std::string_view type = "direct";
    bool passive = false, durable = false, autoDelete = false, internal = false;
    base::Bytes arguments = {};
};
struct ConsumeOptions {
    std::string_view tag = {}; // empty: the broker chooses
    bool noAck = false, exclusive = false;
    base::Bytes arguments = {};
};

class AmqpChannel final {
  public:
    // By AmqpClient::openChannel().
    AmqpChannel(AmqpClient& client, std::uint16_t number);
    // Says channel.close, without waiting for the answer, if it is open.
    ~AmqpChannel();
    AmqpChannel(const AmqpChannel&) = delete;
    AmqpChannel& operator=(const AmqpChannel&) = delete;

    // --- topology. An empty queue name lets the broker choose, or means the one declared last on
    // this channel.
    base::Result<QueueState> declareQueue(std::string_view name, const QueueOptions& options = {});
    base::Result<std::uint32_t> deleteQueue(std::string_view name, bool ifUnused = false,
                                            bool ifEmpty = false);
    base::Result<std::uint32_t> purgeQueue(std::string_view name);
    base::Status declareExchange(std::string_view name, const ExchangeOptions& options);
    base::Status deleteExchange(std::string_view name, bool ifUnused = false);
    base::Status bindQueue(std::string_view queue, std::string_view exchange, std::string_view key,
                           base::Bytes arguments = {});
    base::Status unbindQueue(std::string_view queue, std::string_view exchange,
                             std::string_view key, base::Bytes arguments = {});
    base::Status bindExchange(std::string_view destination, std::string_view source,
                              std::string_view key, base::Bytes arguments = {});
    base::Status unbindExchange(std::string_view destination, std::string_view source,
                                std::string_view key, base::Bytes arguments = {});

    // --- publish. Without waiting for the broker; at most for room in the socket.
    base::Status selectConfirms();
    // The message's number on this channel if confirms are on, else 0.
    base::Result<std::uint64_t> publish(const Message& message);
    const ConfirmAccount& confirms() const { return confirms_; }
    // Until at most `most` published messages are unanswered. A window of n: awaitConfirms(n - 1)
    // before each publish.
    base::Status awaitConfirms(std::uint64_t most = 0);
    std::vector<Confirm> takeConfirms() { return confirms_.take(); }
    std::vector<Returned> takeReturns();

    // --- consume
    base::Status qos(std::uint16_t prefetch, bool global = false);
    base::Result<std::string> consume(std::string_view queue, const ConsumeOptions& options = {});
    // The next delivery to any consumer of this channel; none if the time is over.
    base::Result<std::optional<Delivery>> next(std::chrono::milliseconds longest);
    base::Result<std::optional<Delivery>> get(std::string_view queue, bool noAck = false);
    // Acks and the like are not answered; a wrong tag closes the channel, which a later call tells.
    // Sent with flush() or the next wait.
    base::Status ack(std::uint64_t tag, bool multiple = false);
    base::Status nack(std::uint64_t tag, bool multiple = false, bool requeue = true);
    base::Status reject(std::uint64_t tag, bool requeue);
    base::Status recover();
    base::Status cancel(std::string_view tag);
    // Consumers that the broker has cancelled, since their queue is gone.
    std::vector<std::string> takeCancelled();

    // --- tx
    base::Status txSelect();
    base::Status txCommit();
    base::Status txRollback();

    // Orderly: everything sent before has been handled by the broker when this returns.
    base::Status close();
    const std::optional<PeerClose>& closedByPeer() const { return closed_; }
    std::uint16_t number() const { return number_; }

    // --- for the client
    base::Status open();
    base::Status take(const wire::amqp::Frame& frame);

  private:
    struct Listener; // what the broker may say unasked
    enum class Content { none, deliver, get, returned };

    template <typename Ok, typename Other = Ok, typename M> base::Status request(const M& method);
    template <typename M> base::Status tell(const M& method);
    base::Status usable() const;
    base::Status takeMethod(base::Bytes payload);
    base::Status takeHeader(base::Bytes payload);
    base::Status takeBody(base::Bytes payload);
    void finishContent();

    AmqpClient& client_;
    std::uint16_t number_;
    bool open_ = false;
    bool confirming_ = false;
    ReplySlot reply_;
    ConfirmAccount confirms_;
    std::optional<PeerClose> closed_;

    Content content_ = Content::none; // method seen; header and body follow
    bool headerSeen_ = false;
    std::uint64_t bodyLeft_ = 0;
    Delivery coming_;
    Returned comingBack_;

    std::deque<Delivery> deliveries_;
    std::optional<Delivery> got_;
    std::vector<Returned> returns_;
    std::vector<std::string> cancelled_;
};

} // namespace millrace::client
