// SPDX-License-Identifier: Apache-2.0
// What a client publishes and what it gets. Received messages own their bytes.
#pragma once

#include "base/refusal.h"
#include "wire/amqp/properties.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::client {

struct Message {
    std::string_view exchange = {};
    std::string_view routingKey = {};
    base::Bytes properties = {}; // encoded (wire::amqp::PropertyValues::encode()); empty = none
    base::Bytes body = {};
    bool mandatory = false;
};

struct Delivery {
    std::string consumerTag; // empty: got by get()
    std::uint64_t deliveryTag = 0;
    bool redelivered = false;
    std::string exchange;
    std::string routingKey;
    std::uint32_t remaining = 0; // get(): messages left in the queue
    std::string properties;      // encoded, valid
    std::string body;

    // Views into `properties`.
    wire::amqp::Properties parsed() const {
        wire::amqp::Properties view;
        view.parse(base::bytesOf(properties));
        return view;
    }
};

// A mandatory message that no queue took.
struct Returned {
    std::uint16_t code = 0;
    std::string text;
    std::string exchange;
    std::string routingKey;
    std::string properties;
    std::string body;
};

// Why the broker closed a channel or the connection, in its words.
struct PeerClose {
    base::ReplyCode code = base::ReplyCode::success;
    std::string text;
    std::uint16_t classId = 0;
    std::uint16_t methodId = 0;
};

} // namespace millrace::client
