// SPDX-License-Identifier: Apache-2.0
// Methods with their usual arguments, so that a test names only what it is about.
#pragma once

#include "wire/amqp/methods.h"

#include <string_view>

namespace millrace::test {

namespace amqp = wire::amqp;

inline constexpr std::uint16_t kTicket = 0;

struct QueueTraits {
    bool passive = false, durable = false, exclusive = false, autoDelete = false, noWait = false;
};
inline amqp::QueueDeclare queueDeclare(std::string_view queue, QueueTraits is = {},
                                       base::Bytes arguments = {}) {
    return {kTicket,      queue,         is.passive, is.durable,
            is.exclusive, is.autoDelete, is.noWait,  arguments};
}
struct ExchangeTraits {
    bool passive = false, durable = false, autoDelete = false, internal = false, noWait = false;
};
inline amqp::ExchangeDeclare exchangeDeclare(std::string_view exchange, std::string_view type,
                                             ExchangeTraits is = {}) {
    return {kTicket,       exchange,    type,      is.passive,   is.durable,
            is.autoDelete, is.internal, is.noWait, base::Bytes{}};
}
inline amqp::ExchangeDelete exchangeDelete(std::string_view exchange, bool ifUnused = false) {
    return {kTicket, exchange, ifUnused, false};
}
inline amqp::QueueBind queueBind(std::string_view queue, std::string_view exchange,
                                 std::string_view key, bool noWait = false) {
    return {kTicket, queue, exchange, key, noWait, base::Bytes{}};
}
inline amqp::QueueUnbind queueUnbind(std::string_view queue, std::string_view exchange,
                                     std::string_view key) {
    return {kTicket, queue, exchange, key, base::Bytes{}};
}
inline amqp::QueueDelete queueDelete(std::string_view queue, bool ifUnused = false,
                                     bool ifEmpty = false, bool noWait = false) {
    return {kTicket, queue, ifUnused, ifEmpty, noWait};
}
inline amqp::QueuePurge queuePurge(std::string_view queue) {
    return {kTicket, queue, false};
}
struct ConsumeTraits {
    bool noAck = false, exclusive = false, noWait = false;
};
inline amqp::BasicConsume consume(std::string_view queue, std::string_view tag,
                                  ConsumeTraits is = {}) {
    return {kTicket, queue, tag, false, is.noAck, is.exclusive, is.noWait, base::Bytes{}};
}
inline amqp::BasicGet get(std::string_view queue, bool noAck = false) {
    return {kTicket, queue, noAck};
}
inline amqp::BasicQos qos(std::uint16_t count, bool global = false, std::uint32_t size = 0) {
    return {size, count, global};
}
inline amqp::BasicAck ack(std::uint64_t tag, bool multiple = false) {
    return {tag, multiple};
}
inline amqp::BasicNack nack(std::uint64_t tag, bool multiple, bool requeue) {
    return {tag, multiple, requeue};
}
inline amqp::ChannelClose channelClose() {
    return {std::uint16_t{200}, "bye", std::uint16_t{0}, std::uint16_t{0}};
}
inline amqp::ConnectionClose connectionClose() {
    return {std::uint16_t{200}, "bye", std::uint16_t{0}, std::uint16_t{0}};
}

} // namespace millrace::test
