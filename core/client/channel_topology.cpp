// SPDX-License-Identifier: Apache-2.0
// A channel's questions about queues, exchanges and bindings: one request and its reply each.
#include "client/channel_request.h"

namespace millrace::client {

using namespace wire::amqp;

namespace {

base::Error undecodable() {
    return {base::ErrorCode::invalid, "the broker's reply cannot be decoded"};
}

} // namespace

base::Result<QueueState> AmqpChannel::declareQueue(std::string_view name,
                                                   const QueueOptions& options) {
    const QueueDeclare method{0,
                              name,
                              options.passive,
                              options.durable,
                              options.exclusive,
                              options.autoDelete,
                              false,
                              options.arguments};
    if (base::Status done = request<QueueDeclareOk>(method); !done) {
        return done.error();
    }
    const auto reply = reply_.as<QueueDeclareOk>();
    if (!reply) {
        return undecodable();
    }
    return QueueState{std::string(reply->queue.view()), reply->messageCount, reply->consumerCount};
}

base::Result<std::uint32_t> AmqpChannel::deleteQueue(std::string_view name, bool ifUnused,
                                                     bool ifEmpty) {
    if (base::Status done = request<QueueDeleteOk>(QueueDelete{0, name, ifUnused, ifEmpty, false});
        !done) {
        return done.error();
    }
    const auto reply = reply_.as<QueueDeleteOk>();
    return reply ? base::Result<std::uint32_t>(reply->messageCount.value()) : undecodable();
}

base::Result<std::uint32_t> AmqpChannel::purgeQueue(std::string_view name) {
    if (base::Status done = request<QueuePurgeOk>(QueuePurge{0, name, false}); !done) {
        return done.error();
    }
    const auto reply = reply_.as<QueuePurgeOk>();
    return reply ? base::Result<std::uint32_t>(reply->messageCount.value()) : undecodable();
}

base::Status AmqpChannel::declareExchange(std::string_view name, const ExchangeOptions& options) {
    return request<ExchangeDeclareOk>(ExchangeDeclare{0, name, options.type, options.passive,
                                                      options.durable, options.autoDelete,
                                                      options.internal, false, options.arguments});
}

base::Status AmqpChannel::deleteExchange(std::string_view name, bool ifUnused) {
    return request<ExchangeDeleteOk>(ExchangeDelete{0, name, ifUnused, false});
}

base::Status AmqpChannel::bindQueue(std::string_view queue, std::string_view exchange,
                                    std::string_view key, base::Bytes arguments) {
    return request<QueueBindOk>(QueueBind{0, queue, exchange, key, false, arguments});
}

base::Status AmqpChannel::unbindQueue(std::string_view queue, std::string_view exchange,
                                      std::string_view key, base::Bytes arguments) {
    return request<QueueUnbindOk>(QueueUnbind{0, queue, exchange, key, arguments});
}

base::Status AmqpChannel::bindExchange(std::string_view destination, std::string_view source,
                                       std::string_view key, base::Bytes arguments) {
    return request<ExchangeBindOk>(ExchangeBind{0, destination, source, key, false, arguments});
}

base::Status AmqpChannel::unbindExchange(std::string_view destination, std::string_view source,
                                         std::string_view key, base::Bytes arguments) {
    return request<ExchangeUnbindOk>(ExchangeUnbind{0, destination, source, key, false, arguments});
}

} // namespace millrace::client
