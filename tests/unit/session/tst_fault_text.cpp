// SPDX-License-Identifier: Apache-2.0
// Fault texts are RabbitMQ's, to the byte.
#include "session/amqp/fault_text.h"

#include <QTest>

using namespace millrace;
using namespace millrace::session::amqp;

class TestFaultText : public QObject {
    Q_OBJECT
  private slots:
    void octetsPrintAsErlangPrintsThem() {
        QCOMPARE(printOctets({}), std::string("<<>>"));
        QCOMPARE(printOctets(base::bytesOf("x")), std::string("<<\"x\">>"));
        QCOMPARE(printOctets(base::bytesOf("a\"b\\\n")), std::string("<<\"a\\\"b\\\\\\n\">>"));
        const base::Byte raw[] = {0, 20, 0, 20, 1};
        QCOMPARE(printOctets(raw), std::string("<<0,20,0,20,1>>"));
    }

    void aBrokenFrameIsNamedByItsFirstOctets() {
        const base::Byte raw[] = {0, 20, 0, 20, 1};
        QCOMPARE(frameError(1, raw, "{invalid_frame_end_marker,0}").text,
                 std::string("type 1, all octets = <<0,20,0,20,1>>: {invalid_frame_end_marker,0}"));
        QCOMPARE(unexpectedFrame(3, base::bytesOf("0123456789abcdefg")).text,
                 std::string("type 3, first 16 octets = <<\"0123456789abcdef\">>"));
    }

    void argumentsThatCannotBeReadAreNumbers() {
        const base::Byte declare[] = {0, 50, 0, 10, 65};
        const auto fault = methodFault(wire::Dispatched::malformed, declare);
        QVERIFY(fault.has_value());
        QCOMPARE(replyText(*fault), std::string("FRAME_ERROR - cannot decode <<65>>"));
        QCOMPARE(methodFault(wire::Dispatched::unknown, declare)->code,
                 base::ReplyCode::commandInvalid);
        QVERIFY(!methodFault(wire::Dispatched::handled, declare));
    }

    void aLongTextIsCutToAShortString() {
        const std::string text = replyText({base::ReplyCode::notFound, std::string(400, 'q')});
        QCOMPARE(text.size(), std::size_t{255});
        QVERIFY(text.starts_with("NOT_FOUND - qqq"));
        QVERIFY(text.ends_with("q..."));
    }
};

QTEST_APPLESS_MAIN(TestFaultText)
#include "tst_fault_text.moc"
