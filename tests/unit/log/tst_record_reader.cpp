// SPDX-License-Identifier: Apache-2.0
#include "log_fixture.h"
#include "support/faulty_files.h"
#include "support/random.h"

#include <QtTest>

#include <algorithm>

using namespace millrace;
using namespace millrace::log;
using support::FaultyFiles;

namespace {

Options littleMemory() {
    Options options = smallLog();
    options.memoryBytes = 0;
    return options;
}

std::string body(std::size_t number) {
    return std::to_string(number) + std::string(number * 37 % 3000, '.');
}

std::vector<MessageId> fill(LogFixture& log, std::size_t count) {
    std::vector<MessageId> ids;
    for (std::size_t i = 0; i < count; ++i) {
        ids.push_back(log.append(body(i)));
        if (i % 7 == 6 && !log.sync()) {
            return {};
        }
    }
    (void)log.sync();
    return ids;
}

} // namespace

class RecordReaderTest : public QObject {
    Q_OBJECT

  private slots:
    void scatteredIdsComeBackInTheOrderAsked() {
        FaultyFiles files;
        LogFixture log(files, littleMemory());
        QCOMPARE(log.open(), std::string());
        const std::vector<MessageId> ids = fill(log, 2000);
        support::Random random(3);
        for (int round = 0; round < 20; ++round) {
            std::vector<std::size_t> wanted;
            std::vector<MessageId> asked;
            for (int i = 0; i < 100; ++i) {
                wanted.push_back(random.below(ids.size()));
                asked.push_back(ids[wanted.back()]);
            }
            const std::vector<Stored> got = log.fetch(asked);
            QCOMPARE(got.size(), asked.size());
            for (std::size_t i = 0; i < got.size(); ++i) {
                QVERIFY(!got[i].damaged);
                QCOMPARE(got[i].id, asked[i]);
                QVERIFY(textOf(got[i]) == body(wanted[i]));
            }
        }
    }

    void entriesAreFoundAfterAStartAlsoWithoutAnyFooter() {
        FaultyFiles files;
        LogFixture log(files, littleMemory());
        QCOMPARE(log.open(), std::string());
        const std::vector<MessageId> ids = fill(log, 1000);
        QVERIFY(log.log().stop().ok());
        QCOMPARE(log.open(ids.back().record), std::string());
        for (const std::size_t number : {999u, 0u, 500u, 501u, 1u}) {
            QCOMPARE(log.textAt(ids[number]), body(number));
        }
        const std::vector<std::string> names = *files.list("/data/log");
        for (const std::string& name : names) { // damaged behind the running log's back
            const std::string path = "/data/log/" + name;
            files.flipBit(path, files.content(path).size() - kBlockBytes + 20);
        }
        QCOMPARE(log.open(ids.back().record), std::string());
        for (const std::size_t number : {999u, 0u, 500u}) {
            QCOMPARE(log.textAt(ids[number]), body(number));
        }
    }

    void anUnreadableSectorCostsOnlyWhatLiesInIt() {
        FaultyFiles files;
        LogFixture log(files, littleMemory());
        QCOMPARE(log.open(), std::string());
        const std::vector<MessageId> ids = fill(log, 200);
        // The first read fails as a whole, and then one of its pages.
        files.failNth(support::Call::read, 1, {base::ErrorCode::io, "planned"});
        QCOMPARE(log.fetch({ids[0]}).size(), std::size_t{1});
        const std::vector<Stored> got = log.fetch({ids.begin(), ids.end()});
        QVERIFY(std::none_of(got.begin(), got.end(),
                             [](const Stored& entry) { return entry.damaged; }));
    }

    void withoutADescriptorItWaitsAndNothingIsTakenForDamaged() {
        FaultyFiles files;
        LogFixture log(files, littleMemory());
        QCOMPARE(log.open(), std::string());
        const std::vector<MessageId> ids = fill(log, 1000); // in several segments
        QCOMPARE(log.textAt(ids.back()), body(999));
        const base::Error none{base::ErrorCode::full, "planned: too many open files"};
        files.failNth(support::Call::open, 1, none); // closing another one gives it one
        QCOMPARE(log.textAt(ids.front()), body(0));
        files.failNth(support::Call::open, 1, none, support::Times::always);
        const std::uint64_t opens = files.count(support::Call::open);
        log.log().fetch(4711, {ids[500]});
        QVERIFY(QTest::qWaitFor([&] { return files.count(support::Call::open) > opens + 2; }));
        log.log().harvest();
        QVERIFY(log.answers.count(4711) == 0);
        files.heal();
        QVERIFY(log.wait([&] { return log.answers.count(4711) != 0; }));
        QCOMPARE(textOf(log.answers[4711][0]), body(500));
    }

    void whatWasNeverThereIsToldAsDamaged() {
        FaultyFiles files;
        LogFixture log(files, littleMemory());
        QCOMPARE(log.open(), std::string());
        const std::vector<MessageId> ids = fill(log, 20);
        const std::vector<Stored> got = log.fetch({{ids[0].record, 99}, {9999, 0}, ids[3]});
        QVERIFY(got[0].damaged && got[1].damaged && !got[2].damaged);
        QVERIFY(got[0].payload.empty());
    }

    void severalFetchesMayBeUnderWay() {
        FaultyFiles files;
        LogFixture log(files, littleMemory());
        QCOMPARE(log.open(), std::string());
        const std::vector<MessageId> ids = fill(log, 300);
        for (std::uint64_t token = 100; token < 150; ++token) {
            log.log().fetch(token, {ids[token]});
        }
        QVERIFY(log.wait([&] { return log.answers.size() == 50; }));
        for (std::uint64_t token = 100; token < 150; ++token) {
            QCOMPARE(textOf(log.answers[token][0]), body(token));
        }
    }
};

QTEST_GUILESS_MAIN(RecordReaderTest)
#include "tst_record_reader.moc"
