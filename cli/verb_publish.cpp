// SPDX-License-Identifier: Apache-2.0
// `millrace publish`: sends messages and says "published" only of what the broker has confirmed,
// i.e. what is on its disk.
#include "cli/credentials.h"
#include "cli/interruption.h"
#include "cli/message_source.h"
#include "cli/verbs.h"
#include "client/amqp_channel.h"

#include <iostream>

namespace millrace::cli {

namespace {

// Unconfirmed messages under way: enough for the broker to sync many at once.
constexpr std::uint64_t kWindow = 1000;

// What became of the messages.
struct Tally {
    std::uint64_t sent = 0, returned = 0;
    std::string returnReason;
};

void count(client::AmqpChannel& channel, Tally& tally) {
    for (const client::Returned& returned : channel.takeReturns()) {
        ++tally.returned;
        tally.returnReason = returned.text;
    }
    (void)channel.takeConfirms();
}

base::Status sendAll(client::AmqpChannel& channel, const PublishRequest& request,
                     const std::string& properties, MessageSource& source, Tally& tally) {
    while (auto body = source.next()) {
        const client::Message message{request.exchange, request.key, base::bytesOf(properties),
                                      base::bytesOf(*body), request.mandatory};
        for (std::uint64_t copy = 0; copy < request.count; ++copy) {
            if (interrupted()) {
                return {};
            }
            if (auto room = channel.awaitConfirms(kWindow - 1); !room) {
                return room;
            }
            if (auto sent = channel.publish(message); !sent) {
                return sent.error();
            }
            ++tally.sent;
            if (tally.sent % kWindow == 0) {
                count(channel, tally);
            }
        }
    }
    return {};
}

base::Status declareIfAsked(client::AmqpClient& client, const PublishRequest& request) {
    if (!request.declareQueue) {
        return {};
    }
    auto channel = client.openChannel();
    if (!channel) {
        return channel.error();
    }
    client::QueueOptions look;
    look.passive = true;
    if ((*channel)->declareQueue(request.key, look)) {
        return {};
    }
    auto other = client.openChannel();
    if (!other) {
        return other.error();
    }
    client::QueueOptions durable;
    durable.durable = true;
    auto declared = (*other)->declareQueue(request.key, durable);
    return declared ? base::Status() : base::Status(declared.error());
}

ExitCode report(const PublishRequest& request, const Tally& tally, const base::Status& status,
                std::uint64_t unanswered, std::uint64_t refused) {
    const std::uint64_t lost = std::min(tally.sent, tally.returned + unanswered + refused);
    std::cerr << "published " << tally.sent - lost << " of " << tally.sent << '\n';
    if (!status) {
        complain(status.error().text);
        return tally.sent > lost ? ExitCode::partly : codeOf(status.error());
    }
    if (tally.returned != 0) {
        complain("no queue takes messages to exchange '" + request.exchange + "' with key '" +
                 request.key + "' (" + tally.returnReason + ")" +
                 (request.exchange.empty() ? "; --declare makes the queue" : ""));
    }
    if (refused != 0) {
        complain("the broker refused " + std::to_string(refused));
    }
    if (interrupted()) {
        return ExitCode::interrupted;
    }
    if (lost == 0) {
        return ExitCode::ok;
    }
    return tally.sent > lost ? ExitCode::partly : ExitCode::failed;
}

} // namespace

ExitCode publish(const PublishRequest& request) {
    auto properties = encodeProperties(request);
    if (!properties) {
        complain(properties.error().text);
        return ExitCode::badData;
    }
    MessageSource source(request);
    if (auto opened = source.open(); !opened) {
        complain(opened.error().text);
        return ExitCode::noInput;
    }
    ExitCode code = ExitCode::ok;
    const std::unique_ptr<client::AmqpClient> client = connect(request.server, code);
    if (!client) {
        return code;
    }
    watchForInterruption();
    base::Status status = declareIfAsked(*client, request);
    auto channel = client->openChannel();
    if (!status || !channel) {
        const base::Error error = status ? channel.error() : status.error();
        complain(error.text);
        return codeOf(error);
    }
    Tally tally;
    status = (*channel)->selectConfirms();
    if (status) {
        status = sendAll(**channel, request, *properties, source, tally);
    }
    if (status) {
        status = (*channel)->awaitConfirms(0);
    }
    count(**channel, tally);
    code = report(request, tally, status, (*channel)->confirms().outstanding(),
                  (*channel)->confirms().refused());
    (void)client->close().ok();
    return code;
}

} // namespace millrace::cli
