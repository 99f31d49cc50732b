// SPDX-License-Identifier: Apache-2.0
// A channel of the client against a canned broker: topology, publishing with confirms, consuming,
// closes.
#include "unit/client/canned_peer.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::client;
using namespace millrace::wire::amqp;
using namespace std::chrono_literals;

namespace {

// A client with its channel 1, over a script that goes on after the channel is open.
struct Journey {
    CannedPeer peer;
    std::unique_ptr<AmqpClient> client;
    std::unique_ptr<AmqpChannel> channel;

    explicit Journey(CannedPeer::Script script, const ClientOptions& options = patient())
        : peer([script = std::move(script)](CannedPeer& broker) {
              broker.channel();
              script(broker);
          }) {
        client = AmqpClient::logIn(peer.socket(), {}, options).value();
        channel = client->openChannel().value();
    }
    ~Journey() {
        channel.reset();
        client.reset();
    }
    base::Result<std::uint64_t> publish(const std::string& body) const {
        return channel->publish({"x", "key", {}, base::bytesOf(body), false});
    }
    void confirm() const { MILLRACE_CHECK(channel->selectConfirms().ok()); }
};

void answerConfirmSelect(CannedPeer& broker) {
    broker.expect<ConfirmSelect>();
    broker.send(1, ConfirmSelectOk{});
}

} // namespace

class AmqpChannelTest : public QObject {
    Q_OBJECT

  private slots:
    void aDeclaredQueueIsToldWithItsNumbers() {
        Journey journey([](CannedPeer& broker) {
            const auto asked = broker.expect<QueueDeclare>();
            CannedPeer::need(asked.durable && !asked.passive && asked.exclusive && !asked.noWait,
                             "flags");
            CannedPeer::need(asked.arguments.view().find("x-queue-type")->text() == "quorum",
                             "arguments");
            broker.send(1, QueueDeclareOk{"amq.gen-1", 7, 2});
            broker.expect<QueueDelete>();
            broker.send(1, QueueDeleteOk{7});
        });
        std::string arguments;
        base::FieldTableWriter(arguments).text("x-queue-type", "quorum");
        const auto declared = journey.channel->declareQueue(
            "", {.durable = true, .exclusive = true, .arguments = base::bytesOf(arguments)});
        QVERIFY(declared.ok());
        QVERIFY(declared.value().name == "amq.gen-1");
        QCOMPARE(declared.value().messages, 7U);
        QCOMPARE(declared.value().consumers, 2U);
        QCOMPARE(journey.channel->deleteQueue("amq.gen-1").value(), 7U);
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void everyTopologyMethodWaitsForItsAnswer() {
        Journey journey([](CannedPeer& broker) {
            CannedPeer::need(broker.expect<ExchangeDeclare>().type.view() == "topic", "type");
            broker.send(1, ExchangeDeclareOk{});
            CannedPeer::need(broker.expect<QueueBind>().routingKey.view() == "a.#", "key");
            broker.send(1, QueueBindOk{});
            broker.expect<QueueUnbind>();
            broker.send(1, QueueUnbindOk{});
            CannedPeer::need(broker.expect<ExchangeBind>().source.view() == "from", "source");
            broker.send(1, ExchangeBindOk{});
            broker.expect<ExchangeUnbind>();
            broker.send(1, ExchangeUnbindOk{});
            broker.expect<QueuePurge>();
            broker.send(1, QueuePurgeOk{9});
            broker.expect<ExchangeDelete>();
            broker.send(1, ExchangeDeleteOk{});
            broker.expect<TxSelect>();
            broker.send(1, TxSelectOk{});
            broker.expect<TxCommit>();
            broker.send(1, TxCommitOk{});
            broker.expect<TxRollback>();
            broker.send(1, TxRollbackOk{});
            CannedPeer::need(broker.expect<BasicQos>().prefetchCount == 50, "prefetch");
            broker.send(1, BasicQosOk{});
            broker.expect<BasicRecover>();
            broker.send(1, BasicRecoverOk{});
        });
        AmqpChannel& channel = *journey.channel;
        QVERIFY(channel.declareExchange("x", {.type = "topic", .durable = true}).ok());
        QVERIFY(channel.bindQueue("q", "x", "a.#").ok());
        QVERIFY(channel.unbindQueue("q", "x", "a.#").ok());
        QVERIFY(channel.bindExchange("to", "from", "k").ok());
        QVERIFY(channel.unbindExchange("to", "from", "k").ok());
        QCOMPARE(channel.purgeQueue("q").value(), 9U);
        QVERIFY(channel.deleteExchange("x").ok());
        QVERIFY(channel.txSelect().ok());
        QVERIFY(channel.txCommit().ok());
        QVERIFY(channel.txRollback().ok());
        QVERIFY(channel.qos(50).ok());
        QVERIFY(channel.recover().ok());
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void aChannelThatTheBrokerClosesTellsWhyAndTheConnectionGoesOn() {
        Journey journey([](CannedPeer& broker) {
            broker.expect<QueueDeclare>();
            broker.send(1, ChannelClose{404, "NOT_FOUND - no queue 'q' in vhost '/'", 50, 10});
            broker.expect<ChannelCloseOk>();
            broker.expect<ChannelOpen>();
            CannedPeer::need(broker.frame.channel == 2, "a new number");
            broker.send(2, ChannelOpenOk{});
        });
        const auto declared = journey.channel->declareQueue("q", {.passive = true});
        QVERIFY(!declared.ok());
        QVERIFY(declared.error().code == base::ErrorCode::notFound);
        QVERIFY(declared.error().text.find("no queue 'q'") != std::string::npos);
        QCOMPARE(journey.channel->closedByPeer()->classId, std::uint16_t{50});
        QVERIFY(journey.publish("x").error().code == base::ErrorCode::notFound);
        QVERIFY(journey.channel->next(1h).error().code == base::ErrorCode::notFound);
        QVERIFY(journey.client->openChannel().ok());
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void publishingDoesNotWaitForConfirms() {
        Journey journey([](CannedPeer& broker) {
            answerConfirmSelect(broker);
            for (int i = 1; i <= 1000; ++i) {
                CannedPeer::need(broker.expectPublish() == std::to_string(i), "in order");
            }
            broker.send(1, BasicAck{400, true});
            broker.send(1, BasicNack{402, false, false});
            broker.send(1, BasicAck{401, false});
            broker.send(1, BasicAck{1000, true});
        });
        journey.confirm();
        for (std::uint64_t i = 1; i <= 1000; ++i) {
            QCOMPARE(journey.publish(std::to_string(i)).value(), i);
        }
        QCOMPARE(journey.channel->confirms().outstanding(), std::uint64_t{1000});
        QVERIFY(journey.channel->awaitConfirms().ok());
        QVERIFY((journey.channel->takeConfirms() ==
                 std::vector<Confirm>{
                     {1, 400, true}, {402, 402, false}, {401, 401, true}, {403, 1000, true}}));
        QCOMPARE(journey.channel->confirms().refused(), std::uint64_t{1});
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void aWindowHoldsBackWhatIsTooMuch() {
        Journey journey([](CannedPeer& broker) {
            answerConfirmSelect(broker);
            for (std::uint64_t i = 1; i <= 10; ++i) {
                broker.expectPublish();
            }
            broker.send(1, BasicAck{3, true}); // nothing more has come until this
            for (std::uint64_t i = 11; i <= 13; ++i) {
                broker.expectPublish();
            }
            broker.send(1, BasicAck{13, true});
        });
        journey.confirm();
        for (std::uint64_t i = 1; i <= 13; ++i) {
            QVERIFY(journey.channel->awaitConfirms(9).ok());
            QVERIFY(journey.publish("x").ok());
            QVERIFY(journey.channel->confirms().outstanding() <= 10);
        }
        QVERIFY(journey.channel->awaitConfirms().ok());
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void aConfirmThatNeverComesIsATimeout() {
        Journey journey(
            [](CannedPeer& broker) {
                answerConfirmSelect(broker);
                broker.readToTheEnd();
            },
            impatient());
        journey.confirm();
        QVERIFY(journey.publish("x").ok());
        QVERIFY(journey.channel->awaitConfirms().error().code == base::ErrorCode::timeout);
    }

    void aConfirmForNobodyIsAnError() {
        Journey journey([](CannedPeer& broker) {
            answerConfirmSelect(broker);
            broker.expectPublish();
            broker.send(1, BasicAck{2, false});
            broker.readToTheEnd();
        });
        journey.confirm();
        QVERIFY(journey.publish("x").ok());
        const base::Status done = journey.channel->awaitConfirms();
        QVERIFY(!done.ok());
        QVERIFY(done.error().text.find("message 2") != std::string::npos);
    }

    void aBrokerThatReadsNothingMakesPublishFailAndNotHang() {
        Journey journey(
            [](CannedPeer& broker) {
                broker.send(0, ConnectionBlocked{"low on memory"});
                broker.leaveUnread();
                // unread
            },
            impatient());
        const std::string large(1'000'000, 'x');
        base::Result<std::uint64_t> published(std::uint64_t{0});
        for (int i = 0; i < 100 && published; ++i) {
            published = journey.publish(large);
        }
        QVERIFY(!published.ok());
        QVERIFY(published.error().code == base::ErrorCode::timeout);
        QVERIFY(published.error().text.find("low on memory") != std::string::npos);
    }

    void messagesThatCannotBeSentAreRefusedHere() {
        Journey journey([](CannedPeer& broker) {
            CannedPeer::need(broker.expectPublish().empty(), "an empty body");
            broker.readToTheEnd();
        });
        const std::string longKey(256, 'k');
        QVERIFY(!journey.channel->publish({"", longKey, {}, {}, false}).ok());
        const std::string longProperties(131072, 'p');
        QVERIFY(
            !journey.channel->publish({"", "k", base::bytesOf(longProperties), {}, false}).ok());
        QCOMPARE(journey.publish("").value(), std::uint64_t{0}); // no confirms, no number
        QVERIFY(journey.client->flush().ok());
    }

    void acksGoOutInOrderWithoutWaiting() {
        Journey journey([](CannedPeer& broker) {
            const auto ack = broker.expect<BasicAck>();
            CannedPeer::need(ack.deliveryTag == 5 && ack.multiple, "ack");
            const auto nack = broker.expect<BasicNack>();
            CannedPeer::need(nack.deliveryTag == 6 && !nack.multiple && nack.requeue, "nack");
            CannedPeer::need(!broker.expect<BasicReject>().requeue, "reject");
            broker.expect<ChannelClose>();
            broker.send(1, ChannelCloseOk{});
        });
        QVERIFY(journey.channel->ack(5, true).ok());
        QVERIFY(journey.channel->nack(6).ok());
        QVERIFY(journey.channel->reject(7, false).ok());
        QVERIFY(journey.channel->close().ok());
        QVERIFY(journey.channel->ack(8).error().code == base::ErrorCode::stopped);
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void closesThatCrossAreAnEndForBothSides() {
        Journey journey([](CannedPeer& broker) {
            broker.expect<ChannelClose>();
            broker.send(1,
                        ChannelClose{406, "PRECONDITION_FAILED - unknown delivery tag 8", 60, 80});
            broker.expect<ChannelCloseOk>();
            broker.send(1, ChannelCloseOk{});
            broker.expect<ConnectionClose>();
            broker.send(0, ConnectionCloseOk{});
        });
        QVERIFY(journey.channel->close().error().text.find("unknown delivery tag 8") !=
                std::string::npos);
        QVERIFY(journey.client->close().ok());
        QCOMPARE(journey.peer.finish(), std::string());
    }

    void aChannelThatIsLetGoIsClosedAndWhatStillComesForItIgnored() {
        Journey journey([](CannedPeer& broker) {
            broker.expect<ChannelClose>();
            broker.sendContent(BasicDeliver{"t", 1, false, "", "q"}, "late");
            broker.send(1, ChannelCloseOk{});
            broker.expect<ConnectionClose>();
            broker.send(0, ConnectionCloseOk{});
        });
        journey.channel.reset();
        QVERIFY(journey.client->close().ok());
        QCOMPARE(journey.peer.finish(), std::string());
    }
};

QTEST_APPLESS_MAIN(AmqpChannelTest)
#include "tst_amqp_channel.moc"
