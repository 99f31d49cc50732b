// SPDX-License-Identifier: Apache-2.0
// Wire types: how bits share octets, and that measuring, writing and reading agree.
#include "wire/amqp/types.h"

#include "wire/fields.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::wire;
using namespace millrace::wire::amqp;

namespace {

struct NineBits {
    Bit a, b, c, d, e, f, g, h, i;
};
struct BitsAroundAnOctet {
    Bit a, b;
    Octet between;
    Bit c, d;
};
struct AnyNumbers {
    Octet octet;
    Short two;
    Long four;
    LongLong eight;
};
struct Texts {
    ShortStr brief;
    LongStr extended;
    Table table;
};

static_assert(kArity<NineBits> == 9);
static_assert(kArity<BitsAroundAnOctet> == 5);
static_assert(kArity<Texts> == 3);

template <typename M> QByteArray written(const M& m) {
    FieldSizer sizer;
    eachField(m, [&](const auto& field) { sizer.write(field); });
    QByteArray out(static_cast<qsizetype>(sizer.size()), '\x55');
    FieldWriter writer(reinterpret_cast<Byte*>(out.data()));
    eachField(m, [&](const auto& field) { writer.write(field); });
    const auto used = writer.at() - reinterpret_cast<Byte*>(out.data());
    return used == out.size() ? out.toHex() : QByteArray("measured wrongly");
}

// What is read views bytes that live until the next call.
template <typename M> bool readFrom(const QByteArray& hex, M& m) {
    static std::string raw;
    raw = QByteArray::fromHex(hex).toStdString();
    FieldReader in(base::bytesOf(raw));
    eachField(m, [&](auto& field) { in.read(field); });
    return in.ok() && in.atEnd();
}

} // namespace

class TypesTest : public QObject {
    Q_OBJECT

  private slots:
    void adjacentBitsShareAnOctetLowestFirst() {
        QCOMPARE(written(NineBits{true, false, true, false, false, false, false, true, true}),
                 QByteArray("8501"));
        NineBits bits;
        QVERIFY(readFrom("8501", bits));
        QVERIFY(bits.a && !bits.b && bits.c && !bits.g && bits.h && bits.i);
    }

    void bitsThatDoNotStandSideBySideDoNot() {
        QCOMPARE(written(BitsAroundAnOctet{false, true, 0x7F, true, true}), QByteArray("027f03"));
        BitsAroundAnOctet bits;
        QVERIFY(readFrom("027f03", bits));
        QVERIFY(!bits.a && bits.b && bits.c && bits.d);
        QCOMPARE(bits.between.value(), Byte{0x7F});
        QVERIFY(!readFrom("027f", bits));
    }

    void numbersAreBigEndian() {
        QCOMPARE(written(AnyNumbers{1, 0x0203, 0x04050607, 0x08090A0B0C0D0E0F}),
                 QByteArray("0102030405060708090a0b0c0d0e0f"));
    }

    void textsBearTheirLength() {
        const std::string table("\x01k\x56", 3); // k: void
        QCOMPARE(written(Texts{"abc", "de", table}),
                 QByteArray("0361626300000002646500000003016b56"));
        Texts texts;
        QVERIFY(readFrom("0361626300000002646500000003016b56", texts));
        QVERIFY(texts.brief.view() == "abc" && texts.extended.view() == "de");
        QVERIFY(texts.table.view().find("k"));
    }

    void aShortTextIsCutAt255Bytes() {
        const std::string large(300, 'x');
        const QByteArray hex = written(Texts{large, "", {}});
        QVERIFY(hex.startsWith("ff7878"));
        QCOMPARE(hex.size() / 2, qsizetype{1 + 255 + 4 + 4});
    }

    void aTableThatIsNotOneIsNotRead() {
        Texts texts;
        QVERIFY(!readFrom("000000000000000003016b21", texts)); // tag '!'
        QVERIFY(!readFrom("0000000000000000ff016b56", texts)); // longer than the payload
    }
};

QTEST_APPLESS_MAIN(TypesTest)
#include "tst_types.moc"
