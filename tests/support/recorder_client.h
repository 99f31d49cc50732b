// SPDX-License-Identifier: Apache-2.0
// An engine::Client that writes down what it hears, in words that a test compares. Lives on: the
// test's thread.
#pragma once

#include "engine/client.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::support {

class RecorderClient final : public engine::Client {
  public:
    struct Got {
        std::string tag, exchange, routingKey, properties, body;
        std::uint64_t deliveryTag = 0;
        std::uint64_t bodySize = 0;
        std::uint32_t remaining = 0;
        std::int64_t deliveryCount = -1;
        bool redelivered = false;
    };
    struct Confirm {
        std::uint64_t from = 0, to = 0;
        bool accepted = true;
    };
    struct Resumed {
        std::uint64_t ticket = 0;
        std::string refusal;
    };

    std::vector<Got> deliveries;
    std::vector<Confirm> confirms;
    std::vector<Got> returns;
    std::vector<std::string> cancels;
    std::vector<Resumed> resumes;
    // Says full from this many deliveries on.
    std::size_t room = SIZE_MAX;
    // Says full after every piece.
    bool onePieceAtATime = false;
    std::size_t pieces = 0;

    std::vector<std::string> bodies() const {
        std::vector<std::string> out;
        for (const Got& got : deliveries) {
            out.push_back(got.body);
        }
        return out;
    }
    std::uint64_t confirmedUpTo() const { return confirms.empty() ? 0 : confirms.back().to; }
    std::uint64_t lastTag() const { return deliveries.empty() ? 0 : deliveries.back().deliveryTag; }

    engine::Appetite deliver(const engine::Delivery& delivery) override {
        Got got = copy(delivery.message);
        got.tag = delivery.consumerTag;
        got.deliveryTag = delivery.deliveryTag;
        got.remaining = delivery.remaining;
        got.deliveryCount = delivery.deliveryCount;
        got.redelivered = delivery.redelivered;
        deliveries.push_back(std::move(got));
        return deliveries.size() >= room ? engine::Appetite::full : engine::Appetite::more;
    }
    engine::Appetite piece(base::Bytes bytes, bool last) override {
        deliveries.back().body.append(base::textOf(bytes));
        ++pieces;
        return onePieceAtATime && !last ? engine::Appetite::full : engine::Appetite::more;
    }
    void confirmed(std::uint64_t from, std::uint64_t to, bool accepted) override {
        confirms.push_back({from, to, accepted});
    }
    void returned(const engine::Returned& returned) override {
        returns.push_back(copy(returned.message));
    }
    void cancelled(std::string_view consumerTag) override { cancels.emplace_back(consumerTag); }
    void resumed(std::uint64_t ticket, const base::Refusal* refused) override {
        resumes.push_back({ticket, refused ? refused->text : ""});
    }

  private:
    static Got copy(const engine::MessageView& message) {
        Got got;
        got.exchange = message.exchange;
        got.routingKey = message.routingKey;
        got.properties = base::textOf(message.properties);
        got.body = base::textOf(message.body);
        got.bodySize = message.bodySize;
        return got;
    }
};

} // namespace millrace::support
