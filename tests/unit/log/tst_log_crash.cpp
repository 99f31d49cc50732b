// SPDX-License-Identifier: Apache-2.0
// The power goes at every sync of a busy log, with any of the unsynced sectors kept: everything
// reported synced is there, in order, and nothing else but what was appended next.
#include "log_fixture.h"
#include "support/faulty_files.h"
#include "support/seed.h"

#include <QtTest>

#include <mutex>

using namespace millrace;
using namespace millrace::log;
using support::FaultyDisk;
using support::FaultyFiles;
using support::Keep;

namespace {

struct PowerCut {
    std::size_t confirmed = 0; // entries reported synced before
    FaultyDisk disk;
};

std::string numbered(std::size_t number, std::size_t size) {
    std::string text = std::to_string(number) + ":";
    text.resize(std::max(text.size(), size), static_cast<char>('a' + number % 26));
    return text;
}

} // namespace

class LogCrashTest : public QObject {
    Q_OBJECT

  private slots:
    void nothingConfirmedIsLostAtAnySyncPoint_data() {
        QTest::addColumn<int>("seed");
        for (int seed = 1; seed <= 8; ++seed) {
            QTest::addRow("seed %d", seed) << seed;
        }
    }
    void nothingConfirmedIsLostAtAnySyncPoint() {
        QFETCH(int, seed);
        const support::Seed from(static_cast<std::uint64_t>(seed));
        support::Random random(from.value());
        FaultyFiles files;
        std::mutex mutex;
        std::vector<PowerCut> cuts;
        std::atomic<std::size_t> confirmed{0};
        files.onSync([&](const std::string&) {
            const std::lock_guard lock(mutex);
            if (cuts.size() < 60) {
                const Keep keep{cuts.size() % 3 == 0 ? Keep::What::nothing : Keep::What::sectors,
                                from.value() * 1000 + cuts.size()};
                cuts.push_back({confirmed.load(), files.afterPowerCut(keep)});
            }
        });
        std::vector<std::string> appended;
        std::vector<LogIndex> recordOf;
        Options options = smallLog();
        options.segmentBytes = 128 * 1024; // many rolls
        {
            LogFixture log(files, options);
            QCOMPARE(log.open(), std::string());
            for (int turn = 0; turn < 150; ++turn) {
                for (std::uint64_t i = random.below(6); i != 0; --i) {
                    appended.push_back(numbered(appended.size(), random.below(20) == 0
                                                                     ? random.below(50'000)
                                                                     : random.below(300)));
                    recordOf.push_back(log.append(appended.back()).record);
                }
                log.log().submit();
                if (random.below(4) == 0) {
                    QVERIFY(log.sync());
                }
                log.log().harvest();
                std::size_t safe = confirmed.load();
                while (safe < recordOf.size() && recordOf[safe] <= log.log().horizons().synced) {
                    ++safe;
                }
                confirmed = safe;
            }
            QVERIFY(log.sync());
            files.onSync({});
        }
        QVERIFY(cuts.size() > 20);
        for (PowerCut& cut : cuts) {
            auditTwice(cut, options, appended);
        }
    }

    void aKilledProcessLosesNothingConfirmedRoundAfterRound() {
        const support::Seed from(77);
        support::Random random(from.value());
        FaultyFiles files;
        Options options = smallLog();
        options.segmentBytes = 128 * 1024;
        std::vector<std::string> expected;
        LogFixture log(files, options);
        for (int round = 0; round < 40; ++round) {
            QCOMPARE(log.open(), std::string());
            QVERIFY2(log.payloads().size() >= expected.size(), "confirmed entries are missing");
            expected = log.payloads();
            for (std::uint64_t i = random.below(8); i != 0; --i) {
                expected.push_back(numbered(expected.size(), random.below(9000)));
                QVERIFY(log.appendSynced(expected.back()));
            }
            const std::size_t confirmed = expected.size();
            for (std::uint64_t i = random.below(4); i != 0; --i) {
                log.append("unconfirmed");
                log.log().submit();
            }
            log.close();
            files.crash({Keep::What::sectors, random.next()});
            QCOMPARE(log.open(), std::string());
            const std::vector<std::string> now = log.payloads();
            QVERIFY(now.size() >= confirmed);
            QVERIFY(std::equal(expected.begin(), expected.end(), now.begin()));
            expected = now;
            log.close();
            files.crash({Keep::What::sectors, random.next()});
        }
    }

  private:
    static void auditTwice(PowerCut& cut, const Options& options,
                           const std::vector<std::string>& appended) {
        FaultyFiles files(std::move(cut.disk));
        LogFixture log(files, options);
        QCOMPARE(log.open(), std::string());
        std::vector<std::string> kept = log.payloads();
        QVERIFY2(kept.size() >= cut.confirmed,
                 qPrintable(QString("%1 of %2").arg(kept.size()).arg(cut.confirmed)));
        QVERIFY(kept.size() <= appended.size());
        QVERIFY(std::equal(kept.begin(), kept.end(), appended.begin()));
        // Dies again at once: the same is there. Then goes on, and dies again.
        log.close();
        files.crash();
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.payloads(), kept);
        kept.push_back("after the crash");
        QVERIFY(log.appendSynced(kept.back()));
        log.close();
        files.crash();
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.payloads(), kept);
    }
};

QTEST_GUILESS_MAIN(LogCrashTest)
#include "tst_log_crash.moc"
