// SPDX-License-Identifier: Apache-2.0
// Routing allocates nothing once it is warm, and no single command on a large table takes long.
#include "engine/routing_table.h"

#include "routing_fixture.h"

#include <QElapsedTimer>
#include <QtTest>

#include <cstdlib>
#include <ctime>
#include <new>

using namespace millrace;
using namespace millrace::tests;

namespace {
std::size_t allocations = 0;

constexpr int kQueues = 200000; // more than the 196,608 that a table of 262,144 slots takes
constexpr std::int64_t kForever = std::int64_t{1} << 62;

std::int64_t threadTimeNs() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}
} // namespace

void* operator new(std::size_t size) {
    ++allocations;
    void* memory = std::malloc(size);
    if (memory == nullptr) {
        std::abort();
    }
    return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

class RoutingCostTest : public QObject {
    Q_OBJECT

  private slots:
    void warmRoutingAllocatesNothing_data() {
        QTest::addColumn<QString>("exchange");
        QTest::addColumn<QString>("key");
        QTest::addColumn<int>("queues");
        QTest::newRow("default") << ""
                                 << "queue 7" << 1;
        QTest::newRow("direct, one queue") << "amq.direct"
                                           << "key 7" << 1;
        QTest::newRow("direct, hundred queues") << "amq.direct"
                                                << "all" << 100;
        QTest::newRow("fanout, hundred queues") << "amq.fanout"
                                                << "" << 100;
        QTest::newRow("topic, three words") << "amq.topic"
                                            << "a.b.7" << 2;
        QTest::newRow("headers, hundred bindings") << "amq.headers"
                                                   << "" << 1;
        QTest::newRow("exchange to exchange") << "front"
                                              << "key 7" << 1;
        QTest::newRow("alternate") << "alternate"
                                   << "key 7" << 100;
    }
    void warmRoutingAllocatesNothing() {
        QFETCH(QString, exchange);
        QFETCH(QString, key);
        QFETCH(int, queues);
        RoutingFixture f;
        build(f);
        std::string headers;
        base::FieldTableWriter(headers).text("kind", "x").int32("number", 7);
        const std::string keyText = key.toStdString();
        engine::Routable message;
        message.routingKey = keyText;
        message.headers = base::FieldTable(base::bytesOf(headers));
        engine::Exchange& from = *f.table.findExchange(exchange.toStdString());
        f.table.route(from, message, f.found);
        QCOMPARE(int(f.found.size()), queues);
        constexpr int kRounds = 10000;
        const std::size_t before = allocations;
        QElapsedTimer timer;
        timer.start();
        for (int i = 0; i < kRounds; ++i) {
            f.table.route(from, message, f.found);
        }
        const qint64 elapsed = timer.nsecsElapsed();
        QCOMPARE(allocations, before);
        qInfo("%lld ns", elapsed / kRounds);
    }

    // No growth of a table stops the loop: the longest of all declares and deletes, by the thread's
    // own time and as the least of three runs for each, so that a busy machine makes no difference.
    // Moving such a table in one go takes ten times as long.
    void noDeclareWaitsForATableToGrow() {
        std::vector<std::int64_t> least(std::size_t{2} * kQueues, kForever);
        for (int run = 0; run < 3; ++run) {
            RoutingFixture f;
            for (int i = 0; i < kQueues; ++i) {
                f.names.push_back("queue number " + std::to_string(i));
            }
            std::size_t at = 0;
            const auto timed = [&](const auto& command) {
                const std::int64_t begin = threadTimeNs();
                command();
                least[at] = std::min(least[at], threadTimeNs() - begin);
                ++at;
            };
            for (std::string& name : f.names) {
                timed([&] {
                    f.table.addQueue(name, true, *reinterpret_cast<engine::Queue*>(&name));
                });
            }
            QCOMPARE(f.table.queueCount(), std::size_t{kQueues});
            for (const std::string& name : f.names) {
                timed([&] { f.table.removeQueue(name); });
            }
            QCOMPARE(f.table.queueCount(), std::size_t{0});
        }
        const std::int64_t longest = *std::max_element(least.begin(), least.end());
        qInfo("longest %lld us", static_cast<long long>(longest / 1000));
        QVERIFY(longest < 1000000);
    }

  private:
    static void build(RoutingFixture& f) {
        QVERIFY(f.exchange("front", "fanout").ok() &&
                f.exchange("alternate", "direct", "d", "amq.fanout").ok());
        QVERIFY(f.bindExchange("front", "amq.direct").ok());
        for (int i = 0; i < 100; ++i) {
            const std::string number = std::to_string(i);
            const std::string queue = "queue " + number;
            std::string wanted;
            base::FieldTableWriter(wanted).int32("number", i).text("kind", "x");
            f.queue(queue);
            QVERIFY(f.bind("amq.direct", queue, "key " + number).ok() &&
                    f.bind("amq.direct", queue, "all").ok() &&
                    f.bind("amq.fanout", queue, "").ok() &&
                    f.bind("amq.topic", queue, "a.*." + number).ok() &&
                    f.bind("amq.headers", queue, "", wanted).ok());
        }
        QVERIFY(f.bind("amq.topic", "queue 0", "a.#").ok());
    }
};

QTEST_APPLESS_MAIN(RoutingCostTest)
#include "tst_routing_cost.moc"
