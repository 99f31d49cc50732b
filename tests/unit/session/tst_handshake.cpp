// SPDX-License-Identifier: Apache-2.0
// From the protocol header to open-ok, and every way in which it can go wrong.
#include "methods.h"
#include "scripted_peer.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;
using namespace std::chrono_literals;

namespace {

const QString kTune = "0 10.30 2047 131072 60";
const QString kRefused = "0 10.50 403 'ACCESS_REFUSED - Login was refused using authentication "
                         "mechanism PLAIN. For details see the "
                         "broker logfile.' 0 0";

QString refusedTune(const QString& words) {
    return "0 10.50 530 'NOT_ALLOWED - negotiated " + words + "' 10 30";
}

struct Start {
    base::Bytes properties;
    void on(const amqp::ConnectionStart& method) { properties = method.serverProperties; }
    template <typename Method> void on(const Method&) {}
};

} // namespace

class TestHandshake : public QObject {
    Q_OBJECT
  private slots:
    void theUsualBeginningOpensTheConnection() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.raw(base::bytesOf(amqp::kProtocolHeader));
        const QStringList start = peer.received();
        QCOMPARE(start.size(), 1);
        QVERIFY2(start[0].startsWith("0 10.10 0 9 {"), qPrintable(start[0]));
        QVERIFY2(start[0].endsWith("'PLAIN AMQPLAIN' 'en_US'"), qPrintable(start[0]));
        peer.send(0, peer.startOk());
        QCOMPARE(peer.received(), QStringList{kTune});
        peer.send(0,
                  amqp::ConnectionTuneOk{std::uint16_t{10}, std::uint32_t{4096}, std::uint16_t{0}});
        peer.send(0, amqp::ConnectionOpen{"/", "", true});
        QCOMPARE(peer.received(), QStringList{"0 10.41 ''"});
        QVERIFY(peer.connection().isOpen());
        QCOMPARE(peer.connection().user(), std::string("guest"));
    }

    void serverPropertiesLetClientsEnableTheirFeatures() {
        TestNode node;
        session::amqp::Connection connection(node.environment, {"127.0.0.1", 1, true}, [] {});
        connection.feed(base::bytesOf(amqp::kProtocolHeader));
        std::array<base::Bytes, 1> out;
        QCOMPARE(connection.outbox().gather(out), std::size_t{1});
        Start start;
        const base::Bytes payload = out[0].subspan(7, out[0].size() - 8);
        QCOMPARE(amqp::ClientMethods::dispatch(payload, start), wire::Dispatched::handled);
        const base::FieldTable table(start.properties);
        QCOMPARE(std::string(table.find("product")->text()), std::string("Millrace"));
        QCOMPARE(std::string(table.find("version")->text()), std::string("4.1.0"));
        for (const char* name :
             {"cluster_name", "copyright", "information", "platform", "product_version"}) {
            QVERIFY2(table.find(name) && table.find(name)->isText(), name);
        }
        const base::FieldTable known(table.find("capabilities")->raw);
        for (const char* name :
             {"publisher_confirms", "exchange_exchange_bindings", "basic.nack",
              "consumer_cancel_notify", "connection.blocked", "consumer_priorities",
              "authentication_failure_close", "per_consumer_qos", "direct_reply_to"}) {
            QVERIFY2(known.find(name) && known.find(name)->boolean(), name);
        }
    }

    void anotherProtocolIsToldOursAndClosed_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("http") << QByteArray("GET / HTTP/1.1\r\n");
        QTest::newRow("amqp 1.0") << QByteArray("AMQP\x03\x01\x00\x00", 8);
        QTest::newRow("amqp 0-8") << QByteArray("AMQP\x01\x01\x08\x00", 8);
        QTest::newRow("tls") << QByteArray("\x16\x03\x01\x02\x00\x01\x00\x01", 8);
    }
    void anotherProtocolIsToldOursAndClosed() {
        QFETCH(QByteArray, bytes);
        TestNode node;
        ScriptedPeer peer(node);
        peer.raw(base::bytesOf(
            std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size()))));
        QCOMPARE(peer.received(), QStringList{"AMQP 0 0 9 1"});
        QVERIFY(peer.connection().finished());
    }

    void anAmqp09HeaderIsTaken() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.raw(base::bytesOf(std::string_view("AMQP\x01\x01\x00\x09", 8)));
        QVERIFY(peer.received().value(0).startsWith("0 10.10"));
    }

    void amqplainCarriesATable() {
        TestNode node;
        ScriptedPeer peer(node);
        std::string response;
        base::FieldTableWriter(response).text("LOGIN", "guest").text("PASSWORD", "guest");
        peer.raw(base::bytesOf(amqp::kProtocolHeader));
        amqp::ConnectionStartOk method = peer.startOk(response);
        method.mechanism = "AMQPLAIN";
        peer.received();
        peer.send(0, method);
        QCOMPARE(peer.received(), QStringList{kTune});
    }

    void aWrongPasswordIsRefusedInWordsToWhoUnderstands() {
        for (const std::string_view response :
             {std::string_view("\0guest\0wrong", 12), std::string_view("\0nobody\0x", 9)}) {
            TestNode node;
            ScriptedPeer peer(node);
            peer.raw(base::bytesOf(amqp::kProtocolHeader));
            peer.received();
            peer.send(0, peer.startOk(response));
            QCOMPARE(peer.received(), QStringList{kRefused});
            peer.send(0, amqp::ConnectionCloseOk{});
            QVERIFY(peer.connection().finished());
        }
    }

    void aWrongPasswordIsAnsweredBySilenceElse() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.capabilities.clear();
        peer.raw(base::bytesOf(amqp::kProtocolHeader));
        peer.received();
        peer.send(0, peer.startOk(std::string_view("\0guest\0wrong", 12)));
        node.clock.advance(2900ms);
        peer.connection().tick();
        QCOMPARE(peer.received(), QStringList{});
        QVERIFY(!peer.connection().finished());
        node.clock.advance(200ms);
        peer.connection().tick();
        QVERIFY(peer.connection().mustDrop());
    }

    void guestComesFromThisMachineOnly() {
        TestNode node;
        ScriptedPeer peer(node, false);
        peer.raw(base::bytesOf(amqp::kProtocolHeader));
        peer.received();
        peer.send(0, peer.startOk());
        QCOMPARE(peer.received(), QStringList{kRefused});
        node.options.loopbackUsers.clear();
        ScriptedPeer other(node, false);
        other.open();
    }

    void anUnknownMechanismIsAnsweredBySilence() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.raw(base::bytesOf(amqp::kProtocolHeader));
        peer.received();
        amqp::ConnectionStartOk method = peer.startOk();
        method.mechanism = "FOO";
        peer.send(0, method);
        QCOMPARE(peer.received(), QStringList{});
        node.clock.advance(3s);
        peer.connection().tick();
        QVERIFY(peer.connection().mustDrop());
    }

    void whatCannotBeAgreedIsSaid_data() {
        QTest::addColumn<int>("channelMax");
        QTest::addColumn<int>("frameMax");
        QTest::addColumn<QString>("answer");
        QTest::newRow("frame too small")
            << 2047 << 4095
            << refusedTune("frame_max = 4095 is lower than the minimum allowed value (4096)");
        QTest::newRow("frame too large")
            << 2047 << 262144
            << refusedTune("frame_max = 262144 is higher than the maximum allowed value (131072)");
        QTest::newRow("no frame limit")
            << 2047 << 0
            << refusedTune("frame_max = 0 is higher than the maximum allowed value (131072)");
        QTest::newRow("too many channels")
            << 4000 << 131072
            << refusedTune("channel_max = 4000 is higher than the maximum allowed value (2047)");
        QTest::newRow("no channel limit")
            << 0 << 131072
            << refusedTune("channel_max = 0 is higher than the maximum allowed value (2047)");
    }
    void whatCannotBeAgreedIsSaid() {
        QFETCH(int, channelMax);
        QFETCH(int, frameMax);
        QFETCH(QString, answer);
        TestNode node;
        ScriptedPeer peer(node);
        peer.raw(base::bytesOf(amqp::kProtocolHeader));
        peer.send(0, peer.startOk());
        peer.received();
        peer.send(0,
                  amqp::ConnectionTuneOk{static_cast<std::uint16_t>(channelMax),
                                         static_cast<std::uint32_t>(frameMax), std::uint16_t{0}});
        peer.send(0, amqp::ConnectionOpen{"/", "", false});
        QCOMPARE(peer.received(), QStringList{answer});
        QVERIFY(!peer.connection().finished()); // it is to be read
    }

    void aMissingVhostIsNamed() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.login();
        peer.received();
        peer.send(0, amqp::ConnectionOpen{"nope", "", false});
        QCOMPARE(peer.received(),
                 QStringList{"0 10.50 530 'NOT_ALLOWED - vhost nope not found' 10 40"});
    }

    void aStepOutOfOrderIsRefused() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.send(0, amqp::ConnectionOpen{"/", "", false});
        QCOMPARE(peer.received(), QStringList{"0 10.50 504 'CHANNEL_ERROR - unexpected method in "
                                              "connection state running' 10 40"});
        ScriptedPeer early(node);
        early.login();
        early.received();
        early.send(0, amqp::ConnectionTuneOk{});
        QCOMPARE(early.received(), QStringList{"0 10.50 504 'CHANNEL_ERROR - unexpected method in "
                                               "connection state opening' 10 31"});
    }

    void whoDawdlesIsDropped() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.login();
        node.clock.advance(9900ms);
        peer.connection().tick();
        QVERIFY(!peer.connection().mustDrop());
        node.clock.advance(200ms);
        peer.connection().tick();
        QVERIFY(peer.connection().mustDrop());
    }

    void aByteAtATimeIsAsGoodAsAll() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.setStep(1);
        peer.open();
        peer.openChannel(1);
    }
};

QTEST_APPLESS_MAIN(TestHandshake)
#include "tst_handshake.moc"
