// SPDX-License-Identifier: Apache-2.0
// Declaring, binding, deleting: replies, refusals in RabbitMQ's words, and what goes with what.
#include "unit/engine/engine_fixture.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;
using base::ReplyCode;

class TopologyTest : public QObject {
    Q_OBJECT

    static engine::Answer<engine::QueueDeclared> declare(Peer& p, std::string_view name,
                                                         bool passive = false,
                                                         bool durableQueue = true,
                                                         bool exclusive = false) {
        engine::QueueDeclare declare;
        declare.name = name;
        declare.passive = passive;
        declare.durable = durableQueue;
        declare.exclusive = exclusive;
        return p.fixture.broker->declareQueue(*p.connection, declare);
    }
    template <typename T>
    static void refused(base::Outcome<T> outcome, ReplyCode code, std::string_view text) {
        QVERIFY(!outcome.ok());
        QCOMPARE(outcome.refusal().code, code);
        QCOMPARE(outcome.refusal().text, std::string(text));
    }

  private slots:
    void missingQueueIs404AndDeletingItIsOk() {
        EngineFixture f;
        Peer p(f);
        const std::string text = "no queue 'q' in vhost '/'";
        refused(declare(p, "q", true), ReplyCode::notFound, text);
        refused(f.broker->purgeQueue(*p.connection, "/", "q"), ReplyCode::notFound, text);
        refused(p.consume("q", "c"), ReplyCode::notFound, text);
        refused(p.channel->get("q", true), ReplyCode::notFound, text);
        auto deleted = f.broker->deleteQueue(*p.connection, "/", "q", false, false);
        QVERIFY(deleted.ok());
        QCOMPARE(deleted->value, 0U);
    }

    void exclusiveQueueIsLockedForOthersAndGoesWithItsConnection() {
        EngineFixture f;
        Peer other(f);
        const std::string text =
            "cannot obtain exclusive access to locked queue 'q' in vhost '/'. It could be "
            "originally declared on another connection or the exclusive property value does not "
            "match that of the original declaration.";
        {
            Peer p(f);
            p.declare("q", true, true);
            refused(declare(other, "q"), ReplyCode::resourceLocked, text);
            refused(declare(other, "q", true), ReplyCode::resourceLocked, text);
            refused(other.consume("q", "c"), ReplyCode::resourceLocked, text);
            refused(f.broker->bind(*other.connection, {"/", "amq.direct", "q", "", false, {}}),
                    ReplyCode::resourceLocked, text);
            refused(f.broker->deleteQueue(*other.connection, "/", "q", false, false),
                    ReplyCode::resourceLocked, text);
            refused(declare(p, "q"), ReplyCode::resourceLocked, text); // exclusive differs
            QVERIFY(declare(p, "q", false, true, true).ok());
            p.channel.reset();
        }
        f.turn();
        QVERIFY(!f.broker->numbers("/", "q"));
        QVERIFY(declare(other, "q").ok());
    }

    void anotherFlagIsInequivalent() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        refused(declare(p, "q", false, false), ReplyCode::preconditionFailed,
                "inequivalent arg 'durable' for queue 'q' in vhost '/': received 'false' but "
                "current is 'true'");
    }

    void reservedNamesAreRefused() {
        EngineFixture f;
        Peer p(f);
        refused(declare(p, "amq.foo"), ReplyCode::accessRefused,
                "queue name 'amq.foo' contains reserved prefix 'amq.*'");
    }

    void serverChoosesA22CharacterName() {
        EngineFixture f;
        Peer p(f);
        auto first = declare(p, "", false, false, true);
        auto second = declare(p, "", false, false, true);
        QVERIFY(first.ok() && second.ok());
        QVERIFY(first->value.name.starts_with("amq.gen-"));
        QCOMPARE(first->value.name.size(), std::size_t{8 + 22});
        QVERIFY(first->value.name != second->value.name);
        QCOMPARE(first->visibleAt, 0U); // a volatile queue costs no sync
    }

    void deleteIfUnusedAndIfEmptyLookAtConsumersAndMessages() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.publish("q", "a", false).ok());
        refused(f.broker->deleteQueue(*p.connection, "/", "q", false, true),
                ReplyCode::preconditionFailed, "queue 'q' in vhost '/' not empty");
        QVERIFY(p.consume("q", "c").ok());
        refused(f.broker->deleteQueue(*p.connection, "/", "q", true, false),
                ReplyCode::preconditionFailed, "queue 'q' in vhost '/' in use");
        auto deleted = f.broker->deleteQueue(*p.connection, "/", "q", false, false);
        QVERIFY(deleted.ok());
        QCOMPARE(deleted->value, 1U);
    }

    void consumersOfADeletedQueueHearOfItAfterTheReply() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        auto deleted = f.broker->deleteQueue(*p.connection, "/", "q", false, false);
        QVERIFY(deleted.ok());
        QVERIFY(f.broker->await(*p.channel, deleted->visibleAt, 1));
        f.turn();
        QVERIFY(p.client.cancels.empty());
        f.sync();
        QCOMPARE(p.client.resumes.size(), std::size_t{1});
        QCOMPARE(p.client.cancels, std::vector<std::string>{"c"});
        auto cancelled = p.channel->cancel("c");
        QVERIFY(cancelled.ok() && !*cancelled);
    }

    void acksForADeletedQueueAreValidAndDoNothing() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.consume("q", "c").ok());
        QVERIFY(p.publish("q", "a").ok());
        f.sync();
        QVERIFY(f.broker->deleteQueue(*p.connection, "/", "q", false, false).ok());
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
        p.ack(1);
        f.sync();
    }

    void autoDeleteQueueGoesWithItsLastConsumer() {
        EngineFixture f;
        Peer p(f);
        p.declare("q", true, false, true);
        QVERIFY(p.consume("q", "a").ok());
        QVERIFY(p.consume("q", "b").ok());
        QVERIFY(p.channel->cancel("a").ok());
        QVERIFY(f.broker->numbers("/", "q").has_value());
        QVERIFY(p.channel->cancel("b").ok());
        QVERIFY(!f.broker->numbers("/", "q"));
    }

    void autoDeleteQueueGoesWithTheChannelOfItsConsumers() {
        EngineFixture f;
        Peer p(f);
        p.declare("q", false, false, true);
        p.declare("never", false, false, true);
        QVERIFY(p.consume("q", "a").ok());
        QVERIFY(p.consume("q", "b").ok());
        QVERIFY(p.publish("q", "m", false).ok());
        f.turn();
        p.channel.reset();
        f.turn();
        QVERIFY(!f.broker->numbers("/", "q"));
        QVERIFY(f.broker->numbers("/", "never").has_value()); // it never had a consumer
    }

    void durableTopologySurvivesAPowerCutAndTheRestDoesNot() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            p.declare("gone");
            p.declare("transient", false);
            engine::ExchangeDeclare exchange;
            exchange.name = "x";
            exchange.type = "topic";
            exchange.durable = true;
            QVERIFY(f.broker->declareExchange(*p.connection, exchange).ok());
            QVERIFY(f.broker->bind(*p.connection, {"/", "x", "q", "a.*", false, {}}).ok());
            f.sync();
            QVERIFY(f.broker->deleteQueue(*p.connection, "/", "gone", false, false).ok());
            f.sync();
        }
        f.restart();
        Peer p(f);
        QVERIFY(f.broker->numbers("/", "q").has_value());
        QVERIFY(!f.broker->numbers("/", "gone"));
        QVERIFY(!f.broker->numbers("/", "transient"));
        auto routed = p.publish("a.b", "m", true, "x");
        QVERIFY(routed.ok() && *routed == Channel::Routed::yes);
        QCOMPARE(p.ready("q"), 1U);
        // Ids are never used again.
        p.declare("new");
        f.sync();
    }

    void messagesOfADeletedQueueAreLetGoAfterAPowerCut() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            for (int i = 0; i < 100; ++i) {
                QVERIFY(p.publish("q", "m").ok());
            }
            f.sync();
            QVERIFY(f.broker->deleteQueue(*p.connection, "/", "q", false, false).ok());
            f.sync();
            QCOMPARE(f.durable.heldEntries(), 0U);
        }
        f.restart();
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void catalogChangesReachTheStoreOnceTheyAreCommitted() {
        EngineFixture f;
        Peer p(f);
        f.broker->takeCatalogChanges(); // of the fixture itself
        p.declare("q");
        p.declare("v", false);
        f.turn();
        QVERIFY(!f.broker->takeCatalogChanges());
        f.durable.writeTo(f.durable.appended());
        f.durable.syncTo(f.durable.appended());
        f.durable.harvest();
        QVERIFY(!f.broker->takeCatalogChanges()); // synced here, but not yet by a majority
        f.sync();
        const auto batch = f.broker->takeCatalogChanges();
        QVERIFY(batch.has_value());
        QCOMPARE(batch->changes.size(), std::size_t{1});
        QCOMPARE(batch->upTo, f.durable.appended());
        QVERIFY(!f.broker->takeCatalogChanges());
        f.broker->catalogStored(batch->upTo);
    }

    void changesThatTheStoreHasAreNotReplayed() {
        EngineFixture f;
        catalog::Snapshot snapshot;
        {
            Peer p(f);
            p.declare("q");
            f.sync();
            snapshot.stamp = f.durable.appended();
            snapshot.vhosts.push_back({"/"}); // the store says: no queue any more
            snapshot.nextQueueId = 7;
        }
        f.broker.reset();
        f.durable.restart();
        f.scratch.restart();
        f.start(snapshot);
        QVERIFY(!f.broker->numbers("/", "q"));
    }

    void usersAreKept() {
        EngineFixture f;
        QVERIFY(!f.broker->hasUsers());
        f.broker->putUser({"guest", "hash", {"administrator"}});
        f.sync();
        f.restart();
        QVERIFY(f.broker->user("guest") != nullptr);
        QCOMPARE(f.broker->user("guest")->passwordHash, std::string("hash"));
        QVERIFY(f.broker->user("joe") == nullptr);
    }
};

QTEST_APPLESS_MAIN(TopologyTest)
#include "tst_topology.moc"
