// SPDX-License-Identifier: Apache-2.0
// Exchange declarations and bindings are accepted and refused as RabbitMQ 4.0.5 does, in its words.
#include "catalog/exchange_arguments.h"

#include "argument_text.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::catalog;
using millrace::tests::argumentsFrom;

namespace {

ExchangeSpec specFrom(const QByteArray& type, const QByteArray& flags,
                      const QByteArray& arguments) {
    ExchangeSpec spec;
    spec.vhost = "/";
    spec.name = "x";
    spec.type = type.toStdString();
    spec.durable = flags.contains('d');
    spec.autoDelete = flags.contains('a');
    spec.internal = flags.contains('i');
    spec.arguments = argumentsFrom(arguments.toStdString());
    return spec;
}

QByteArray textOf(const base::Refusal& refusal) {
    return QByteArray::number(static_cast<int>(refusal.code)) + ' ' +
           QByteArray::fromStdString(refusal.text);
}

QByteArray answerTo(const QByteArray& first, const ExchangeSpec& current,
                    const ExchangeSpec& asked) {
    if (const auto type = checkExchangeType(asked.type); !type) {
        return textOf(type.refusal());
    }
    const auto refusal = first == "-" ? checkNewExchange(asked) : checkEquivalent(current, asked);
    return refusal ? textOf(*refusal) : QByteArray("ok ");
}

QByteArray answerToBinding(const std::string& arguments) {
    const auto refusal = checkHeadersBinding(base::bytesOf(arguments));
    return refusal ? textOf(*refusal) : QByteArray("ok");
}

} // namespace

class ExchangeArgumentsTest : public QObject {
    Q_OBJECT

  private slots:
    void declarationsAreAnsweredAsByRabbitMq_data() {
        QTest::addColumn<QList<QByteArray>>("line");
        const auto lines = tests::tableLines("exchanges.tsv");
        QVERIFY(lines.size() > 20);
        for (const auto& line : lines) {
            QTest::newRow(line.mid(0, 6).join(' ').constData()) << line;
        }
    }
    void declarationsAreAnsweredAsByRabbitMq() {
        QFETCH(QList<QByteArray>, line);
        const ExchangeSpec current = specFrom(line[0], line[1], line[2]);
        const ExchangeSpec asked = specFrom(line[3], line[4], line[5]);
        QCOMPARE(answerTo(line[0], current, asked), line[6] + ' ' + line[7]);
    }

    void reservedNamesAreRefused() {
        ExchangeSpec spec = specFrom("direct", "d", "");
        spec.name = "amq.foo";
        QCOMPARE(textOf(*checkNewExchange(spec)),
                 QByteArray("403 exchange name 'amq.foo' contains reserved prefix 'amq.*'"));
    }

    void matchModesOtherThanTheFourAreRefused() {
        QCOMPARE(answerToBinding(""), QByteArray("ok"));
        for (const char* mode : {"all", "any", "all-with-x", "any-with-x"}) {
            QCOMPARE(answerToBinding(argumentsFrom(std::string("x-match=S:") + mode)),
                     QByteArray("ok"));
        }
        QCOMPARE(answerToBinding(argumentsFrom("a=I:1;x-match=S:zz")),
                 QByteArray("406 Invalid x-match field value <<\"zz\">>; expected all, any, "
                            "all-with-x, or any-with-x"));
        QCOMPARE(answerToBinding(argumentsFrom("x-match=S:")),
                 QByteArray("406 Invalid x-match field value <<>>; expected all, any, all-with-x, "
                            "or any-with-x"));
        QCOMPARE(
            answerToBinding(argumentsFrom("x-match=I:1")),
            QByteArray("406 Invalid x-match field type signedint (value 1); expected longstr"));
        QCOMPARE(answerToBinding(argumentsFrom("x-match=V")),
                 QByteArray("406 Invalid x-match field type void (value undefined); expected "
                            "longstr"));
        QCOMPARE(answerToBinding(argumentsFrom("x-match=t:1")),
                 QByteArray("406 Invalid x-match field type bool (value true); expected longstr"));
    }

    void anAlternateExchangeIsAText() {
        const auto alternate = [](const char* text) {
            const std::string raw = argumentsFrom(text);
            return alternateExchangeOf(base::bytesOf(raw));
        };
        QCOMPARE(alternate("a=I:1;alternate-exchange=S:ae").value(), std::string("ae"));
        QVERIFY(!alternate(""));
        QVERIFY(!alternate("alternate-exchange=I:1"));
        QVERIFY(!alternate("alternate-exchange=S:"));
    }

    void theOrderOfArgumentsMakesNoDifferenceAndTheirTypeDoes() {
        const auto sorted = [](const char* text) {
            const std::string raw = argumentsFrom(text);
            return sortedArguments(base::bytesOf(raw));
        };
        QCOMPARE(sorted("b=I:2;a=S:x;c=V"), sorted("c=V;b=I:2;a=S:x"));
        QVERIFY(sorted("a=I:1") != sorted("a=l:1"));
        QCOMPARE(sorted(""), std::string());
    }
};

QTEST_APPLESS_MAIN(ExchangeArgumentsTest)
#include "tst_exchange_arguments.moc"
