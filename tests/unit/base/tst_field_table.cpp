// SPDX-License-Identifier: Apache-2.0
// Field tables: every type, equivalence across widths, printing as in error texts, and no trust in
// lengths.
#include "base/field_table.h"

#include "base/limits.h"
#include "support/seed.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::base;

namespace {

FieldValue value(char tag, const std::string& raw) {
    return {tag, bytesOf(raw)};
}

std::string hex(const char* digits) {
    return QByteArray::fromHex(digits).toStdString();
}

std::string nested(int depth) {
    std::string table;
    for (int level = 1; level < depth; ++level) {
        std::string outer;
        FieldTableWriter(outer).table("t", table);
        table = outer;
    }
    return table;
}

} // namespace

class FieldTableTest : public QObject {
    Q_OBJECT

  private slots:
    void everyTypeIsReadNamedAndPrinted_data() {
        QTest::addColumn<char>("tag");
        QTest::addColumn<QByteArray>("payload");
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("printed");
        const auto row = [](char tag, const char* payload, const char* name, const char* printed) {
            QTest::addRow("%c", tag)
                << tag << QByteArray(payload) << QByteArray(name) << QByteArray(printed);
        };
        row('t', "01", "bool", "true");
        row('b', "ff", "byte", "-1");
        row('B', "ff", "unsignedbyte", "255");
        row('s', "8000", "short", "-32768");
        row('u', "8000", "unsignedshort", "32768");
        row('I', "ffffffff", "signedint", "-1");
        row('i', "ffffffff", "unsignedint", "4294967295");
        row('l', "8000000000000000", "long", "-9223372036854775808");
        row('L', "ffffffffffffffff", "long", "-1");
        row('f', "3fc00000", "float", "1.5");
        row('d', "bfd0000000000000", "double", "-0.25");
        row('D', "0200000123", "decimal", "291e-2");
        row('S', "00000003616263", "longstr", "abc");
        row('x', "00000002ff00", "binary", nullptr);
        row('A', "000000027401", "array", "[...]");
        row('T', "0000000000000005", "timestamp", "5");
        row('F', "0000000401617401", "table", "{...}");
        row('V', "", "void", "undefined");
    }
    void everyTypeIsReadNamedAndPrinted() {
        QFETCH(char, tag);
        QFETCH(QByteArray, payload);
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, printed);
        const std::string raw =
            std::string("\x01k") + tag + QByteArray::fromHex(payload).toStdString();
        const FieldTable table(bytesOf(raw));
        QVERIFY(table.valid());
        const auto found = table.find("k");
        QVERIFY(found);
        QCOMPARE(found->tag, tag);
        QCOMPARE(QByteArray(found->typeName()), name);
        if (!printed.isNull()) {
            QCOMPARE(QByteArray::fromStdString(found->print()), printed);
        }
        QVERIFY(equivalent(*found, *found));
        for (std::size_t length = 1; length < raw.size(); ++length) {
            QVERIFY(!FieldTable(bytesOf(raw).first(length)).valid());
        }
    }

    void whatTheWriterWritesIsFound() {
        std::string raw;
        std::string inner;
        FieldTableWriter(inner).boolean("deep", true);
        FieldTableWriter(raw)
            .text("s", "text")
            .boolean("t", true)
            .long64("l", -5)
            .int32("i", 7)
            .timestamp("T", 9)
            .table("F", inner);
        const FieldTable table(bytesOf(raw));
        QVERIFY(table.valid());
        QVERIFY(table.find("s")->text() == "text");
        QVERIFY(table.find("t")->boolean());
        QCOMPARE(table.find("l")->integer(), std::int64_t{-5});
        QCOMPARE(table.find("i")->integer(), std::int64_t{7});
        QVERIFY(FieldTable(table.find("F")->raw).find("deep")->boolean());
        QVERIFY(!table.find("missing"));
        std::string copy;
        auto each = table.fields();
        while (const auto field = each.next()) {
            FieldTableWriter(copy).raw(field->name, field->value);
        }
        QVERIFY(copy == raw);
    }

    void integersAreEquivalentByValueWhateverTheirWidth() {
        const std::string byte = hex("64"), word = hex("0064"), wide = hex("0000000000000064");
        QVERIFY(equivalent(value('b', byte), value('l', wide)));
        QVERIFY(equivalent(value('B', byte), value('u', word)));
        QVERIFY(!equivalent(value('b', hex("9c")), value('B', hex("9c")))); // -100 and 156
        QVERIFY(!equivalent(value('l', wide), value('T', wide)));
    }

    void floatsAndDoublesAreEquivalentByValueAndNothingElseIs() {
        QVERIFY(equivalent(value('f', hex("3fc00000")), value('d', hex("3ff8000000000000"))));
        QVERIFY(!equivalent(value('f', hex("3f800000")), value('I', hex("00000001"))));
        QVERIFY(!equivalent(value('S', "abc"), value('x', "abc")));
        QVERIFY(!equivalent(value('S', "1"), value('B', hex("01"))));
        QVERIFY(equivalent(value('t', hex("01")), value('t', hex("02"))));
        QVERIFY(equivalent(value('V', ""), value('V', "")));
    }

    void anArrayYieldsItsValuesInOrder() {
        const std::string raw = hex("5300000001614205"); // S "a", B 5
        FieldArray array(bytesOf(raw));
        QVERIFY(array.next()->text() == "a");
        QCOMPARE(array.next()->integer(), std::int64_t{5});
        QVERIFY(!array.next());
    }

    void unknownTagsAreNotValid() {
        for (int tag = 0; tag < 256; ++tag) {
            const bool known =
                std::string_view("tbBsuIilLfdDSxATFV").find(static_cast<char>(tag)) !=
                std::string_view::npos;
            // With nothing behind it only void is whole.
            const std::string raw = std::string("\x01k") + static_cast<char>(tag);
            QVERIFY2(!FieldTable(bytesOf(raw)).valid() || tag == 'V',
                     qPrintable(QString::number(tag)));
            if (!known) {
                QVERIFY(!FieldTable(bytesOf(raw + std::string(8, '\0'))).valid());
            }
        }
    }

    void tablesMayBeNestedUpToTheLimitAndNotFurther() {
        QVERIFY(FieldTable(bytesOf(nested(limits::kTableDepth))).valid());
        QVERIFY(!FieldTable(bytesOf(nested(limits::kTableDepth + 1))).valid());
    }

    void nestingOfArraysCountsToo() {
        std::string array; // an array in an array in ...
        for (int level = 0; level < 100'000; ++level) {
            if (array.size() > 60'000) {
                break;
            }
            std::string outer = "A";
            ByteWriter(outer).big(static_cast<std::uint32_t>(array.size()));
            array = outer + array;
        }
        std::string table;
        FieldTableWriter(table).raw("a", {'A', bytesOf(array)});
        QVERIFY(!FieldTable(bytesOf(table)).valid());
    }

    void theLastReadableLengthIsNotBelievedBeyondTheTable() {
        QVERIFY(!FieldTable(bytesOf(hex("016b53ffffffff61"))).valid());
        QVERIFY(!FieldTable(bytesOf(hex("ff6b"))).valid());
        QVERIFY(FieldTable(Bytes{}).valid());
    }

    void noiseNeverCrashesOrNeverEnds() {
        support::Seed seed(0xF7);
        support::Random random(seed.value());
        for (int round = 0; round < 20'000; ++round) {
            const std::string raw = random.bytes(random.below(64));
            const FieldTable table(bytesOf(raw));
            static_cast<void>(table.valid());
            std::size_t seen = 0;
            auto each = table.fields();
            while (const auto field = each.next()) {
                ++seen;
                static_cast<void>(field->value.print());
            }
            QVERIFY(seen <= raw.size());
        }
    }
};

QTEST_APPLESS_MAIN(FieldTableTest)
#include "tst_field_table.moc"
