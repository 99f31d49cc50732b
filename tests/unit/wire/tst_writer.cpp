// SPDX-License-Identifier: Apache-2.0
// Frames as bytes: golden ones from the protocol's definition, contents in every size, and sinks of
// any kind.
#include "wire/amqp/writer.h"

#include "support/seed.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::wire;
using namespace millrace::wire::amqp;
using base::bytesOf;

namespace {

template <typename M> std::string frameOf(std::uint16_t channel, const M& method) {
    std::string out;
    StringSink sink(out);
    writeMethod(sink, channel, method);
    return out;
}

QByteArray hexOf(const std::string& bytes) {
    return QByteArray::fromStdString(bytes).toHex();
}

// What a receiver makes of `bytes`: "type:payload size" of each frame, or what is wrong.
QByteArrayList framesOf(const std::string& bytes, std::uint32_t frameMax,
                        std::string* bodies = nullptr) {
    QByteArrayList seen;
    FrameReader reader(frameMax);
    Bytes left = bytesOf(bytes);
    while (!left.empty()) {
        Frame frame;
        if (reader.next(left, frame) != FrameStatus::complete) {
            return {"broken"};
        }
        seen.append(QByteArray::number(frame.type) + ':' + QByteArray::number(frame.payloadSize));
        if (frame.type == frame_type::kBody && bodies != nullptr) {
            bodies->append(base::textOf(frame.payload));
        }
        left = left.subspan(frame.totalSize);
    }
    return seen;
}

// Gives no more room than it must, and only where it was last asked.
class StrictSink {
  public:
    void append(Bytes bytes) { out.append(base::textOf(bytes)); }
    Byte* reserve(std::size_t size) {
        largest = std::max(largest, size);
        room_.assign(size, Byte{0xEE});
        return room_.data();
    }
    void commit(std::size_t size) {
        out.append(base::textOf(Bytes(room_).first(size)));
        room_.clear();
    }
    std::string out;
    std::size_t largest = 0;

  private:
    std::vector<Byte> room_;
};

} // namespace

class WriterTest : public QObject {
    Q_OBJECT

  private slots:
    void framesAreTheBytesOfTheProtocol_data() {
        QTest::addColumn<QByteArray>("written");
        QTest::addColumn<QByteArray>("golden");
        const auto row = [](const char* name, const std::string& frame, const char* hex) {
            QTest::newRow(name) << hexOf(frame) << QByteArray::fromHex(hex).toHex();
        };
        const std::string table("\x01t\x49\x00\x00\x00\x05", 7); // t: I 5
        row("connection.start", frameOf(0, ConnectionStart{0, 9, table, "PLAIN", "en_US"}),
            "01 0000 00000023 000a 000a 00 09 00000007 017449 00000005 00000005504c41494e "
            "00000005656e5f5553 ce");
        row("connection.start-ok",
            frameOf(0, ConnectionStartOk{{}, "PLAIN", {std::string_view("\0a\0b", 4)}, "en_US"}),
            "01 0000 0000001c 000a 000b 00000000 05504c41494e 00000004 00610062 05656e5f5553 ce");
        row("connection.tune", frameOf(0, ConnectionTune{2047, 131072, 60}),
            "01 0000 0000000c 000a 001e 07ff 00020000 003c ce");
        row("connection.open", frameOf(0, ConnectionOpen{"/", "", true}),
            "01 0000 00000008 000a 0028 012f 00 01 ce");
        row("connection.open-ok", frameOf(0, ConnectionOpenOk{}),
            "01 0000 00000005 000a 0029 00 ce");
        row("connection.close", frameOf(0, ConnectionClose{320, "bye", 60, 40}),
            "01 0000 0000000e 000a 0032 0140 03627965 003c 0028 ce");
        row("connection.close-ok", frameOf(0, ConnectionCloseOk{}),
            "01 0000 00000004 000a 0033 ce");
        row("channel.open", frameOf(1, ChannelOpen{}), "01 0001 00000005 0014 000a 00 ce");
        row("channel.open-ok", frameOf(0xFFFF, ChannelOpenOk{}),
            "01 ffff 00000008 0014 000b 00000000 ce");
        row("exchange.declare",
            frameOf(1, ExchangeDeclare{0, "x", "topic", false, true, false, true, false, {}}),
            "01 0001 00000013 0028 000a 0000 0178 05746f706963 0a 00000000 ce");
        row("exchange.unbind-ok", frameOf(1, ExchangeUnbindOk{}), "01 0001 00000004 0028 0033 ce");
        row("queue.declare",
            frameOf(2, QueueDeclare{0, "q", false, true, false, false, true, table}),
            "01 0002 00000014 0032 000a 0000 0171 12 00000007 017449 00000005 ce");
        row("queue.declare-ok", frameOf(2, QueueDeclareOk{"q", 3, 1}),
            "01 0002 0000000e 0032 000b 0171 00000003 00000001 ce");
        row("queue.unbind", frameOf(2, QueueUnbind{0, "q", "x", "k", {}}),
            "01 0002 00000010 0032 0032 0000 0171 0178 016b 00000000 ce");
        row("basic.qos", frameOf(1, BasicQos{0, 1000, true}),
            "01 0001 0000000b 003c 000a 00000000 03e8 01 ce");
        row("basic.consume", frameOf(1, BasicConsume{0, "q", "t", false, true, false, false, {}}),
            "01 0001 0000000f 003c 0014 0000 0171 0174 02 00000000 ce");
        row("basic.publish", frameOf(1, BasicPublish{0, "", "key", true, true}),
            "01 0001 0000000c 003c 0028 0000 00 036b6579 03 ce");
        row("basic.return", frameOf(1, BasicReturn{312, "NO_ROUTE", "", "k"}),
            "01 0001 00000012 003c 0032 0138 084e4f5f524f555445 00 016b ce");
        row("basic.deliver", frameOf(1, BasicDeliver{"t", 258, true, "x", "k"}),
            "01 0001 00000013 003c 003c 0174 0000000000000102 01 0178 016b ce");
        row("basic.get-ok", frameOf(1, BasicGetOk{1, false, "", "k", 7}),
            "01 0001 00000014 003c 0047 0000000000000001 00 00 016b 00000007 ce");
        row("basic.ack", frameOf(1, BasicAck{9, true}),
            "01 0001 0000000d 003c 0050 0000000000000009 01 ce");
        row("basic.nack", frameOf(1, BasicNack{9, false, true}),
            "01 0001 0000000d 003c 0078 0000000000000009 02 ce");
        row("confirm.select", frameOf(1, ConfirmSelect{}), "01 0001 00000005 0055 000a 00 ce");
        row("tx.commit", frameOf(1, TxCommit{}), "01 0001 00000004 005a 0014 ce");
    }
    void framesAreTheBytesOfTheProtocol() {
        QFETCH(QByteArray, written);
        QFETCH(QByteArray, golden);
        QCOMPARE(written, golden);
    }

    void aHeartbeatIsEightBytes() {
        std::string out;
        StringSink sink(out);
        writeHeartbeat(sink);
        QCOMPARE(hexOf(out), QByteArray("08000000000000ce"));
    }

    void aDeliveryIsMethodHeaderAndBody() {
        std::string out;
        StringSink sink(out);
        const std::string properties("\x10\x00\x02", 3);
        writeContent(sink, 1, BasicDeliver{"t", 1, false, "", "k"}, bytesOf(properties),
                     bytesOf("hello"), 5, 131072);
        const QByteArray golden =
            QByteArray::fromHex("01 0001 00000012 003c 003c 0174 0000000000000001 00 00 016b ce"
                                "02 0001 0000000f 003c 0000 0000000000000005 1000 02 ce"
                                "03 0001 00000005 68656c6c6f ce");
        QCOMPARE(hexOf(out), golden.toHex());
    }

    void anEmptyBodyHasNoFrame() {
        std::string out;
        StringSink sink(out);
        writeContent(sink, 1, BasicDeliver{"t", 1, false, "", "k"},
                     bytesOf(std::string_view("\0\0", 2)), {}, 0, 131072);
        QCOMPARE(framesOf(out, 131072), (QByteArrayList{"1:18", "2:14"}));
    }

    void missingPropertiesAreWrittenAsNoFlags() {
        std::string out;
        StringSink sink(out);
        writeContent(sink, 1, BasicGetOk{1, false, "", "k", 0}, {}, bytesOf("b"), 1, 131072);
        QCOMPARE(framesOf(out, 131072), (QByteArrayList{"1:20", "2:14", "3:1"}));
    }

    void bodiesAreSplitAtTheFrameMaxAndArriveWhole_data() {
        QTest::addColumn<quint32>("frameMax");
        QTest::addColumn<quint32>("size");
        for (const quint32 frameMax : {4096U, 131072U, 0U}) {
            for (const quint32 size :
                 {1U, 4000U, 4086U, 4087U, 4088U, 4089U, 8176U, 8177U, 131064U, 131065U, 300000U}) {
                QTest::addRow("%u in frames of %u", size, frameMax) << frameMax << size;
            }
        }
    }
    void bodiesAreSplitAtTheFrameMaxAndArriveWhole() {
        QFETCH(quint32, frameMax);
        QFETCH(quint32, size);
        support::Random random(size);
        const std::string body = random.bytes(size);
        StrictSink sink;
        writeContent(sink, 3, BasicDeliver{"tag", 1, false, "exchange", "key"},
                     bytesOf(std::string_view("\0\0", 2)), bytesOf(body), size, frameMax);
        std::string arrived;
        const QByteArrayList frames = framesOf(sink.out, frameMax, &arrived);
        const quint32 most = frameMax == 0 ? UINT32_MAX : frameMax - 8;
        QCOMPARE(frames.size(), qsizetype{2 + (size - 1) / most + 1});
        QVERIFY(arrived == body);
        QVERIFY(sink.largest <= kReserveMax);
    }

    void aBodyMayComeInPieces() {
        std::string out;
        StringSink sink(out);
        writeContent(sink, 1, BasicDeliver{"t", 1, false, "", "k"}, {}, bytesOf("first "), 12,
                     131072);
        writeBody(sink, 1, bytesOf("second"), 131072);
        std::string arrived;
        QCOMPARE(framesOf(out, 131072, &arrived), (QByteArrayList{"1:18", "2:14", "3:6", "3:6"}));
        QVERIFY(arrived == "first second");
    }

    void aMethodLargerThanASinkMustGrantIsStillOneFrame() {
        std::string table;
        base::FieldTableWriter(table).text("large", std::string(10'000, 'x'));
        StrictSink sink;
        writeMethod(sink, 0, ConnectionStartOk{table, "PLAIN", "", "en_US"});
        QCOMPARE(framesOf(sink.out, 131072).size(), qsizetype{1});
        QVERIFY(sink.largest <= kReserveMax);
    }

    void longPropertiesGoThroughUncut() {
        std::string table;
        base::FieldTableWriter(table).text("large", std::string(100'000, 'x'));
        PropertyValues values;
        values.headers = bytesOf(table);
        const std::string properties = values.encode();
        StrictSink sink;
        writeContent(sink, 1, BasicReturn{312, "NO_ROUTE", "", "k"}, bytesOf(properties),
                     bytesOf("b"), 1, 131072);
        Frame frame;
        const Bytes header = bytesOf(sink.out).subspan(18 + 8);
        QVERIFY(FrameReader(131072).next(header, frame) == FrameStatus::complete);
        ContentHeader read;
        QVERIFY(read.parse(frame.payload));
        QVERIFY(base::textOf(read.properties.raw()) == properties);
        QVERIFY(sink.largest <= kReserveMax);
    }

    void aSmallDeliveryIsCheap() {
        std::string out;
        out.reserve(1 << 20);
        StringSink sink(out);
        const std::string body(16, 'b');
        const std::string properties("\x10\x00\x02", 3);
        QBENCHMARK {
            out.clear();
            for (std::uint64_t tag = 1; tag <= 1000; ++tag) {
                writeContent(sink, 1, BasicDeliver{"ctag1.1", tag, false, "", "benchmark"},
                             bytesOf(properties), bytesOf(body), 16, 131072);
            }
        }
        QCOMPARE(out.size(),
                 std::size_t{1000 * (8 + 4 + 8 + 8 + 1 + 1 + 10 + 8 + 12 + 3 + 8 + 16)});
    }
};

QTEST_APPLESS_MAIN(WriterTest)
#include "tst_writer.moc"
