// SPDX-License-Identifier: Apache-2.0
// The engine's log entries: what is written is read, and torn bytes are told.
#include "engine/entry.h"

#include <QTest>

using namespace millrace;
using namespace millrace::engine;

class EntryTest : public QObject {
    Q_OBJECT

    static std::vector<std::pair<base::QueueId, Run>> read(const std::string& blocks, bool& whole) {
        std::vector<std::pair<base::QueueId, Run>> out;
        whole = readSettles(base::bytesOf(blocks), [&out](base::QueueId queue, const Run& run) {
            out.emplace_back(queue, run);
        });
        return out;
    }

  private slots:
    void messageHeadTakesTwelveBytesInThisOrder() {
        MessageHead head;
        head.exchangeLength = 1;
        head.keyLength = 2;
        head.flags = MessageHead::kInTransaction;
        head.holders = 3;
        head.propertiesLength = 4;
        base::Byte raw[MessageHead::kBytes];
        head.store(raw);
        const base::Byte expected[] = {1, 2, 1, 0, 3, 0, 0, 0, 4, 0, 0, 0};
        QVERIFY(std::equal(std::begin(raw), std::end(raw), std::begin(expected)));
        std::string payload(base::textOf(raw));
        payload += "xkkpppprest";
        const auto read = readMessage(base::bytesOf(payload));
        QVERIFY(read.has_value());
        QCOMPARE(read->exchange, std::string_view("x"));
        QCOMPARE(read->routingKey, std::string_view("kk"));
        QCOMPARE(base::textOf(read->properties), std::string_view("pppp"));
        QCOMPARE(base::textOf(read->rest), std::string_view("rest"));
        QVERIFY(!readMessage(base::bytesOf(payload.substr(0, 16))));
        QVERIFY(!readMessage(base::bytesOf(payload.substr(0, 11))));
    }

    void settlesComeBackByQueueAndRun() {
        std::string blocks;
        SettleWriter writer(blocks);
        writer.queue(7, 2);
        writer.run({{1000, 3}, 5, 0});
        writer.run({{1001, 0}, 1, 0});
        writer.queue(1'000'000'000'000, 1);
        writer.run({{5, 1}, 300, 0});
        bool whole = false;
        const auto got = read(blocks, whole);
        QVERIFY(whole);
        QCOMPARE(got.size(), std::size_t{3});
        QCOMPARE(got[0].first, 7U);
        QVERIFY(got[0].second.first == (base::MessageId{1000, 3}));
        QCOMPARE(got[0].second.count, 5U);
        QVERIFY(got[1].second.first == (base::MessageId{1001, 0}));
        QCOMPARE(got[2].first, 1'000'000'000'000U);
        QCOMPARE(got[2].second.count, 300U);
    }

    void aLoneSettleTakesFiveBytes() {
        std::string blocks;
        SettleWriter writer(blocks);
        writer.queue(7, 1);
        writer.run({{100, 3}, 1, 0});
        QCOMPARE(blocks.size(), std::size_t{5});
    }

    void tornSettlesAreTold() {
        std::string blocks;
        SettleWriter writer(blocks);
        writer.queue(7, 2);
        writer.run({{1000, 3}, 5, 0});
        writer.run({{1001, 200}, 1, 0});
        for (std::size_t size = 1; size < blocks.size(); ++size) {
            bool whole = true;
            read(blocks.substr(0, size), whole);
            QVERIFY2(!whole, std::to_string(size).c_str());
        }
    }

    void purgeMarkAndLargeBodyComeBack() {
        Purge purge{9, {77, 5}, {{{70, 1}, 2, 0}, {{77, 0}, 1, 0}}};
        std::string bytes;
        writePurge(purge, bytes);
        const auto purged = readPurge(base::bytesOf(bytes));
        QVERIFY(purged && purged->queue == 9 && purged->upTo == purge.upTo);
        QCOMPARE(purged->kept.size(), std::size_t{2});
        QVERIFY(purged->kept[1].first == (base::MessageId{77, 0}));
        QVERIFY(!readPurge(base::bytesOf(bytes.substr(0, bytes.size() - 1))));

        bytes.clear();
        writeMark({9, 1024}, bytes);
        const auto mark = readMark(base::bytesOf(bytes));
        QVERIFY(mark && mark->queue == 9 && mark->ordinal == 1024);
        QVERIFY(!readMark(base::bytesOf(bytes + "x")));

        bytes.clear();
        writeLarge({5'000'000'000, {{1, 2}, {3, 4}}}, bytes);
        const auto large = readLarge(base::bytesOf(bytes));
        QVERIFY(large && large->size == 5'000'000'000 && large->pieces.size() == 2);
        QVERIFY(large->pieces[1] == (base::MessageId{3, 4}));
        QVERIFY(!readLarge(base::bytesOf(bytes.substr(0, 20))));
    }
};

QTEST_APPLESS_MAIN(EntryTest)
#include "tst_entry.moc"
