// SPDX-License-Identifier: Apache-2.0
// Content headers and properties: checked whole, looked at singly, passed on as they came, changed
// only where asked.
#include "wire/amqp/properties.h"

#include "base/limits.h"
#include "support/seed.h"
#include "unit/wire/random_method.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::wire::amqp;
using base::bytesOf;
using base::textOf;

namespace {

std::string fromHex(const char* hex) {
    return QByteArray::fromHex(hex).toStdString();
}

// One header: name S text.
std::string tableOf(std::string_view name, std::string_view value) {
    std::string table;
    base::FieldTableWriter(table).text(name, value);
    return table;
}

// Each property is there or not, by a bit of `choice`.
struct Sample {
    std::string headers;
    std::string raw;

    Sample(std::uint32_t choice, support::Random& random) {
        headers = RandomMethod(random).table();
        PropertyValues values;
        const auto has = [choice](int bit) { return (choice >> bit & 1) != 0; };
        const auto text = [&](int bit, const char* value) {
            return has(bit) ? std::optional<std::string_view>(value) : std::nullopt;
        };
        values.contentType = text(0, "text/plain");
        values.contentEncoding = text(1, "gzip");
        values.headers = has(2) ? std::optional(bytesOf(headers)) : std::nullopt;
        values.deliveryMode = has(3) ? std::optional<std::uint8_t>(2) : std::nullopt;
        values.priority = has(4) ? std::optional<std::uint8_t>(9) : std::nullopt;
        values.correlationId = text(5, "correlation");
        values.replyTo = text(6, "reply");
        values.expiration = text(7, "60000");
        values.messageId = text(8, "message");
        values.timestamp = has(9) ? std::optional<std::uint64_t>(1'700'000'000) : std::nullopt;
        values.type = text(10, "type");
        values.userId = text(11, "guest");
        values.appId = text(12, "");
        values.clusterId = text(13, "cluster");
        raw = values.encode();
    }
};

} // namespace

class PropertiesTest : public QObject {
    Q_OBJECT

  private slots:
    void everyPropertyIsWhereItsFlagSays() {
        support::Seed seed(0x9409);
        support::Random random(seed.value());
        const Sample sample((1U << 14) - 1, random);
        Properties properties;
        QVERIFY(properties.parse(bytesOf(sample.raw)));
        QVERIFY(properties.contentType() == "text/plain");
        QVERIFY(properties.contentEncoding() == "gzip");
        QVERIFY(textOf(properties.headers()->raw()) == sample.headers);
        QVERIFY(properties.deliveryMode() == std::uint8_t{2});
        QVERIFY(properties.persistent());
        QVERIFY(properties.priority() == std::uint8_t{9});
        QVERIFY(properties.correlationId() == "correlation");
        QVERIFY(properties.replyTo() == "reply");
        QVERIFY(properties.expiration() == "60000");
        QVERIFY(properties.messageId() == "message");
        QVERIFY(properties.timestamp() == std::uint64_t{1'700'000'000});
        QVERIFY(properties.type() == "type");
        QVERIFY(properties.userId() == "guest");
        QVERIFY(properties.appId() == "");
        QVERIFY(properties.clusterId() == "cluster");
    }

    void everySelectionOfPropertiesIsReadAndCutAnywhereRefused() {
        support::Seed seed(0x9410);
        support::Random random(seed.value());
        for (std::uint32_t choice = 0; choice < 1U << 14; choice += 1 + random.below(40)) {
            const Sample sample(choice, random);
            Properties properties;
            QVERIFY(properties.parse(bytesOf(sample.raw)));
            QCOMPARE(properties.userId().has_value(), (choice >> 11 & 1) != 0);
            QCOMPARE(properties.priority().has_value(), (choice >> 4 & 1) != 0);
            for (std::size_t size = 0; size < sample.raw.size(); ++size) {
                QVERIFY(!properties.parse(bytesOf(sample.raw).first(size)));
            }
            QVERIFY(!properties.parse(bytesOf(sample.raw + '\0')));
        }
    }

    void flagsWithoutAPropertyAreRefused() {
        Properties properties;
        QVERIFY(properties.parse(bytesOf(fromHex("0000"))));
        QVERIFY(!properties.parse(bytesOf(fromHex("0002"))));
        QVERIFY(properties.parse(bytesOf(fromHex("0001 0000"))));
        const std::string continued = fromHex("1001 0001 0000 02");
        QVERIFY(properties.parse(bytesOf(continued)));
        QVERIFY(properties.persistent());
        QVERIFY(!properties.parse(bytesOf(fromHex("0001 8000"))));
        QVERIFY(!properties.parse(bytesOf(fromHex("0001"))));
    }

    void aHeadersTableMustBeOne() {
        Properties properties;
        QVERIFY(properties.parse(bytesOf(fromHex("2000 00000003 016b56"))));
        QVERIFY(!properties.parse(bytesOf(fromHex("2000 00000003 016b21"))));
        QVERIFY(!properties.parse(bytesOf(fromHex("2000 00000002 016b56"))));
    }

    void aContentHeaderIsReadWhole() {
        const std::string payload = fromHex("003c 0000 0000000000000010 1000 02");
        ContentHeader header;
        QVERIFY(header.parse(bytesOf(payload)));
        QCOMPARE(header.classId, kBasicClass);
        QCOMPARE(header.bodySize, std::uint64_t{16});
        QVERIFY(header.properties.persistent());
        QVERIFY(header.properties.raw().data() == bytesOf(payload).data() + 12);
        for (std::size_t size = 0; size < payload.size(); ++size) {
            QVERIFY(!header.parse(bytesOf(payload).first(size)));
        }
    }

    void aHeaderOfAnotherClassIsNamedAndItsPropertiesLeftAlone() {
        ContentHeader header;
        QVERIFY(header.parse(bytesOf(fromHex("0032 0000 0000000000000000 ffff"))));
        QCOMPARE(header.classId, std::uint16_t{50});
    }

    void otherPropertiesStayByteForByteWhenHeadersChange() {
        support::Seed seed(0x9411);
        support::Random random(seed.value());
        const std::string table = tableOf("x-death", "yes");
        for (std::uint32_t choice = 0; choice < 1U << 14; choice += 1 + random.below(40)) {
            const Sample sample(choice, random);
            const std::string changed = rewriteHeaders(bytesOf(sample.raw), bytesOf(table));
            Properties before;
            Properties after;
            QVERIFY(before.parse(bytesOf(sample.raw)));
            QVERIFY(after.parse(bytesOf(changed)));
            QVERIFY(textOf(after.headers()->raw()) == table);
            QVERIFY(after.contentEncoding() == before.contentEncoding());
            QVERIFY(after.deliveryMode() == before.deliveryMode());
            QVERIFY(after.clusterId() == before.clusterId());
            if (before.headers()) {
                QVERIFY(rewriteHeaders(bytesOf(changed), before.headers()->raw()) == sample.raw);
            } else {
                QVERIFY(rewriteHeaders(bytesOf(changed), std::nullopt) == sample.raw);
            }
        }
    }

    void oneHeaderIsSetOrTakenAwayAndTheRestStays() {
        PropertyValues values;
        const std::string table = tableOf("BCC", "hidden") + tableOf("kept", "x");
        values.headers = bytesOf(table);
        values.deliveryMode = 2;
        const std::string raw = values.encode();
        const std::string without = withoutHeader(bytesOf(raw), "BCC");
        Properties properties;
        QVERIFY(properties.parse(bytesOf(without)));
        QVERIFY(textOf(properties.headers()->raw()) == tableOf("kept", "x"));
        QVERIFY(properties.persistent());
        const std::string bare = withoutHeader(bytesOf(without), "kept");
        QVERIFY(properties.parse(bytesOf(bare)));
        QVERIFY(!properties.headers());

        const std::string once = withHeader(bytesOf(bare), "x-delivery-count", 1);
        const std::string twice = withHeader(bytesOf(once), "x-delivery-count", 2);
        QVERIFY(properties.parse(bytesOf(twice)));
        QCOMPARE(properties.headers()->find("x-delivery-count")->tag, 'l');
        QCOMPARE(properties.headers()->find("x-delivery-count")->integer(), std::int64_t{2});
        QCOMPARE(once.size(), twice.size());
    }

    void replyToIsReplacedOrAdded() {
        PropertyValues values;
        values.correlationId = "c";
        values.expiration = "9";
        const std::string added =
            withReplyTo(bytesOf(values.encode()), "amq.rabbitmq.reply-to.token");
        const std::string replaced = withReplyTo(bytesOf(added), "b");
        Properties properties;
        QVERIFY(properties.parse(bytesOf(added)));
        QVERIFY(properties.replyTo() == "amq.rabbitmq.reply-to.token");
        values.replyTo = "b";
        QVERIFY(replaced == values.encode());
    }

    void continuedFlagsBecomeOneWordInACopy() {
        const std::string copy = withHeader(bytesOf(fromHex("1001 0000 02")), "n", 1);
        QVERIFY(copy.substr(0, 2) == fromHex("3000"));
        Properties properties;
        QVERIFY(properties.parse(bytesOf(copy)));
        QVERIFY(properties.persistent());
    }

    void noiseNeverReadsOutside() {
        support::Seed seed(0x9412);
        support::Random random(seed.value());
        for (int round = 0; round < 50'000; ++round) {
            const std::string noise = random.bytes(random.below(40));
            const std::vector<Byte> exact(noise.begin(), noise.end());
            Properties properties;
            if (properties.parse(exact)) {
                static_cast<void>(properties.clusterId());
                static_cast<void>(withHeader(exact, "n", 1));
            }
        }
    }
};

QTEST_APPLESS_MAIN(PropertiesTest)
#include "tst_properties.moc"
