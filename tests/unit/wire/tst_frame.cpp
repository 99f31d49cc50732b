// SPDX-License-Identifier: Apache-2.0
// Frames are found in bytes however they arrive, and what is wrong with one is told with what the
// answer needs.
#include "wire/amqp/frame.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::wire::amqp;

namespace {

std::string raw(const char* hex) {
    return QByteArray::fromHex(hex).toStdString();
}

} // namespace

class FrameTest : public QObject {
    Q_OBJECT

  private slots:
    void aWholeFrameIsGivenWithItsPlace() {
        const std::string input = raw("01 0102 00000003 616263 ce 08");
        Frame frame;
        QVERIFY(FrameReader().next(base::bytesOf(input), frame) == FrameStatus::complete);
        QCOMPARE(frame.type, frame_type::kMethod);
        QCOMPARE(frame.channel, std::uint16_t{0x0102});
        QVERIFY(base::textOf(frame.payload) == "abc");
        QCOMPARE(frame.totalSize, std::size_t{11});
        QVERIFY(frame.payload.data() == base::bytesOf(input).data() + 7); // a view, not a copy
    }

    void everyPrefixOfAFrameNeedsMore() {
        const std::string input = raw("03 0001 00000004 61626364 ce");
        for (std::size_t size = 0; size < input.size(); ++size) {
            Frame frame;
            QVERIFY(FrameReader().next(base::bytesOf(input).first(size), frame) ==
                    FrameStatus::needMore);
            QCOMPARE(frame.totalSize, size < kFrameHead ? kFrameHead : input.size());
        }
    }

    void emptyBodiesAndHeartbeatsAreFrames() {
        Frame frame;
        const std::string body = raw("03 0001 00000000 ce");
        QVERIFY(FrameReader().next(base::bytesOf(body), frame) == FrameStatus::complete);
        QVERIFY(frame.payload.empty());
        const std::string heartbeat = raw("08 0000 00000000 ce");
        QVERIFY(FrameReader().next(base::bytesOf(heartbeat), frame) == FrameStatus::complete);
        QCOMPARE(frame.type, frame_type::kHeartbeat);
    }

    void aWrongEndIsToldWithTheWholePayload() {
        const std::string input = raw("01 0001 00000005 00140014 01 00");
        Frame frame;
        QVERIFY(FrameReader().next(base::bytesOf(input), frame) == FrameStatus::badEnd);
        QCOMPARE(frame.type, std::uint8_t{1});
        QCOMPARE(frame.endByte, Byte{0});
        QVERIFY(base::textOf(frame.payload) == std::string_view("\0\x14\0\x14\1", 5));
    }

    void aFrameAboveTheLimitIsToldByItsHeadAlone() {
        const std::string input = raw("03 0001 00001388");
        FrameReader reader;
        reader.setFrameMax(4096);
        Frame frame;
        QVERIFY(reader.next(base::bytesOf(input), frame) == FrameStatus::tooLarge);
        QCOMPARE(frame.type, std::uint8_t{3});
        QCOMPARE(frame.payloadSize, 5000U); // {frame_too_large,5000,4088}
        QCOMPARE(reader.payloadLimit(), 4088U);
        QVERIFY(frame.payload.empty());
    }

    void theLimitItselfIsAllowed() {
        const auto judge = [](std::uint32_t frameMax, const char* hex) {
            const std::string input = raw(hex);
            Frame frame;
            return FrameReader(frameMax).next(base::bytesOf(input), frame);
        };
        QVERIFY(judge(4096, "03 0001 00000ff8") == FrameStatus::needMore);
        QVERIFY(judge(4096, "03 0001 00000ff9") == FrameStatus::tooLarge);
        QVERIFY(judge(131072, "03 0001 0001fff8") == FrameStatus::needMore);
        QVERIFY(judge(131072, "03 0001 0001fff9") == FrameStatus::tooLarge);
        QVERIFY(judge(0, "03 0001 ffffffff") == FrameStatus::needMore);
    }

    void beforeTuneTheLimitIsSmall() {
        QCOMPARE(FrameReader().payloadLimit(), limits::kFrameMaxBeforeTune - 8);
    }

    void unknownTypesAreToldOnceTheFrameIsWhole() {
        Frame frame;
        for (int type = 0; type < 256; ++type) {
            const std::string input =
                std::string(1, static_cast<char>(type)) + raw("0000 00000001 78 ce");
            const bool known = type >= 1 && type <= 3; // 8 only without payload
            QVERIFY(FrameReader().next(base::bytesOf(input), frame) ==
                    (known ? FrameStatus::complete : FrameStatus::unknownType));
            QVERIFY(base::textOf(frame.payload) == "x");
        }
    }

    void theOpeningIsJudgedAsSoonAsItCanBe_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<int>("expected");
        const auto row = [](const char* name, const QByteArray& bytes, Opening expected) {
            QTest::newRow(name) << bytes << static_cast<int>(expected);
        };
        const QByteArray good("AMQP\0\0\x09\x01", 8);
        row("0-9-1", good, Opening::amqp091);
        row("0-9-1 and more", good + "more", Opening::amqp091);
        row("0-9", QByteArray("AMQP\x01\x01\x00\x09", 8), Opening::amqp091);
        row("nothing", QByteArray(), Opening::needMore);
        row("half", good.left(5), Opening::needMore);
        row("0-8", QByteArray("AMQP\x01\x01\x08\x00", 8), Opening::other);
        row("1.0", QByteArray("AMQP\x00\x01\x00\x00", 8), Opening::other);
        row("TLS", QByteArray("\x16\x03\x01", 3), Opening::other);
        row("HTTP", QByteArray("G"), Opening::other);
    }
    void theOpeningIsJudgedAsSoonAsItCanBe() {
        QFETCH(QByteArray, bytes);
        QFETCH(int, expected);
        const std::string text = bytes.toStdString();
        QCOMPARE(static_cast<int>(judgeOpening(base::bytesOf(text))), expected);
    }
};

QTEST_APPLESS_MAIN(FrameTest)
#include "tst_frame.moc"
