// SPDX-License-Identifier: Apache-2.0
// Messages fetched before their turn: found by id, counted in bytes, in batches that follow their
// size.
#include "engine/read_ahead.h"

#include "base/limits.h"

#include <QTest>

using namespace millrace;
using namespace millrace::engine;

class ReadAheadTest : public QObject {
    Q_OBJECT

    static std::vector<log::Stored> batch(base::LogIndex from, std::size_t count,
                                          std::size_t size) {
        std::vector<log::Stored> out;
        for (std::size_t i = 0; i < count; ++i) {
            auto bytes = std::make_shared<const std::string>(size, 'm');
            out.push_back({{from + i, 0}, 1, base::bytesOf(*bytes), bytes, false});
        }
        return out;
    }

  private slots:
    void whatIsTakenIsGoneAndTheSumFollows() {
        std::size_t sum = 0;
        ReadAhead ahead;
        ahead.add(batch(10, 3, 100), sum);
        QCOMPARE(sum, std::size_t{300});
        QVERIFY(ahead.holds({11, 0}));
        QVERIFY(ahead.take({11, 0}).has_value()); // out of turn: others came back before it
        QVERIFY(!ahead.take({11, 0}).has_value());
        QVERIFY(!ahead.holds({11, 0}));
        QVERIFY(ahead.take({10, 0}).has_value());
        QVERIFY(!ahead.take({9, 0}).has_value());
        QCOMPARE(sum, std::size_t{100});
        ahead.add(batch(9, 1, 50), sum);
        QVERIFY(ahead.take({9, 0}).has_value());
        QVERIFY(ahead.take({12, 0}).has_value());
        QVERIFY(ahead.empty());
        QCOMPARE(sum, std::size_t{0});
    }

    void batchesGrowForSmallMessagesAndShrinkForLargeOnes() {
        std::size_t sum = 0;
        ReadAhead ahead;
        const std::size_t first = ahead.batch();
        for (int i = 0; i < 10; ++i) {
            ahead.add(batch(1, ahead.batch(), 100), sum);
            ahead.clear();
        }
        QVERIFY(first < limits::kReadAheadMessages);
        QCOMPARE(ahead.batch(), limits::kReadAheadMessages);
        ahead.add(batch(1, 2, 1'000'000), sum);
        QCOMPARE(ahead.batch(), std::size_t{1});
    }

    void damagedMessagesAreTakenAsSuch() {
        std::size_t sum = 0;
        ReadAhead ahead;
        std::vector<log::Stored> damaged(1);
        damaged[0].id = {5, 0};
        damaged[0].damaged = true;
        ahead.add(std::move(damaged), sum);
        const auto taken = ahead.take({5, 0});
        QVERIFY(taken && taken->damaged);
    }

    void itsEndGivesTheSumBack() {
        std::size_t sum = 0;
        {
            ReadAhead ahead;
            ahead.add(batch(1, 5, 100), sum);
        }
        QCOMPARE(sum, std::size_t{0});
    }
};

QTEST_APPLESS_MAIN(ReadAheadTest)
#include "tst_read_ahead.moc"
