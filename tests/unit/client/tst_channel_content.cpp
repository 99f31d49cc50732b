// SPDX-License-Identifier: Apache-2.0
// What arrives on a channel: deliveries, got and returned messages, cancels, and nonsense.
#include "unit/client/canned_peer.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::client;
using namespace millrace::wire::amqp;
using namespace std::chrono_literals;

namespace {

struct Journey {
    CannedPeer peer;
    std::unique_ptr<AmqpClient> client;
    std::unique_ptr<AmqpChannel> channel;

    explicit Journey(CannedPeer::Script script)
        : peer([script = std::move(script)](CannedPeer& broker) {
              broker.channel();
              script(broker);
          }) {
        client = AmqpClient::logIn(peer.socket(), {}, patient()).value();
        channel = client->openChannel().value();
    }
    ~Journey() {
        channel.reset();
        client.reset();
    }
    Delivery next() const {
        auto came = channel->next(20s);
        return came && came.value() ? *came.value() : Delivery{};
    }
};

std::string persistent() {
    PropertyValues values;
    values.deliveryMode = 2;
    values.messageId = "m1";
    return values.encode();
}

} // namespace

class ChannelContentTest : public QObject {
    Q_OBJECT

  private slots:
    void deliveriesComeOutInOrderWithEverythingTheyHave() {
        Journey journey([](CannedPeer& broker) {
            const auto asked = broker.expect<BasicConsume>();
            CannedPeer::need(asked.queue.view() == "q" && asked.noAck &&
                                 asked.consumerTag.view().empty(),
                             "consume");
            broker.send(1, BasicConsumeOk{"amq.ctag-1"});
            broker.sendContent(BasicDeliver{"amq.ctag-1", 1, true, "x", "k"}, "first",
                               persistent());
            broker.sendContent(BasicDeliver{"amq.ctag-1", 2, false, "", "q"}, "");
            broker.sendContent(BasicDeliver{"amq.ctag-1", 3, false, "", "q"},
                               std::string(100'000, 'b'), {}, 4096);
        });
        QVERIFY(journey.channel->consume("q", {.noAck = true}).value() == "amq.ctag-1");
        const Delivery first = journey.next();
        QVERIFY(first.consumerTag == "amq.ctag-1" && first.redelivered && first.exchange == "x" &&
                first.routingKey == "k");
        QVERIFY(first.body == "first" && first.deliveryTag == 1);
        QVERIFY(first.parsed().persistent());
        QVERIFY(first.parsed().messageId() == "m1");
        const Delivery second = journey.next();
        QVERIFY(second.body.empty() && second.deliveryTag == 2);
        QCOMPARE(journey.next().body.size(), std::size_t{100'000});
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void nextIsOverWhenItsTimeIs() {
        Journey journey([](CannedPeer& broker) { broker.readToTheEnd(); });
        const auto came = journey.channel->next(10ms);
        QVERIFY(came.ok());
        QVERIFY(!came.value());
    }

    void deliveriesThatCameBeforeTheEndAreNotLost() {
        Journey journey([](CannedPeer& broker) {
            broker.sendContent(BasicDeliver{"t", 1, false, "", "q"}, "a");
            broker.sendContent(BasicDeliver{"t", 2, false, "", "q"}, "b");
            broker.send(0, ConnectionClose{320, "CONNECTION_FORCED - shutdown", 0, 0});
            broker.expect<ConnectionCloseOk>();
        });
        QVERIFY(journey.next().body == "a");
        while (journey.client->pollFor(20s).ok()) {
        }
        QVERIFY(journey.next().body == "b");
        QVERIFY(journey.channel->next(20s).error().code == base::ErrorCode::stopped);
    }

    void getGivesAMessageOrNone() {
        Journey journey([](CannedPeer& broker) {
            broker.expect<BasicGet>();
            broker.sendContent(BasicGetOk{4, true, "", "q", 11}, "got", persistent());
            CannedPeer::need(broker.expect<BasicGet>().noAck, "no-ack");
            broker.send(1, BasicGetEmpty{});
            broker.expect<BasicGet>();
            broker.sendContent(BasicGetOk{5, false, "", "q", 0}, "");
        });
        const auto got = journey.channel->get("q");
        QVERIFY(got.ok() && got.value());
        QVERIFY(got.value()->body == "got" && got.value()->redelivered &&
                got.value()->deliveryTag == 4);
        QCOMPARE(got.value()->remaining, 11U);
        const auto empty = journey.channel->get("q", true);
        QVERIFY(empty.ok() && !empty.value());
        QVERIFY(journey.channel->get("q").value()->body.empty());
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void aReturnedMessageIsKeptAndComesBeforeItsConfirm() {
        Journey journey([](CannedPeer& broker) {
            broker.expect<ConfirmSelect>();
            broker.send(1, ConfirmSelectOk{});
            broker.expectPublish();
            broker.sendContent(BasicReturn{312, "NO_ROUTE", "", "nowhere"}, "back");
            broker.send(1, BasicAck{1, false});
        });
        QVERIFY(journey.channel->selectConfirms().ok());
        QVERIFY(journey.channel->publish({"", "nowhere", {}, base::bytesOf("back"), true}).ok());
        QVERIFY(journey.channel->awaitConfirms().ok());
        const std::vector<Returned> returns = journey.channel->takeReturns();
        QCOMPARE(returns.size(), std::size_t{1});
        QVERIFY(returns[0].code == 312 && returns[0].body == "back" &&
                returns[0].routingKey == "nowhere");
        QVERIFY(journey.channel->takeReturns().empty());
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void aConsumerThatTheBrokerCancelsIsTold() {
        Journey journey([](CannedPeer& broker) {
            CannedPeer::need(broker.expect<BasicCancel>().consumerTag.view() == "t3", "cancel");
            broker.send(1, BasicCancel{"t1", true});
            broker.send(1, BasicCancel{"t2", false});
            broker.send(1, BasicCancelOk{"t3"});
            CannedPeer::need(broker.expect<BasicCancelOk>().consumerTag.view() == "t2",
                             "cancel-ok");
        });
        QVERIFY(journey.channel->cancel("t3").ok());
        QVERIFY(journey.client->flush().ok());
        QVERIFY((journey.channel->takeCancelled() == std::vector<std::string>{"t1", "t2"}));
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void bothSidesMayWriteMuchAtOnce() {
        const std::string large(1'000'000, 'x');
        Journey journey([&large](CannedPeer& broker) {
            for (std::uint64_t tag = 1; tag <= 8;
                 ++tag) { // more than sockets hold, before it reads anything
                broker.sendContent(BasicDeliver{"t", tag, false, "", "q"}, large);
            }
            for (int i = 0; i < 8; ++i) {
                CannedPeer::need(broker.expectPublish() == large, "whole");
            }
        });
        for (int i = 0; i < 8; ++i) {
            QVERIFY(journey.channel->publish({"", "q", {}, base::bytesOf(large), false}).ok());
        }
        QVERIFY(journey.client->flush().ok());
        for (int i = 0; i < 8; ++i) {
            QVERIFY(journey.next().body == large);
        }
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void nonsenseEndsTheConnection_data() {
        QTest::addColumn<QByteArray>("bytes");
        const auto row = [](const char* name, const char* hex) {
            QTest::newRow(name) << QByteArray::fromHex(hex);
        };
        const QByteArray deliver("01 0001 00000012 003c 003c 0174 0000000000000001 00 00 016b ce");
        row("a body without a header", "03 0001 00000001 78 ce");
        row("a header without a method", "02 0001 0000000e 003c 0000 0000000000000000 0000 ce");
        row("a method within a content", deliver + deliver);
        row("a header of another class",
            deliver + "02 0001 0000000e 0032 0000 0000000000000000 0000 ce");
        row("a message that is too large",
            deliver + "02 0001 0000000e 003c 0000 0000000040000000 0000 ce");
        row("more body than announced",
            deliver +
                "02 0001 0000000e 003c 0000 0000000000000001 0000 ce 03 0001 00000002 7878 ce");
        row("a reply to no question", "01 0001 00000004 0032 0015 ce");
        row("a method that is not one", "01 0001 00000004 0063 0063 ce");
        row("a confirm without confirms", "01 0001 0000000d 003c 0050 0000000000000001 00 ce");
        row("content on channel 0", "03 0000 00000001 78 ce");
    }
    void nonsenseEndsTheConnection() {
        QFETCH(QByteArray, bytes);
        Journey journey([bytes](CannedPeer& broker) {
            broker.raw(bytes.toStdString());
            broker.readToTheEnd();
        });
        const auto came = journey.channel->next(20s);
        QVERIFY(!came.ok());
        QVERIFY(came.error().code == base::ErrorCode::invalid);
        QVERIFY(journey.client->failure().has_value());
    }
};

QTEST_APPLESS_MAIN(ChannelContentTest)
#include "tst_channel_content.moc"
