// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "log/record_builder.h"
#include "log/record_view.h"
#include "log/sparse_record.h"

#include <QtTest>

#include <numeric>

using namespace millrace;
using namespace millrace::log;

namespace {

constexpr std::uint64_t kSalt = 0x1122334455667788;

// Builds records in slabs of a RecentRecords and seals their headers as the writer does.
class Workshop {
  public:
    std::optional<std::uint32_t> add(const std::string& payload, std::vector<QueueId> routes = {},
                                     std::uint32_t references = 1) {
        const base::Bytes part = base::bytesOf(payload);
        Entry entry;
        entry.kind = 9;
        entry.routes = routes;
        entry.references = references;
        entry.parts = {&part, 1};
        if (!builder.isOpen()) {
            builder.open(recent.slabFor(RecordBuilder::bytesAlone(entry, payload.size())), 42, 3,
                         1234);
        }
        return builder.tryAdd(entry, payload.size());
    }
    base::Bytes close() {
        closed = builder.close();
        RecordHeader header;
        std::memcpy(&header, closed.data(), sizeof header);
        header.salt = kSalt;
        sealHeader(header);
        std::memcpy(closed.data(), &header, sizeof header);
        return {closed.data(), closed.bytes};
    }

    RecentRecords recent{1 << 20};
    RecordBuilder builder;
    RecentRecord closed;
};

RecordView viewOf(base::Bytes bytes) {
    return RecordView(*parseHeader(bytes, kSalt, bytes.size()), bytes);
}

} // namespace

class RecordBuilderTest : public QObject {
    Q_OBJECT

  private slots:
    void whatIsBuiltIsSeenAgain() {
        Workshop shop;
        QCOMPARE(shop.add("first", {1, 2}, 2), std::optional<std::uint32_t>(0));
        QCOMPARE(shop.add(""), std::optional<std::uint32_t>(1));
        QCOMPARE(shop.add("third", {5}, 1), std::optional<std::uint32_t>(2));
        Stored stored;
        QVERIFY(shop.builder.read(2, stored));
        QCOMPARE(std::string(base::textOf(stored.payload)), std::string("third"));
        const base::Bytes bytes = shop.close();
        QCOMPARE(bytes.size() % 8, std::size_t{0});
        const RecordView view = viewOf(bytes);
        QVERIFY(view.intact());
        QCOMPARE(view.entries(), 3u);
        QCOMPARE(view.header().index, LogIndex{42});
        QCOMPARE(view.header().wallMs, std::int64_t{1234});
        QCOMPARE(std::string(base::textOf(view.payload(0))), std::string("first"));
        QCOMPARE(view.payload(1).size(), std::size_t{0});
        QCOMPARE(view.entry(0).references, 2u);
        QCOMPARE(int(view.entry(2).kind), 9);
        QCOMPARE(view.routes(0).size(), std::size_t{2});
        QVERIFY(view.routes(1).empty());
        QCOMPARE(view.routes(2)[0], QueueId{5});
        QVERIFY(!view.find(3));
    }

    void equalRouteListsAreStoredOnce() {
        Workshop shop;
        for (int i = 0; i < 300; ++i) {
            QVERIFY(shop.add("x", {QueueId(i % 3), 100}));
        }
        const RecordView view = viewOf(shop.close());
        QCOMPARE(view.header().routeBytes, std::uint32_t(3 * 3 * 8));
        for (std::uint32_t i = 0; i < 300; ++i) {
            QCOMPARE(view.routes(i)[0], QueueId(i % 3));
        }
    }

    void aRecordClosesAt64KiBAndABiggerEntryStandsAlone() {
        Workshop shop;
        std::size_t count = 0;
        while (shop.add(std::string(1000, 'x'))) {
            ++count;
        }
        QVERIFY(count > 60);
        QVERIFY(shop.close().size() <= limits::kRecordBytes);
        const std::string big(1024 * 1024, 'b');
        QCOMPARE(shop.add(big), std::optional<std::uint32_t>(0));
        QVERIFY(!shop.add("behind"));
        const RecordView view = viewOf(shop.close());
        QVERIFY(view.intact());
        QCOMPARE(view.payload(0).size(), big.size());
    }

    void aRecordHasAtMost4096EntriesAndFitsAlsoWithManyRoutes() {
        Workshop shop;
        std::size_t count = 0;
        while (shop.add("", {}, 0)) {
            ++count;
        }
        QVERIFY(count <= 4096);
        QVERIFY(viewOf(shop.close()).intact());
        std::vector<QueueId> fanout(20'000);
        std::iota(fanout.begin(), fanout.end(), QueueId{1});
        QVERIFY(shop.add("to everybody", fanout));
        const RecordView view = viewOf(shop.close());
        QVERIFY(view.intact());
        QVERIFY(
            std::equal(fanout.begin(), fanout.end(), view.routes(0).begin(), view.routes(0).end()));
    }

    void everyFlippedBitIsNoticed() {
        Workshop shop;
        shop.add("first", {1, 2});
        shop.add("second");
        const base::Bytes original = shop.close();
        std::vector<std::uint64_t> aligned(original.size() / 8);
        auto* bytes = reinterpret_cast<base::Byte*>(aligned.data());
        const std::size_t padding = sizeof(RecordHeader) + 11; // 5 bytes that say nothing
        for (std::size_t bit = 0; bit < original.size() * 8; ++bit) {
            if (bit / 8 >= padding && bit / 8 < padding + 5) {
                continue;
            }
            std::memcpy(bytes, original.data(), original.size());
            bytes[bit / 8] = static_cast<base::Byte>(bytes[bit / 8] ^ (1u << (bit % 8)));
            const auto header = parseHeader({bytes, original.size()}, kSalt, original.size());
            QVERIFY(!header || !RecordView(*header, {bytes, original.size()}).intact());
        }
        QVERIFY(!parseHeader(original, kSalt + 1, original.size()));
        QVERIFY(!parseHeader(original, kSalt, original.size() - 8));
    }

    void aSparseRecordKeepsSlotsRoutesAndDamage() {
        Workshop shop;
        for (int i = 0; i < 10; ++i) {
            shop.add("entry " + std::to_string(i), {QueueId(i), QueueId(50 + i)}, std::uint32_t(i));
        }
        const base::Bytes bytes = shop.close();
        shop.closed.data()[sizeof(RecordHeader) + 7 * 7] ^= 1; // the eighth payload
        const RecordView whole = viewOf(bytes);
        SparseRecord sparse;
        sparse.begin(whole.header(), kSalt);
        for (const std::uint32_t position : {3u, 7u, 9u}) {
            sparse.add(whole, position);
        }
        QCOMPARE(sparse.references(), std::uint64_t{19});
        std::string out;
        sparse.write(out);
        std::vector<std::uint64_t> aligned(out.size() / 8);
        std::memcpy(aligned.data(), out.data(), out.size());
        const RecordView view = viewOf({reinterpret_cast<base::Byte*>(aligned.data()), out.size()});
        QVERIFY(view.tableIntact());
        QCOMPARE(view.header().index, LogIndex{42});
        QVERIFY(!view.find(4));
        QCOMPARE(view.find(9), std::optional<std::uint32_t>(2));
        QCOMPARE(view.slot(0), 3u);
        QCOMPARE(view.routes(2)[1], QueueId{59});
        QCOMPARE(std::string(base::textOf(view.payload(2))), std::string("entry 9"));
        QVERIFY(view.payloadIntact(0));
        QVERIFY(!view.payloadIntact(1));
    }
};

QTEST_APPLESS_MAIN(RecordBuilderTest)
#include "tst_record_builder.moc"
