// SPDX-License-Identifier: Apache-2.0
// Damaged bytes, failing calls and a full disk: each ends as docs/DURABILITY.md says.
#include "checkpoint_fixture.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "log/checkpoint_format.h"

#include <QTest>

#include <cstring>

using namespace millrace;
using namespace millrace::checkpoint_tests;
using base::ErrorCode;
using support::Call;
using support::FaultyFiles;

namespace {

// Two finished rounds: page 1 is in both, page 2 changed in the second.
void makeTwoRounds(FaultyFiles& files) {
    OpenStore store(files);
    store->start();
    store.put(1, "both rounds");
    store.put(2, "first round");
    [[maybe_unused]] bool done = store.finish(10);
    store.put(2, "second round");
    done = store.finish(20);
}

const Pages kFirst{{keyOf(1), "both rounds"}, {keyOf(2), "first round"}};
const Pages kSecond{{keyOf(1), "both rounds"}, {keyOf(2), "second round"}};

std::uint64_t placeOf(const FaultyFiles& files, const std::string& text) {
    return files.content("cp/page-00000001").find(text);
}

// The round's own number, not its slot, decides.
std::uint64_t newestRootAt(const FaultyFiles& files) {
    const std::string roots = files.content("cp/roots");
    log::Root first;
    log::Root second;
    std::memcpy(&first, roots.data(), sizeof first);
    std::memcpy(&second, roots.data() + log::kRootSlotBytes, sizeof second);
    return first.round > second.round ? 0 : log::kRootSlotBytes;
}

} // namespace

class TestCheckpointDamage : public QObject {
    Q_OBJECT

  private slots:
    void aDamagedPageOfTheNewestRoundBringsTheRoundBefore_data() {
        QTest::addColumn<int>("offset");
        QTest::newRow("payload") << 0;
        QTest::newRow("magic") << -64;
        QTest::newRow("header checksum") << -60;
        QTest::newRow("sequence") << -56;
        QTest::newRow("reflects") << -48;
        QTest::newRow("object") << -32;
        QTest::newRow("length") << -12;
        QTest::newRow("payload checksum") << -8;
    }
    void aDamagedPageOfTheNewestRoundBringsTheRoundBefore() {
        QFETCH(int, offset);
        FaultyFiles files;
        makeTwoRounds(files);
        files.flipBit("cp/page-00000001",
                      placeOf(files, "second round") + static_cast<std::uint64_t>(offset), 3);
        OpenStore store(files);
        QVERIFY(store.isOpen());
        QCOMPARE(store.load(), kFirst);
        QCOMPARE(store->replayFrom(), base::LogIndex{10});
        QCOMPARE(store->logNeededFrom(), base::LogIndex{10});
    }

    void aDamagedListOfPagesBringsTheRoundBefore() {
        FaultyFiles files;
        makeTwoRounds(files);
        const std::string roots = files.content("cp/roots");
        log::Root root;
        std::memcpy(&root, roots.data() + newestRootAt(files), sizeof root);
        // The bucket that the last round wrote is the one that lies furthest back.
        log::PageSpot last;
        for (const log::PageSpot& spot : root.bucket) {
            last = spot.offset > last.offset ? spot : last;
        }
        files.flipBit("cp/page-00000001", last.offset + sizeof(log::PageHeader) + 20);
        OpenStore store(files);
        QCOMPARE(store.load(), kFirst);
    }

    void aDamagedNewestRootBringsTheRoundBefore_data() {
        QTest::addColumn<int>("offset");
        for (const int offset : {0, 8, 24, 32, 64, 4000}) {
            QTest::newRow(qPrintable(QString::number(offset))) << offset;
        }
    }
    void aDamagedNewestRootBringsTheRoundBefore() {
        QFETCH(int, offset);
        FaultyFiles files;
        makeTwoRounds(files);
        files.flipBit("cp/roots", newestRootAt(files) + static_cast<std::uint64_t>(offset), 7);
        OpenStore store(files);
        QCOMPARE(store.load(), kFirst);
        QCOMPARE(store->replayFrom(), base::LogIndex{10});
    }

    void damageInTheOlderRoundAloneHarmsNothing() {
        FaultyFiles files;
        makeTwoRounds(files);
        files.flipBit("cp/page-00000001", placeOf(files, "first round"));
        OpenStore store(files);
        QCOMPARE(store.load(), kSecond);
    }

    void aPageThatBothRoundsNeedIsNamedAndTheStoreRefused() {
        FaultyFiles files;
        makeTwoRounds(files);
        files.flipBit("cp/page-00000001", placeOf(files, "both rounds"));
        const OpenStore store(files);
        QVERIFY(!store.isOpen());
        QVERIFY(store.refusal().code == ErrorCode::damaged);
        QVERIFY(store.refusal().text.find("kind 1 of object 1") != std::string::npos);
    }

    void afterFallingBackTheStoreGoesOn() {
        FaultyFiles files;
        makeTwoRounds(files);
        files.flipBit("cp/page-00000001", placeOf(files, "second round"));
        OpenStore store(files);
        store->start();
        store.put(3, "third round");
        QVERIFY(store.finish(30));
        QCOMPARE(store->logNeededFrom(), base::LogIndex{10});
        files.crash();
        store.reopen();
        Pages expected = kFirst;
        expected[keyOf(3)] = "third round";
        QCOMPARE(store.load(), expected);
    }

    void theOnlyRoundDamagedMeansReplayFromTheStart() {
        FaultyFiles files;
        {
            OpenStore store(files);
            store->start();
            store.put(1, "only round");
            QVERIFY(store.finish(10));
            QCOMPARE(store->logNeededFrom(), base::LogIndex{1});
        }
        files.flipBit("cp/page-00000001", placeOf(files, "only round"));
        OpenStore store(files);
        QVERIFY(store.isOpen());
        QVERIFY(store.load().empty());
        QCOMPARE(store->replayFrom(), base::LogIndex{1});
    }

    void missingFilesAreDamage() {
        FaultyFiles files;
        makeTwoRounds(files);
        FaultyFiles withoutRoots(files.afterPowerCut());
        QVERIFY(withoutRoots.remove("cp/roots").ok());
        QVERIFY(OpenStore(withoutRoots).refusal().code == ErrorCode::damaged);
        FaultyFiles withoutPages(files.afterPowerCut());
        QVERIFY(withoutPages.remove("cp/page-00000001").ok());
        QVERIFY(OpenStore(withoutPages).refusal().code == ErrorCode::damaged);
    }

    void aNewerVersionIsRefusedByName() {
        FaultyFiles files;
        makeTwoRounds(files);
        std::string roots = files.content("cp/roots");
        log::Root root;
        std::memcpy(&root, roots.data(), sizeof root);
        root.version = log::kCheckpointVersion + 1;
        root.crc =
            base::crc32c({reinterpret_cast<const base::Byte*>(&root) + 12, sizeof root - 12});
        std::memcpy(roots.data(), &root, sizeof root);
        files.setContent("cp/roots", roots);
        const OpenStore store(files);
        QVERIFY(store.refusal().code == ErrorCode::unsupported);
        QVERIFY(store.refusal().text.find("newer Millrace (version 2)") != std::string::npos);
    }

    void aFailedSyncIsFinalAndNothingFinishesBehindIt() {
        for (std::uint64_t nth = 1; nth <= 3; ++nth) {
            FaultyFiles files;
            makeTwoRounds(files);
            OpenStore store(files);
            store->start();
            files.failNth(Call::sync, nth, {ErrorCode::io, "the disk is gone"});
            store.put(2, "third round");
            base::LogIndex round = 30;
            while (store.finish(round)) {
                ++round;
            }
            QVERIFY(!store->failure().ok());
            QVERIFY(!store->ready());
            const base::LogIndex finished = store->finished();
            store->put(keyOf(2), 1, base::bytesOf("ignored"));
            store->finishRound(100);
            QVERIFY(!store->stop().ok());
            QCOMPARE(store->finished(), finished);
            files.crash();
            files.heal();
            store.reopen();
            QVERIFY(store.isOpen());
            QVERIFY(store->replayFrom() >= finished);
        }
    }

    void aFailedWriteIsFinal() {
        FaultyFiles files;
        makeTwoRounds(files);
        OpenStore store(files);
        store->start();
        files.failNth(Call::write, 1, {ErrorCode::full, "no space on a thin volume"},
                      support::Times::always);
        store.put(2, "third round");
        QVERIFY(!store.finish(30));
        QVERIFY(store->failure().error().code == ErrorCode::io);
    }

    void aFullDiskIsWaitedOut() {
        FaultyFiles files;
        OpenStore store(files);
        files.setCapacity(100'000);
        store->start();
        store.put(1, "waits for room");
        store->finishRound(5);
        QCOMPARE(store->finished(), base::LogIndex{1});
        QVERIFY(store->failure().ok());
        files.setCapacity(20'000'000);
        QVERIFY(store.waitFor([&] { return store->finished() == 5; }));
    }

    void anOrderlyStopDoesNotWaitForRoom() {
        FaultyFiles files;
        OpenStore store(files);
        files.setCapacity(100'000);
        store->start();
        store.put(1, "waits for room");
        QVERIFY(store->stop().error().code == ErrorCode::full);
    }
};

QTEST_APPLESS_MAIN(TestCheckpointDamage)
#include "tst_checkpoint_damage.moc"
