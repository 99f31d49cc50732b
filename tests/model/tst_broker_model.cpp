// SPDX-License-Identifier: Apache-2.0
// Random commands against an oracle of queues, with crashes and withdrawals among them: order,
// counts, confirms, horizons, holders.
#include "base/diagnostics.h"
#include "model/broker_world.h"

#include <QTest>

using namespace millrace;
using model::BrokerWorld;

namespace {

void report(const BrokerWorld& world) {
    const std::size_t limit = std::getenv("MILLRACE_SEED") != nullptr ? 100000 : 60;
    if (world.failed()) {
        const std::size_t from = world.trace.size() > limit ? world.trace.size() - limit : 0;
        for (std::size_t i = from; i < world.trace.size(); ++i) {
            std::fprintf(stderr, "%5zu %s\n", i, world.trace[i].c_str());
        }
    }
}

} // namespace

// Lives a row. A sanitizer costs ten times as much, and looks for what one life shows as well.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr quint64 kLives = 60;
#else
constexpr quint64 kLives = 700;
#endif

class TestBrokerModel : public QObject {
    Q_OBJECT
  private slots:
    // A withdrawal says aloud that the log took back its tail; here that is thousands of lines.
    void initTestCase() { base::setDiagnosticsLevel(base::Severity::none); }
    void randomCommandsAgreeWithTheOracle_data();
    void randomCommandsAgreeWithTheOracle();
};

void TestBrokerModel::randomCommandsAgreeWithTheOracle_data() {
    QTest::addColumn<quint64>("first");
    for (quint64 first = 1; first <= 4000; first += 1000) {
        QTest::addRow("from %llu", static_cast<unsigned long long>(first)) << first;
    }
}

void TestBrokerModel::randomCommandsAgreeWithTheOracle() {
    QFETCH(quint64, first);
    for (quint64 i = 0; i < kLives; ++i) {
        const support::Seed seed(first + i);
        BrokerWorld world(seed.value());
        for (int step = 0; step < 1500 && !world.failed(); ++step) {
            world.step();
        }
        if (!world.failed()) {
            world.quiesce();
        }
        if (!world.failed()) {
            world.drain();
        }
        report(world);
        QVERIFY2(!world.failed(), world.failure().c_str());
        if (std::getenv("MILLRACE_SEED") != nullptr) {
            break;
        }
    }
}

QTEST_APPLESS_MAIN(TestBrokerModel)
#include "tst_broker_model.moc"
