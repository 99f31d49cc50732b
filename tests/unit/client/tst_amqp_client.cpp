// SPDX-License-Identifier: Apache-2.0
// The connection of the client against a canned broker: login, refusals, ends, and never a hang.
#include "unit/client/canned_peer.h"

#include <QtTest>

#include <netinet/in.h>

using namespace millrace;
using namespace millrace::client;
using namespace millrace::wire::amqp;
using namespace std::chrono_literals;

namespace {

struct Port {
    int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::uint16_t number = 0;

    Port() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        MILLRACE_CHECK(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) == 0);
        MILLRACE_CHECK(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) ==
                       0);
        number = ntohs(address.sin_port);
    }
    ~Port() { ::close(descriptor); }
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;
};

base::Error errorOfLogin(CannedPeer& peer, const ClientOptions& options = patient()) {
    auto client = AmqpClient::logIn(peer.socket(), {}, options);
    return client ? base::Error{base::ErrorCode::exists, "logged in"} : client.error();
}

} // namespace

class AmqpClientTest : public QObject {
    Q_OBJECT

  private slots:
    void logsInWithUserPasswordAndVhostAndTakesTheSmallerLimits() {
        CannedPeer peer([](CannedPeer& broker) {
            broker.greet();
            broker.start();
            const auto ok = broker.expect<ConnectionStartOk>();
            CannedPeer::need(ok.mechanism.view() == "PLAIN" &&
                                 ok.response.view() == std::string_view("\0me\0pa ss", 9),
                             "login");
            const auto able = ok.clientProperties.view().find("capabilities");
            CannedPeer::need(able &&
                                 base::FieldTable(able->raw).find("connection.blocked")->boolean(),
                             "capabilities");
            CannedPeer::need(ok.clientProperties.view().find("connection_name")->text() == "a test",
                             "name");
            broker.send(0, ConnectionTune{100, 131072, 60});
            const auto tuned = broker.expect<ConnectionTuneOk>();
            CannedPeer::need(tuned.channelMax == 100 && tuned.frameMax == 8192 &&
                                 tuned.heartbeat == 5,
                             "tuning");
            CannedPeer::need(broker.expect<ConnectionOpen>().virtualHost.view() == "v", "vhost");
            broker.send(0, ConnectionOpenOk{});
            broker.expect<ConnectionClose>();
            broker.send(0, ConnectionCloseOk{});
            broker.expectEnd();
        });
        ClientOptions options = patient();
        options.frameMax = 8192;
        options.heartbeat = 5s;
        options.name = "a test";
        {
            auto client = AmqpClient::logIn(peer.socket(), {"", 0, "me", "pa ss", "v"}, options);
            QVERIFY2(client.ok(), client.ok() ? "" : client.error().text.c_str());
            QVERIFY(client.value()->serverProperty("product") == "Canned");
            QVERIFY(client.value()->serverProperty("missing").empty());
            QVERIFY(client.value()->close().ok());
            QVERIFY(!client.value()->flush().ok()); // closed is closed
        }
        QCOMPARE(peer.finish(), std::string());
    }

    void aBrokerWithoutLimitsGetsOurs() {
        CannedPeer peer([](CannedPeer& broker) {
            broker.greet();
            broker.start();
            broker.expect<ConnectionStartOk>();
            broker.send(0, ConnectionTune{0, 0, 0});
            const auto tuned = broker.expect<ConnectionTuneOk>();
            CannedPeer::need(tuned.channelMax == 2047 && tuned.frameMax == 131072 &&
                                 tuned.heartbeat == 0,
                             "tuning");
        });
        errorOfLogin(peer);
        QCOMPARE(peer.finish(), std::string());
    }

    void aRefusedLoginIsDeniedWithTheBrokersWords() {
        CannedPeer peer([](CannedPeer& broker) {
            broker.greet();
            broker.start();
            broker.expect<ConnectionStartOk>();
            broker.send(0, ConnectionClose{403, "ACCESS_REFUSED - Login was refused", 0, 0});
            broker.expect<ConnectionCloseOk>();
        });
        const base::Error error = errorOfLogin(peer);
        QVERIFY(error.code == base::ErrorCode::denied);
        QVERIFY(error.text.find("403: ACCESS_REFUSED - Login was refused") != std::string::npos);
        QCOMPARE(peer.finish(), std::string());
    }

    void aLoginRefusedByClosingTheSocketIsDeniedToo() {
        CannedPeer peer([](CannedPeer& broker) {
            broker.greet();
            broker.start();
            broker.expect<ConnectionStartOk>();
        });
        QVERIFY(errorOfLogin(peer).code == base::ErrorCode::denied);
    }

    void aMissingVhostIsDenied() {
        CannedPeer peer([](CannedPeer& broker) {
            broker.greet();
            broker.start();
            broker.expect<ConnectionStartOk>();
            broker.send(0, ConnectionTune{2047, 131072, 60});
            broker.expect<ConnectionTuneOk>();
            broker.expect<ConnectionOpen>();
            broker.send(0, ConnectionClose{530, "NOT_ALLOWED - vhost nope not found", 10, 40});
            broker.readToTheEnd();
        });
        const base::Error error = errorOfLogin(peer);
        QVERIFY(error.code == base::ErrorCode::denied);
        QVERIFY(error.text.find("nope") != std::string::npos);
    }

    void aBrokerWithoutPlainAndOneOfAnotherProtocolAreUnsupported() {
        CannedPeer external([](CannedPeer& broker) {
            broker.greet();
            broker.start("EXTERNAL XPLAIN");
        });
        QVERIFY(errorOfLogin(external).code == base::ErrorCode::unsupported);
        CannedPeer newer([](CannedPeer& broker) {
            broker.greet();
            broker.raw(std::string("AMQP\0\1\0\0", 8));
        });
        QVERIFY(errorOfLogin(newer).code == base::ErrorCode::unsupported);
    }

    void aSilentBrokerIsATimeoutAtEveryStep_data() {
        QTest::addColumn<int>("steps");
        for (int steps = 0; steps < 3; ++steps) {
            QTest::addRow("after %d steps", steps) << steps;
        }
    }
    void aSilentBrokerIsATimeoutAtEveryStep() {
        QFETCH(int, steps);
        CannedPeer peer([steps](CannedPeer& broker) {
            broker.greet();
            if (steps > 0) {
                broker.start();
                broker.expect<ConnectionStartOk>();
            }
            if (steps > 1) {
                broker.send(0, ConnectionTune{2047, 131072, 0});
            }
            broker.readToTheEnd();
        });
        const base::Error error = errorOfLogin(peer, impatient());
        QVERIFY(error.code == base::ErrorCode::timeout);
        QVERIFY(error.text.find("50 ms") != std::string::npos);
    }

    void aBrokerThatDiesLaterIsAnErrorForEverythingAfter() {
        CannedPeer peer([](CannedPeer& broker) { broker.channel(); });
        auto client = AmqpClient::logIn(peer.socket(), {}, patient());
        QVERIFY(client.ok());
        auto channel = client.value()->openChannel();
        QVERIFY(channel.ok());
        peer.finish(); // closes the broker's end
        const auto first = channel.value()->declareQueue("q");
        QVERIFY(!first.ok());
        QVERIFY(!channel.value()->publish({"", "q", {}, base::bytesOf("x"), false}).ok());
        QVERIFY(!channel.value()->next(1h).ok());
        QVERIFY(!client.value()->openChannel().ok());
        QVERIFY(!client.value()->close().ok());
    }

    void aForcedCloseIsToldByEveryCallAfter() {
        CannedPeer peer([](CannedPeer& broker) {
            broker.handshake();
            broker.send(0, ConnectionClose{320, "CONNECTION_FORCED - shutdown", 0, 0});
            broker.expect<ConnectionCloseOk>();
        });
        auto client = AmqpClient::logIn(peer.socket(), {}, patient());
        QVERIFY(client.ok());
        base::Status polled;
        while (polled) {
            polled = client.value()->pollFor(20s);
        }
        QVERIFY(polled.error().code == base::ErrorCode::stopped);
        QVERIFY(client.value()->closedByPeer()->code == base::ReplyCode::connectionForced);
        QVERIFY(client.value()->flush().error().text.find("shutdown") != std::string::npos);
        QCOMPARE(peer.finish(), std::string());
    }

    void blockedIsRememberedUntilUnblocked() {
        CannedPeer peer([](CannedPeer& broker) {
            broker.handshake();
            broker.send(0, ConnectionBlocked{"low on disk"});
            broker.expect<ChannelOpen>(); // the client has seen it
            broker.send(0, ConnectionUnblocked{});
            broker.send(1, ChannelOpenOk{});
            broker.readToTheEnd();
        });
        auto client = AmqpClient::logIn(peer.socket(), {}, patient());
        while (client.value()->blockedReason().empty()) {
            QVERIFY(client.value()->pollFor(20s).ok());
        }
        QVERIFY(client.value()->blockedReason() == "low on disk");
        QVERIFY(client.value()->openChannel().ok());
        QVERIFY(client.value()->blockedReason().empty());
        client.value().reset();
    }

    void channelsAreCountedAndNumbersNotUsedTwice() {
        CannedPeer peer([](CannedPeer& broker) {
            broker.handshake(2);
            broker.expect<ChannelOpen>();
            broker.send(1, ChannelOpenOk{});
            broker.expect<ChannelClose>();
            broker.send(1, ChannelCloseOk{});
            broker.expect<ChannelOpen>();
            CannedPeer::need(broker.frame.channel == 2, "channel 2");
            broker.send(2, ChannelOpenOk{});
            broker.readToTheEnd();
        });
        auto client = AmqpClient::logIn(peer.socket(), {}, patient());
        QVERIFY(client.value()->openChannel().ok());
        QVERIFY(client.value()->openChannel().ok());
        QVERIFY(client.value()->openChannel().error().code == base::ErrorCode::full);
        client.value().reset();
        QCOMPARE(peer.finish(), std::string());
    }

    void methodsThatMakeNoSenseEndTheConnection() {
        CannedPeer peer([](CannedPeer& broker) {
            broker.handshake();
            broker.expect<ChannelOpen>();
            broker.send(0, ConnectionTune{1, 2, 3});
            broker.readToTheEnd();
        });
        auto client = AmqpClient::logIn(peer.socket(), {}, patient());
        const auto channel = client.value()->openChannel();
        QVERIFY(!channel.ok());
        QVERIFY(channel.error().text.find("10.30") != std::string::npos);
        client.value().reset();
    }

    void aPortWhereNobodyListensIsAnError() {
        Port port; // bound, not listening
        const auto client =
            AmqpClient::connect({"127.0.0.1", port.number, "u", "p", "/"}, patient());
        QVERIFY(!client.ok());
        QVERIFY(client.error().code == base::ErrorCode::io);
        QVERIFY(client.error().text.find(std::to_string(port.number)) != std::string::npos);
    }

    void aListenerThatNeverAnswersIsATimeout() {
        Port port;
        MILLRACE_CHECK(::listen(port.descriptor, 1) == 0);
        const auto client =
            AmqpClient::connect({"127.0.0.1", port.number, "u", "p", "/"}, impatient());
        QVERIFY(!client.ok());
        QVERIFY(client.error().code == base::ErrorCode::timeout);
    }
};

QTEST_APPLESS_MAIN(AmqpClientTest)
#include "tst_amqp_client.moc"
