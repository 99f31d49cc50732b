// SPDX-License-Identifier: Apache-2.0
// Exchanges, queues and bindings come and go by RabbitMQ's rules, and what must be logged comes
// back.
#include "engine/routing_table.h"

#include "routing_fixture.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::tests;

namespace {

using Outcome = base::Outcome<engine::TopologyChange>;

const std::string kOnDefault = "403 operation not permitted on the default exchange";

// "+x" an exchange put, "-x>q" a binding to q dropped.
std::string changesOf(const engine::TopologyChange& change) {
    std::string out;
    for (const catalog::Change& one : change.durable) {
        out += (out.empty() ? "" : " ") + std::string(one.put ? "+" : "-");
        if (const auto* exchange = std::get_if<catalog::ExchangeSpec>(&one.object)) {
            out += exchange->name;
        } else {
            const auto& binding = std::get<catalog::BindingSpec>(one.object);
            out += binding.source + '>' + binding.destination;
        }
    }
    return out;
}

} // namespace

class RoutingTableTest : public QObject {
    Q_OBJECT

  private slots:
    void thePredeclaredExchangesAreThere() {
        RoutingFixture f;
        QCOMPARE(f.table.exchangeCount(), std::size_t{7});
        for (const char* name :
             {"", "amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match"}) {
            QVERIFY(f.table.findExchange(name)->isPredeclared());
            QVERIFY(!f.table.findExchange(name)->isInternal());
        }
        QVERIFY(f.table.findExchange("amq.rabbitmq.trace")->isInternal());
        QCOMPARE(answer(f.exchange("amq.fanout", "fanout")), std::string("ok"));
        QCOMPARE(answer(f.exchange("amq.direct", "fanout")),
                 std::string("406 inequivalent arg 'type' for exchange 'amq.direct' in vhost '/': "
                             "received 'fanout' but current is 'direct'"));
    }

    void declaringExchangesIsAnsweredAsByRabbitMq() {
        RoutingFixture f;
        QCOMPARE(answer(f.exchange("", "direct")), kOnDefault);
        QCOMPARE(answer(f.exchange("", "direct", "p")), kOnDefault);
        QCOMPARE(answer(f.exchange("x", "zz")), std::string("406 unknown exchange type 'zz'"));
        QCOMPARE(answer(f.exchange("amq.x", "direct")),
                 std::string("403 exchange name 'amq.x' contains reserved prefix 'amq.*'"));
        QCOMPARE(answer(f.exchange("x", "", "p")), std::string("404 no exchange 'x' in vhost '/'"));
        QCOMPARE(changesOf(*f.exchange("x", "direct")), std::string("+x"));
        const Outcome again = f.exchange("x", "direct");
        QVERIFY(again.ok());
        QCOMPARE(answer(f.exchange("x", "fanout", "p")), std::string("ok"));
        QCOMPARE(changesOf(*f.exchange("t", "direct", "")), std::string());
    }

    void deletingExchangesIsAnsweredAsByRabbitMq() {
        RoutingFixture f;
        f.queue("q");
        QCOMPARE(answer(f.table.deleteExchange("", false)), kOnDefault);
        QCOMPARE(
            answer(f.table.deleteExchange("amq.nope", false)),
            std::string("403 deletion of system exchange 'amq.nope' in vhost '/' not allowed"));
        Outcome missing = f.table.deleteExchange("nope", true);
        QVERIFY(missing.ok() && !missing->changed);
        QVERIFY(f.exchange("x", "direct").ok() && f.bind("x", "q", "k").ok());
        QCOMPARE(answer(f.table.deleteExchange("x", true)),
                 std::string("406 exchange 'x' in vhost '/' in use"));
        QCOMPARE(changesOf(*f.table.deleteExchange("x", false)), std::string("-x>q -x"));
        QVERIFY(f.table.findExchange("x") == nullptr);
        QVERIFY(f.table.bindingsToQueue("q").empty());
    }

    void bindingNeedsBothEndsAndTheSourceIsLookedAtFirst() {
        RoutingFixture f;
        f.queue("q");
        QCOMPARE(answer(f.bind("", "q", "k")), kOnDefault);
        QCOMPARE(answer(f.bindExchange("amq.topic", "")), kOnDefault);
        QCOMPARE(answer(f.bind("nox", "noq", "k")),
                 std::string("404 no exchange 'nox' in vhost '/'"));
        QCOMPARE(answer(f.bind("amq.topic", "noq", "k")),
                 std::string("404 no queue 'noq' in vhost '/'"));
        QCOMPARE(answer(f.bindExchange("amq.topic", "nox")),
                 std::string("404 no exchange 'nox' in vhost '/'"));
        std::string bad;
        base::FieldTableWriter(bad).text("x-match", "zz");
        QVERIFY(answer(f.bind("amq.headers", "q", "", bad)).starts_with("406 Invalid x-match"));
        QCOMPARE(answer(f.bind("amq.direct", "q", "", bad)), std::string("ok"));
    }

    void unbindingWhatIsNotThereIsOk() {
        RoutingFixture f;
        f.queue("q");
        for (const auto& outcome : {f.unbind("nox", "noq", "k"), f.unbind("amq.topic", "noq", "k"),
                                    f.unbind("amq.topic", "q", "k")}) {
            QCOMPARE(answer(outcome), std::string("ok"));
        }
        QCOMPARE(answer(f.unbind("", "q", "q")), kOnDefault);
    }

    void aBindingIsItsEndsKeyAndArguments() {
        RoutingFixture f;
        f.queue("q");
        std::string one, other, wide;
        base::FieldTableWriter(one).int32("a", 1).int32("b", 2);
        base::FieldTableWriter(other).int32("b", 2).int32("a", 1);
        base::FieldTableWriter(wide).long64("a", 1).int32("b", 2);
        QVERIFY(f.bind("amq.direct", "q", "k", one)->changed);
        QVERIFY(!f.bind("amq.direct", "q", "k", one)->changed);
        QVERIFY(!f.bind("amq.direct", "q", "k", other)->changed);
        QVERIFY(f.bind("amq.direct", "q", "k", wide)->changed);
        QVERIFY(f.bind("amq.direct", "q", "k")->changed);
        QVERIFY(f.bind("amq.direct", "q", "K", one)->changed);
        QVERIFY(f.bind("amq.topic", "q", "k", one)->changed);
        QCOMPARE(f.table.bindingsToQueue("q").size(), std::size_t{5});
        QVERIFY(f.unbind("amq.direct", "q", "k", other)->changed);
        QVERIFY(!f.unbind("amq.direct", "q", "k", one)->changed);
        QCOMPARE(f.route("amq.direct", "k"), std::string("q"));
    }

    void onlyBindingsBetweenDurableEndsAreLogged() {
        RoutingFixture f;
        f.queue("d");
        f.queue("t", false);
        QVERIFY(f.exchange("x", "fanout", "").ok());
        QCOMPARE(changesOf(*f.bind("amq.fanout", "d", "")), std::string("+amq.fanout>d"));
        QCOMPARE(changesOf(*f.bind("amq.fanout", "t", "")), std::string());
        QCOMPARE(changesOf(*f.bind("x", "d", "")), std::string());
        QCOMPARE(changesOf(*f.bindExchange("amq.fanout", "x")), std::string());
        QCOMPARE(changesOf(*f.bindExchange("amq.fanout", "amq.topic")),
                 std::string("+amq.fanout>amq.topic"));
        QCOMPARE(changesOf(*f.unbind("amq.fanout", "t", "")), std::string());
        QCOMPARE(changesOf(f.table.removeQueue("d")), std::string("-amq.fanout>d"));
    }

    void autoDeleteExchangesGoWithTheirLastBindingAndCascade() {
        RoutingFixture f;
        f.queue("q");
        f.queue("r");
        QVERIFY(f.exchange("c", "fanout", "da").ok() && f.exchange("b", "fanout", "da").ok() &&
                f.exchange("a", "fanout", "da").ok());
        QVERIFY(f.bindExchange("a", "b").ok() && f.bindExchange("b", "c").ok());
        QVERIFY(f.bind("c", "q", "").ok() && f.bind("c", "r", "").ok());
        engine::TopologyChange change = f.table.removeQueue("q");
        QCOMPARE(changesOf(change), std::string("-c>q"));
        QCOMPARE(f.route("a", ""), std::string("r"));
        change = *f.unbind("c", "r", "");
        QCOMPARE(changesOf(change), std::string("-c>r -b>c -c -a>b -b -a"));
        QCOMPARE(change.exchangesRemoved, std::size_t{3});
        QCOMPARE(change.bindingsRemoved, std::size_t{3});
        QVERIFY(!f.table.findExchange("a") && !f.table.findExchange("b") &&
                !f.table.findExchange("c"));
    }

    void anAutoDeleteExchangeThatWasNeverBoundStays() {
        RoutingFixture f;
        QVERIFY(f.exchange("a", "fanout", "a").ok() && f.exchange("x", "fanout").ok());
        QVERIFY(f.bindExchange("x", "a").ok());
        QVERIFY(f.table.findExchange("a") != nullptr);
        QVERIFY(f.table.deleteExchange("x", false).ok());
        QVERIFY(f.table.findExchange("a") != nullptr);
    }

    void autoDeleteExchangesInACircleGoTogether() {
        RoutingFixture f;
        QVERIFY(f.exchange("a", "fanout", "a").ok() && f.exchange("b", "fanout", "a").ok());
        QVERIFY(f.bindExchange("a", "b").ok() && f.bindExchange("b", "a").ok() &&
                f.bindExchange("a", "a").ok());
        QCOMPARE(f.table.deleteExchange("b", false)->exchangesRemoved, std::size_t{1});
        QCOMPARE(f.route("a", ""), std::string());
        QVERIFY(f.table.deleteExchange("a", false).ok());
        QCOMPARE(f.table.exchangeCount(), std::size_t{7});
    }

    void decidedChangesApplyWithoutCascades() {
        RoutingFixture f;
        f.queue("q");
        const catalog::ExchangeSpec spec{"/", "x", "direct", true, true, false, ""};
        const catalog::BindingSpec binding{"/", "x", "q", "k", false, ""};
        QVERIFY(!f.table.apply({true, binding})); // no source yet
        QVERIFY(f.table.apply({true, spec}));
        QVERIFY(f.table.apply({true, binding}));
        QVERIFY(!f.table.apply({true, binding}));
        QCOMPARE(f.route("x", "k"), std::string("q"));
        QVERIFY(f.table.apply({false, binding}));
        QVERIFY(f.table.findExchange("x") != nullptr); // its end is a change of its own
        QVERIFY(f.table.apply({false, spec}));
        QVERIFY(!f.table.apply({false, spec}));
        const catalog::ExchangeSpec predeclared{"/",   "amq.direct", "direct", true,
                                                false, false,        ""};
        QVERIFY(!f.table.apply({false, predeclared}));
        QVERIFY(f.table.findExchange("amq.direct") != nullptr);
    }

    void bindingsCanBeListed() {
        RoutingFixture f;
        f.queue("q");
        QVERIFY(f.bind("amq.topic", "q", "a.#").ok() &&
                f.bindExchange("amq.topic", "amq.fanout", "b").ok());
        QCOMPARE(f.table.bindingsFrom("amq.topic").size(), std::size_t{2});
        QCOMPARE(f.table.bindingsToExchange("amq.fanout").at(0).source, std::string("amq.topic"));
        QCOMPARE(f.table.bindingsToQueue("q").at(0).routingKey, std::string("a.#"));
        QVERIFY(f.table.bindingsFrom("nope").empty());
        std::size_t exchanges = 0;
        f.table.eachExchange([&](const engine::Exchange&) { ++exchanges; });
        QCOMPARE(exchanges, f.table.exchangeCount());
    }
};

QTEST_APPLESS_MAIN(RoutingTableTest)
#include "tst_routing_table.moc"
