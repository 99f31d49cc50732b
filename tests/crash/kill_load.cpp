// SPDX-License-Identifier: Apache-2.0
#include "crash/kill_load.h"

#include "base/field_table.h"

#include <charconv>
#include <chrono>

namespace millrace::crash_tests {

using namespace std::chrono_literals;
using client::AmqpChannel;
using client::AmqpClient;

namespace {

constexpr std::uint64_t kWindow = 300;   // unconfirmed messages of a publisher
constexpr std::uint16_t kPrefetch = 400; // unacked messages of a consumer

// "publisher:number:size:" and then a filler that follows from the three, so that every byte can be
// checked.
std::string bodyOf(std::size_t publisher, std::uint64_t number, std::size_t size) {
    std::string body =
        std::to_string(publisher) + ":" + std::to_string(number) + ":" + std::to_string(size) + ":";
    support::Random filler(number * 31 + publisher);
    const std::string pattern = filler.bytes(61);
    while (body.size() < size) {
        body.append(pattern, 0, std::min(pattern.size(), size - body.size()));
    }
    return body;
}

struct Label {
    std::size_t publisher = 0;
    std::uint64_t number = 0;
    std::size_t size = 0;
};

bool readLabel(const std::string& body, Label& label) {
    const char* at = body.data();
    const char* const end = at + body.size();
    const auto take = [&](auto& value) {
        const auto [after, fault] = std::from_chars(at, end, value);
        at = after + 1;
        return fault == std::errc() && after != end && *after == ':';
    };
    return take(label.publisher) && take(label.number) && take(label.size);
}

std::size_t someSize(support::Random& random) {
    const std::uint64_t kind = random.below(1000);
    if (kind < 2) {
        return 1'100'000 + random.below(1'500'000); // stored and delivered in pieces
    }
    return kind < 20 ? random.below(200'000) : random.below(2'000);
}

struct Session {
    std::unique_ptr<AmqpClient> client;
    std::unique_ptr<AmqpChannel> channel;
};

base::Result<Session> connect(const client::Endpoint& endpoint) {
    Session session;
    auto connected = AmqpClient::connect(endpoint);
    if (!connected) {
        return connected.error();
    }
    session.client = std::move(*connected);
    auto opened = session.client->openChannel();
    if (!opened) {
        return opened.error();
    }
    session.channel = std::move(*opened);
    return session;
}

void tellUnlessKilled(const Life& life, KillLedger& ledger, const std::string& who,
                      const base::Error& error) {
    if (life.alive) {
        ledger.violation(who + ": " + error.text);
    }
}

void takeConfirms(KillLedger& ledger, std::size_t publisher, AmqpChannel& channel,
                  const std::vector<std::uint64_t>& numbers) {
    for (const client::Confirm& confirm : channel.takeConfirms()) {
        for (std::uint64_t sequence = confirm.from; confirm.accepted && sequence <= confirm.to;
             ++sequence) {
            ledger.confirmed(publisher, numbers[sequence - 1]);
        }
    }
}

class Consumer {
  public:
    Consumer(KillLedger& ledger, std::size_t queue, support::Random& random)
        : ledger_(ledger), queue_(queue), random_(random) {}

    base::Status take(Session& session, const client::Delivery& delivery) {
        Label label;
        if (!readLabel(delivery.body, label) ||
            delivery.body != bodyOf(label.publisher, label.number, label.size)) {
            ledger_.violation("a body of " + std::to_string(delivery.body.size()) +
                              " bytes is not as published: " + delivery.body.substr(0, 40));
            return session.channel->ack(delivery.deliveryTag);
        }
        ledger_.delivered(queue_, label.publisher, label.number, delivery.redelivered);
        unacked_.push_back(label);
        lastTag_ = delivery.deliveryTag;
        return unacked_.size() >= ackAt_ ? ackAll(session) : base::Status();
    }
    base::Status ackAll(Session& session) {
        if (unacked_.empty()) {
            return {};
        }
        if (base::Status acked = session.channel->ack(lastTag_, true); !acked) {
            return acked;
        }
        if (base::Status sent = session.client->flush(); !sent) {
            return sent;
        }
        const auto now = std::chrono::steady_clock::now();
        for (const Label& label : unacked_) {
            ledger_.acked(queue_, label.publisher, label.number, now);
        }
        unacked_.clear();
        ackAt_ = 1 + random_.below(kPrefetch / 2);
        return {};
    }

  private:
    KillLedger& ledger_;
    std::size_t queue_;
    support::Random& random_;
    std::vector<Label> unacked_;
    std::uint64_t lastTag_ = 0;
    std::size_t ackAt_ = 1;
};

// True: nothing is left.
base::Result<bool> isDrained(Session& session, const std::string& queue) {
    auto state = session.channel->declareQueue(queue, {.passive = true});
    if (!state) {
        return state.error();
    }
    return state->messages == 0;
}

base::Status consume(Life& life, Session& session, Consumer& consumer, const std::string& name,
                     bool drain) {
    if (base::Status limited = session.channel->qos(kPrefetch); !limited) {
        return limited;
    }
    if (auto begun = session.channel->consume(name); !begun) {
        return begun.error();
    }
    while (!life.over) {
        auto next = session.channel->next(drain ? 500ms : 20ms);
        if (!next) {
            return next.error();
        }
        if (next->has_value()) {
            if (base::Status taken = consumer.take(session, **next); !taken) {
                return taken;
            }
            continue;
        }
        if (base::Status acked = consumer.ackAll(session); !acked || !drain) {
            if (!acked) {
                return acked;
            }
            continue;
        }
        const auto drained = isDrained(session, name);
        if (!drained) {
            return drained.error();
        }
        if (drained.value()) {
            return session.client->close();
        }
    }
    return {};
}

} // namespace

std::string declareTopology(const client::Endpoint& endpoint,
                            const std::vector<std::string>& queues) {
    auto session = connect(endpoint);
    if (!session) {
        return session.error().text;
    }
    AmqpChannel& channel = *session->channel;
    base::Status done = channel.declareExchange(kFanout, {.type = "fanout", .durable = true});
    for (const std::string& queue : queues) {
        std::string arguments;
        base::FieldTableWriter(arguments).text("x-queue-type", queue.substr(0, queue.find('-')));
        if (done.ok()) {
            const auto declared = channel.declareQueue(
                queue, {.durable = true, .arguments = base::bytesOf(arguments)});
            done = declared.ok() ? base::Status() : base::Status(declared.error());
        }
        if (done.ok() && queue.ends_with("-both")) {
            done = channel.bindQueue(queue, kFanout, "");
        }
    }
    if (done.ok()) {
        done = session->client->close();
    }
    return done.ok() ? std::string() : done.error().text;
}

void publishLoop(Life& life, KillLedger& ledger, std::size_t publisher, const std::string& exchange,
                 const std::string& key, support::Random random) {
    const std::string who = "publisher " + std::to_string(publisher);
    auto session = connect(life.endpoint);
    if (!session) {
        return tellUnlessKilled(life, ledger, who, session.error());
    }
    AmqpChannel& channel = *session->channel;
    base::Status status = channel.selectConfirms();
    wire::amqp::PropertyValues values;
    values.deliveryMode = 2;
    const std::string properties = values.encode();
    std::vector<std::uint64_t> numbers; // by sequence of this channel
    while (!life.over && status.ok()) {
        for (std::uint64_t n = 1 + random.below(40); n > 0 && status.ok(); --n) {
            const std::uint64_t number = ledger.publishing(publisher);
            const std::string body = bodyOf(publisher, number, someSize(random));
            numbers.push_back(number);
            const auto sent = channel.publish({.exchange = exchange,
                                               .routingKey = key,
                                               .properties = base::bytesOf(properties),
                                               .body = base::bytesOf(body)});
            status = sent.ok() ? channel.awaitConfirms(kWindow) : base::Status(sent.error());
        }
        if (status.ok()) {
            status = session->client->pollFor(
                std::chrono::milliseconds(random.below(life.paced ? 40 : 4)));
        }
        takeConfirms(ledger, publisher, channel, numbers);
    }
    if (status.ok()) {
        status = channel.awaitConfirms();
    }
    takeConfirms(ledger, publisher, channel, numbers);
    if (!status.ok()) {
        tellUnlessKilled(life, ledger, who, status.error());
    }
}

void consumeLoop(Life& life, KillLedger& ledger, std::size_t queue, const std::string& name,
                 bool drain, support::Random random) {
    auto session = connect(life.endpoint);
    if (!session) {
        return tellUnlessKilled(life, ledger, name, session.error());
    }
    Consumer consumer(ledger, queue, random);
    if (const base::Status status = consume(life, *session, consumer, name, drain); !status.ok()) {
        tellUnlessKilled(life, ledger, name, status.error());
    }
}

} // namespace millrace::crash_tests
