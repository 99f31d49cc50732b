// SPDX-License-Identifier: Apache-2.0
// A message reaches the queues that RabbitMQ would give it, each once.
#include "engine/routing_table.h"

#include "routing_fixture.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::tests;

class RoutingWalkTest : public QObject {
    Q_OBJECT

  private slots:
    void init() {
        f_ = std::make_unique<RoutingFixture>();
        for (const char* name : {"q", "r", "s"}) {
            f_->queue(name);
        }
    }

    void theDefaultExchangeKnowsEachQueueByItsName() {
        QCOMPARE(f_->route("", "q"), std::string("q"));
        QCOMPARE(f_->route("", "nope"), std::string());
        f_->table.removeQueue("q");
        QCOMPARE(f_->route("", "q"), std::string());
        QVERIFY(f_->table.findQueue("q") == nullptr);
        QCOMPARE(f_->table.queueCount(), std::size_t{2});
    }

    void directNeedsTheSameKey() {
        bind("amq.direct", "q", "k"), bind("amq.direct", "r", "k"), bind("amq.direct", "s", "");
        QCOMPARE(f_->route("amq.direct", "k"), std::string("q r"));
        QCOMPARE(f_->route("amq.direct", ""), std::string("s"));
        QCOMPARE(f_->route("amq.direct", "K"), std::string());
        QVERIFY(f_->unbind("amq.direct", "q", "k").ok());
        QCOMPARE(f_->route("amq.direct", "k"), std::string("r"));
    }

    void fanoutTakesEveryKeyAndEachQueueOnce() {
        bind("amq.fanout", "q", "a"), bind("amq.fanout", "q", "b"), bind("amq.fanout", "r", "");
        QCOMPARE(f_->route("amq.fanout", "zz"), std::string("q r"));
    }

    void topicFollowsPatternsAndEachQueueOnce() {
        bind("amq.topic", "q", "a.*"), bind("amq.topic", "q", "#.b"), bind("amq.topic", "r", "a.#");
        QCOMPARE(f_->route("amq.topic", "a.b"), std::string("q r"));
        QCOMPARE(f_->route("amq.topic", "b"), std::string("q"));
        QCOMPARE(f_->route("amq.topic", "c"), std::string());
    }

    void headersFollowsTheTableOfTheMessage() {
        std::string wanted, given;
        base::FieldTableWriter(wanted).text("x-match", "any").int32("b", 2).int32("a", 1);
        base::FieldTableWriter(given).int32("z", 9).long64("a", 1);
        bind("amq.headers", "q", "", wanted), bind("amq.headers", "r", "", "");
        QCOMPARE(f_->route("amq.headers", "k", {}, given), std::string("q r"));
        QCOMPARE(f_->route("amq.headers", "k"), std::string("r"));
        QVERIFY(f_->unbind("amq.headers", "r", "").ok());
        QCOMPARE(f_->route("amq.headers", "k", {}, given), std::string("q"));
    }

    void furtherKeysAddQueues() {
        bind("amq.direct", "q", "a"), bind("amq.direct", "r", "b"), bind("amq.topic", "s", "b.*");
        QCOMPARE(f_->route("amq.direct", "a", {"b", "b", "nope"}), std::string("q r"));
        QCOMPARE(f_->route("amq.topic", "a", {"b.c"}), std::string("s"));
        QCOMPARE(f_->route("", "nope", {"q", "s", "q"}), std::string("q s"));
    }

    void exchangesLeadToExchangesAndCirclesEnd() {
        QVERIFY(f_->exchange("a", "direct").ok() && f_->exchange("b", "topic", "i").ok());
        QVERIFY(f_->bindExchange("a", "b", "k.l").ok() && f_->bindExchange("b", "a", "k.*").ok() &&
                f_->bindExchange("a", "a", "k.l").ok());
        bind("a", "q", "k.l"), bind("b", "r", "#"), bind("b", "q", "#");
        QCOMPARE(f_->route("a", "k.l"), std::string("q r"));
        QCOMPARE(f_->route("b", "k.l"), std::string("q r"));
        QCOMPARE(f_->route("a", "other"), std::string());
    }

    // As asked of RabbitMQ 4.0.5: it looks whether the exchange's own bindings match, not whether a
    // queue is found behind them.
    void theAlternateExchangeTakesWhatNoBindingMatches() {
        QVERIFY(f_->exchange("spare", "fanout").ok() && f_->exchange("empty", "direct").ok());
        QVERIFY(f_->exchange("x", "direct", "d", "spare").ok());
        bind("spare", "s", ""), bind("x", "q", "k");
        QVERIFY(f_->bindExchange("x", "empty", "deep").ok());
        QCOMPARE(f_->route("x", "k"), std::string("q"));
        QCOMPARE(f_->route("x", "other"), std::string("s"));
        QCOMPARE(f_->route("x", "deep"), std::string());
    }

    void alternateExchangesFormChainsAndCirclesEnd() {
        QVERIFY(f_->exchange("a", "direct", "d", "b").ok() &&
                f_->exchange("b", "topic", "d", "c").ok() &&
                f_->exchange("c", "fanout", "di", "a").ok() &&
                f_->exchange("lost", "fanout", "d", "nowhere").ok());
        QCOMPARE(f_->route("a", "k"), std::string());
        QCOMPARE(f_->route("lost", "k"), std::string());
        bind("c", "q", "");
        QCOMPARE(f_->route("a", "k"), std::string("q"));
        bind("b", "r", "k");
        QCOMPARE(f_->route("a", "k"), std::string("r"));
        QCOMPARE(f_->route("a", "l"), std::string("q"));
    }

    void anExchangeBehindABindingUsesItsOwnAlternate() {
        QVERIFY(f_->exchange("spare", "fanout").ok() &&
                f_->exchange("y", "direct", "d", "spare").ok() && f_->exchange("x", "fanout").ok());
        bind("spare", "s", ""), bind("x", "q", "");
        QVERIFY(f_->bindExchange("x", "y", "").ok());
        QCOMPARE(f_->route("x", "k"), std::string("q s"));
    }

    void removedQueuesAreNotFoundThroughAnyExchange() {
        bind("amq.direct", "q", "k"), bind("amq.topic", "q", "#"), bind("amq.fanout", "q", ""),
            bind("amq.match", "q", "");
        f_->table.removeQueue("q");
        for (const char* name : {"amq.direct", "amq.topic", "amq.fanout", "amq.match"}) {
            QCOMPARE(f_->route(name, "k"), std::string());
            QVERIFY(f_->table.bindingsFrom(name).empty());
        }
        f_->queue("q");
        QCOMPARE(f_->route("", "q"), std::string("q"));
    }

  private:
    void bind(std::string_view source, std::string_view queue, std::string_view key,
              std::string_view arguments = "") {
        QVERIFY(f_->bind(source, queue, key, arguments).ok());
    }

    std::unique_ptr<RoutingFixture> f_;
};

QTEST_APPLESS_MAIN(RoutingWalkTest)
#include "tst_routing_walk.moc"
