// SPDX-License-Identifier: Apache-2.0
// Flipped bits in every part of a log, failing calls and a full disk: each ends as
// docs/DURABILITY.md says.
#include "crash/log_lineage.h"

#include "base/diagnostics.h"
#include "base/limits.h"
#include "log/format.h"
#include "support/faulty_files.h"
#include "support/seed.h"

#include <QTest>

#include <atomic>
#include <cstring>
#include <map>
#include <pthread.h>
#include <set>

using namespace millrace;
using crash_tests::Lineage;
using log::LogFixture;
using support::Call;
using support::FaultyFiles;
using support::Random;

namespace {

const std::string kFolder = "/data/log";

// Some segments, everything in them known to be durable.
void fill(FaultyFiles& files, Lineage& lineage, Random& random) {
    LogFixture fixture(files, log::smallLog());
    MILLRACE_CHECK(fixture.open().empty());
    for (int turn = 0; turn < 40; ++turn) {
        for (std::uint64_t n = random.between(1, 8); n > 0; --n) {
            std::string payload = lineage.nextPayload(random);
            const base::MessageId id = fixture.append(payload, 1, {3, 5, 8});
            lineage.add(id, std::move(payload));
        }
        MILLRACE_CHECK(fixture.sync());
    }
    MILLRACE_CHECK(fixture.log().stop().ok());
}

// Empty, or what is wrong: intact entries are as appended and in order; what is missing is told as
// damaged; one record at most is hurt.
std::string checkDamaged(const std::vector<log::Seen>& seen, const Lineage& lineage) {
    std::map<base::MessageId, const std::string*> expected;
    for (const auto& entry : lineage.entries()) {
        expected[entry.id] = &entry.payload;
    }
    std::set<base::LogIndex> damaged;
    base::MessageId last;
    for (const log::Seen& entry : seen) {
        if (entry.id <= last) {
            return "ids do not rise";
        }
        last = entry.id;
        if (entry.damaged) {
            damaged.insert(entry.id.record);
            continue;
        }
        const auto found = expected.find(entry.id);
        if (found == expected.end() || *found->second != entry.payload) {
            return "entry " + std::to_string(entry.id.record) + "." +
                   std::to_string(entry.id.slot) + " is not as appended";
        }
        expected.erase(found);
    }
    for (const auto& [id, payload] : expected) {
        if (damaged.count(id.record) == 0) {
            return "entry " + std::to_string(id.record) + "." + std::to_string(id.slot) +
                   " is gone without a word";
        }
    }
    return damaged.size() <= 1 ? std::string()
                               : std::to_string(damaged.size()) + " records are hurt by one bit";
}

struct Place {
    std::string path;
    std::uint64_t offset;
    std::string part;
};

// A bit in each field of each header, in payloads, tables and route lists, and in the blocks at
// both ends of the file.
std::vector<Place> placesOf(const std::string& path, const std::string& bytes, Random& random) {
    std::vector<Place> places;
    const auto addWithin = [&](std::uint64_t from, std::uint64_t length, const std::string& part) {
        if (length > 0) {
            places.push_back({path, from + random.below(length), part});
        }
    };
    for (std::uint64_t at = 0; at < sizeof(log::SegmentHeader); at += 4) {
        addWithin(at, 4, "segment header");
    }
    for (int i = 0; i < 10; ++i) {
        addWithin(bytes.size() - log::kBlockBytes, sizeof(log::SegmentFooter), "footer");
    }
    std::uint64_t at = log::kBlockBytes;
    std::vector<std::pair<std::uint64_t, log::RecordHeader>> records;
    while (at + sizeof(log::RecordHeader) < bytes.size()) {
        log::RecordHeader header;
        std::memcpy(&header, bytes.data() + at, sizeof header);
        if (header.magic != log::kRecordMagic) {
            break;
        }
        records.emplace_back(at, header);
        at += log::recordBytes(header);
    }
    for (int i = 0; i < 2 && !records.empty(); ++i) {
        const auto& [offset, header] = records[random.below(records.size())];
        for (std::uint64_t field = 0; field < sizeof header; field += 4) {
            addWithin(offset + field, 4, "record header");
        }
        addWithin(offset + sizeof header, header.payloadBytes, "payload");
        const std::uint64_t table = offset + log::tableOffset(header);
        addWithin(table, std::uint64_t{header.entries} * sizeof(log::TableEntry), "table");
        addWithin(table + std::uint64_t{header.entries} * sizeof(log::TableEntry),
                  header.routeBytes, "route lists");
    }
    return places;
}

log::Options smallDisk() {
    log::Options options = log::smallLog();
    options.diskFreeLimit = 300'000;
    return options;
}

} // namespace

class TestLogDamage : public QObject {
    Q_OBJECT

  private slots:
    void initTestCase() { base::setDiagnosticsLevel(base::Severity::none); }

    void aFlippedBitHurtsOneRecordAndIsTold() {
        const support::Seed seed(5);
        Random random(seed.value());
        FaultyFiles files;
        Lineage lineage;
        fill(files, lineage, random);
        std::vector<Place> places;
        const std::vector<std::string> names = files.list(kFolder).value();
        for (const std::string& name : names) {
            const std::string path = kFolder + "/" + name;
            for (Place& place : placesOf(path, files.content(path), random)) {
                places.push_back(std::move(place));
            }
        }
        QVERIFY(places.size() > 100);
        for (const Place& place : places) {
            FaultyFiles hurt(files.afterPowerCut());
            hurt.flipBit(place.path, place.offset, static_cast<unsigned>(random.below(8)));
            LogFixture fixture(hurt, log::smallLog());
            const std::string opened = fixture.open();
            const std::string where =
                place.part + " at " + std::to_string(place.offset) + " of " + place.path + ": ";
            // A flipped version or feature bit is caught by the checksum, not taken for a newer
            // format.
            QVERIFY2(opened.empty(), (where + opened).c_str());
            const std::string wrong = checkDamaged(fixture.seen, lineage);
            QVERIFY2(wrong.empty(), (where + wrong).c_str());
            QVERIFY2(fixture.appendSynced("goes on"), where.c_str());
        }
    }

    void nothingIsToldSyncedAfterAFailedSync() {
        const support::Seed seed(6);
        Random random(seed.value());
        for (std::uint64_t nth = 1; nth <= 8; ++nth) {
            FaultyFiles files;
            Lineage lineage;
            LogFixture fixture(files, log::smallLog());
            QVERIFY(fixture.open().empty());
            QVERIFY(fixture.sparesAreReady(2)); // so that the failure hits records
            // By the thread that writes records: a segment that is only being prepared may fail and
            // be tried again.
            std::atomic<std::uint64_t> recordSyncs{0};
            files.onSync([&](const std::string&) {
                char thread[16] = {};
                pthread_getname_np(pthread_self(), thread, sizeof thread);
                if (thread == std::string("log-writer") && ++recordSyncs == nth) {
                    files.failNth(Call::sync, 1, {base::ErrorCode::io, "the disk is gone"},
                                  support::Times::always);
                }
            });
            base::LogIndex told = 0;
            while (fixture.withdrawals == 0) {
                std::string payload = lineage.nextPayload(random);
                const auto id = fixture.tryAppend(payload);
                if (!id.ok()) {
                    fixture.clock.advance(std::chrono::milliseconds(200));
                    fixture.log().tick();
                    continue;
                }
                lineage.add(id.value(), std::move(payload));
                fixture.log().submit();
                fixture.log().harvest();
                told = fixture.log().horizons().synced;
            }
            QVERIFY(fixture.wait([&] { return fixture.withdrawals == 1; }));
            QVERIFY(!fixture.log().accepting());
            QVERIFY(fixture.log().trouble() == log::LocalLog::Trouble::stopped);
            told = std::max(told, fixture.log().horizons().synced);
            QVERIFY(fixture.withdrawnFrom > told);
            QVERIFY(fixture.tryAppend("more").error().code == base::ErrorCode::stopped);
            QVERIFY(!fixture.log().stop().ok());
            QVERIFY(fixture.log().horizons().synced == told);
            fixture.close();
            files.onSync({});
            files.heal();
            files.crash({support::Keep::What::sectors, random.next()});
            QVERIFY(fixture.open().empty());
            const std::string wrong = lineage.check(fixture.seen, told);
            QVERIFY2(wrong.empty(), wrong.c_str());
        }
    }

    void aFullDiskStopsPublishesAndEndsByItself() {
        const support::Seed seed(7);
        Random random(seed.value());
        FaultyFiles files;
        files.setCapacity(2'000'000);
        Lineage lineage;
        LogFixture fixture(files, smallDisk());
        QVERIFY(fixture.open().empty());
        QVERIFY(fixture.sparesAreReady(2));
        const auto append = [&] {
            std::string payload = lineage.nextPayload(random);
            const auto id = fixture.tryAppend(payload);
            if (id.ok()) {
                lineage.add(id.value(), std::move(payload));
            }
            return id.ok() && fixture.sync();
        };
        for (int i = 0; i < 100'000 && fixture.log().accepting(); ++i) {
            QVERIFY(append());
            fixture.clock.advance(std::chrono::milliseconds(50));
            fixture.log().tick();
        }
        QVERIFY(!fixture.log().accepting());
        QVERIFY(fixture.log().trouble() == log::LocalLog::Trouble::diskFull);
        // Settles go on into what was held back.
        for (int i = 0; i < 20; ++i) {
            const base::MessageId id = fixture.append("settle", 0, {}, log::Waiting::nobody);
            QVERIFY(id);
            lineage.add(id, "settle");
        }
        QVERIFY(fixture.sync());
        files.setCapacity(20'000'000);
        QVERIFY(fixture.tickUntil([&] { return fixture.log().accepting(); }));
        for (int i = 0; i < 50; ++i) {
            QVERIFY(append());
        }
        const base::LogIndex told = fixture.log().horizons().synced;
        fixture.close();
        files.crash();
        QVERIFY(fixture.open().empty());
        const std::string wrong = lineage.check(fixture.seen, told);
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    void aFullDiskAtStartIsNoEnd() {
        FaultyFiles files;
        files.setCapacity(100'000);
        LogFixture fixture(files, smallDisk());
        QVERIFY(fixture.open().empty());
        QVERIFY(fixture.tickUntil([&] { return !fixture.log().accepting(); }));
        files.setCapacity(200'000'000);
        QVERIFY(fixture.tickUntil([&] { return fixture.log().accepting(); }));
        QVERIFY(fixture.appendSynced("at last"));
    }

    void aClockThatJumpsBackChangesNothing() {
        FaultyFiles files;
        LogFixture fixture(files, log::smallLog());
        QVERIFY(fixture.open().empty());
        QVERIFY(fixture.appendSynced("before"));
        fixture.clock.jump(std::chrono::hours(-24));
        QVERIFY(fixture.appendSynced("after"));
        fixture.close();
        files.crash();
        QVERIFY(fixture.open().empty());
        QCOMPARE(fixture.payloads(), std::vector<std::string>({"before", "after"}));
        QVERIFY(fixture.seen[1].wallMs >= fixture.seen[0].wallMs);
    }
};

QTEST_APPLESS_MAIN(TestLogDamage)
#include "tst_log_damage.moc"
