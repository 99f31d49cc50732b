// SPDX-License-Identifier: Apache-2.0
// Integers on the wire and on disk, and the reader that remembers having read too far.
#include "base/bytes.h"

#include <QtTest>

using namespace millrace::base;

class BytesTest : public QObject {
    Q_OBJECT

  private slots:
    void bigAndLittleEndianAreWhatTheyAreCalled() {
        std::string out;
        ByteWriter writer(out);
        writer.big<std::uint16_t>(0x0102);
        writer.big<std::uint32_t>(0x03040506);
        writer.big<std::uint64_t>(0x0708090A0B0C0D0EULL);
        writer.little<std::uint32_t>(0x0F101112);
        QCOMPARE(QByteArray::fromStdString(out).toHex(),
                 QByteArray("0102030405060708090a0b0c0d0e1211100f"));
    }

    void whatWasWrittenIsReadBack() {
        std::string out;
        ByteWriter writer(out);
        writer.big<std::int16_t>(-2);
        writer.big<std::int64_t>(INT64_MIN);
        writer.little<std::uint64_t>(UINT64_MAX - 1);
        writer.text16("short");
        writer.text32("long");
        ByteReader in(bytesOf(out));
        QCOMPARE(in.big<std::int16_t>(), std::int16_t{-2});
        QCOMPARE(in.big<std::int64_t>(), INT64_MIN);
        QCOMPARE(in.little<std::uint64_t>(), UINT64_MAX - 1);
        QVERIFY(readText16(in) == "short");
        QVERIFY(readText32(in) == "long");
        QVERIFY(in.ok() && in.atEnd());
    }

    void aReadBeyondTheEndYieldsNothingAndIsRememberedForGood() {
        const Byte raw[] = {1, 2, 3};
        ByteReader in(raw);
        QCOMPARE(in.big<std::uint32_t>(), 0U);
        QVERIFY(!in.ok());
        QCOMPARE(in.big<std::uint8_t>(), std::uint8_t{0}); // there would be three more
        QVERIFY(in.bytes(1).empty());
        QVERIFY(!in.ok());
    }

    void aLengthLargerThanTheRestIsNotBelieved() {
        const Byte raw[] = {0xFF, 0xFF, 0xFF, 0xFF, 'a'};
        ByteReader in(raw);
        QVERIFY(readText32(in).empty());
        QVERIFY(!in.ok());
    }
};

QTEST_APPLESS_MAIN(BytesTest)
#include "tst_bytes.moc"
