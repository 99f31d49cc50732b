// SPDX-License-Identifier: Apache-2.0
// A broker in a folder of its own that is gone after the test, and sessions with it.
#pragma once

#include "client/amqp_channel.h"
#include "client/amqp_client.h"
#include "server/process_figures.h"
#include "support/broker_process.h"

#include <QTemporaryDir>
#include <QtTest>

#include <memory>

namespace millrace::server_tests {

// One connection with one channel; an error is a failed test and an empty session.
struct Session {
    std::unique_ptr<client::AmqpClient> client;
    std::unique_ptr<client::AmqpChannel> channel;
    explicit operator bool() const { return channel != nullptr; }
    client::AmqpChannel* operator->() const { return channel.get(); }
    // In order; the socket goes too.
    bool close() {
        const bool closed = client->close().ok();
        channel.reset();
        client.reset();
        return closed;
    }
};

inline Session sessionWith(std::uint16_t port, const client::ClientOptions& options = {}) {
    client::Endpoint endpoint;
    endpoint.port = port;
    Session session;
    auto connected = client::AmqpClient::connect(endpoint, options);
    if (!connected) {
        qWarning("no connection: %s", connected.error().text.c_str());
        return session;
    }
    session.client = std::move(*connected);
    auto opened = session.client->openChannel();
    if (!opened) {
        qWarning("no channel: %s", opened.error().text.c_str());
        return session;
    }
    session.channel = std::move(*opened);
    return session;
}

class StartedBroker {
  public:
    explicit StartedBroker(support::BrokerSettings settings = {})
        : process(MILLRACE_PROGRAM, folder_.path().toStdString(), std::move(settings)) {
        start();
    }
    // The next life, after stop() or killNow().
    void start() {
        process.spawn();
        fault_ = process.awaitReady();
    }
    // Empty: it is ready.
    const char* fault() const { return fault_.c_str(); }
    bool isReady() const { return fault_.empty(); }
    Session session(const client::ClientOptions& options = {}) const {
        return sessionWith(process.port(), options);
    }
    std::uint16_t port() const { return process.port(); }
    pid_t pid() const { return process.pid(); }
    std::string folder() const { return folder_.path().toStdString(); }

  private:
    QTemporaryDir folder_;
    std::string fault_;

  public:
    support::BrokerProcess process;
};

} // namespace millrace::server_tests

// Ends the test with the broker's log where it is not ready.
#define VERIFY_READY(broker) QVERIFY2((broker).isReady(), (broker).fault())
