// SPDX-License-Identifier: Apache-2.0
// Queue declarations are accepted and refused as RabbitMQ 4.0.5 does, in its words.
#include "catalog/queue_arguments.h"

#include "argument_text.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::catalog;
using millrace::tests::argumentsFrom;

namespace {

QueueSpec specFrom(const QByteArray& flags, const QByteArray& arguments) {
    QueueSpec spec;
    spec.vhost = "/";
    spec.name = flags.contains('s') ? "" : "q";
    spec.durable = flags.contains('d');
    spec.exclusive = flags.contains('e');
    spec.autoDelete = flags.contains('a');
    spec.arguments = argumentsFrom(arguments.toStdString());
    spec.type = readQueueArguments(base::bytesOf(spec.arguments)).type;
    return spec;
}

QByteArray answer(const base::Refusal* refusal) {
    return refusal ? QByteArray::number(static_cast<int>(refusal->code)) + ' ' +
                         QByteArray::fromStdString(refusal->text)
                   : QByteArray("ok ");
}

QByteArray answerToNew(const QByteArray& flags, const QByteArray& arguments) {
    const auto outcome = checkNewQueue(specFrom(flags, arguments));
    return answer(outcome ? nullptr : &outcome.refusal());
}

QueueArguments read(const char* text) {
    const std::string raw = argumentsFrom(text);
    return readQueueArguments(base::bytesOf(raw));
}

} // namespace

class QueueArgumentsTest : public QObject {
    Q_OBJECT

  private slots:
    void newQueuesAreAnsweredAsByRabbitMq_data() {
        QTest::addColumn<QByteArray>("flags");
        QTest::addColumn<QByteArray>("arguments");
        QTest::addColumn<QByteArray>("expected");
        const auto lines = tests::tableLines("new_queues.tsv");
        QVERIFY(lines.size() > 100);
        for (const auto& line : lines) {
            QTest::newRow((line[0] + ' ' + line[1]).constData())
                << line[0] << line[1] << line[2] + ' ' + line[3];
        }
    }
    void newQueuesAreAnsweredAsByRabbitMq() {
        QFETCH(QByteArray, flags);
        QFETCH(QByteArray, arguments);
        QFETCH(QByteArray, expected);
        QCOMPARE(answerToNew(flags, arguments), expected);
    }

    void secondDeclarationsAreAnsweredAsByRabbitMq_data() {
        QTest::addColumn<QList<QByteArray>>("line");
        const auto lines = tests::tableLines("queues_again.tsv");
        QVERIFY(lines.size() > 50);
        for (const auto& line : lines) {
            QTest::newRow(
                (line[0] + ' ' + line[1] + " then " + line[2] + ' ' + line[3]).constData())
                << line;
        }
    }
    void secondDeclarationsAreAnsweredAsByRabbitMq() {
        QFETCH(QList<QByteArray>, line);
        const auto refusal =
            checkEquivalent(specFrom(line[0], line[1]), specFrom(line[2], line[3]));
        QCOMPARE(answer(refusal ? &*refusal : nullptr), line[4] + ' ' + line[5]);
    }

    void streamsAreRefusedUntilTheyExist() {
        QCOMPARE(answerToNew("d", "x-queue-type=S:stream"),
                 QByteArray("406 queue type 'stream' is not available yet: queue 'q' in vhost '/' "
                            "may be a classic or a quorum queue"));
    }

    void newerArgumentsFollowTheNewerRules() {
        QCOMPARE(answerToNew("d", "x-queue-type=S:quorum;x-consumer-timeout=I:-1"),
                 QByteArray("406 invalid arg 'x-consumer-timeout' for queue 'q' in vhost '/': "
                            "{value_negative,-1}"));
        QCOMPARE(answerToNew("d", "x-delayed-retry-type=S:all"),
                 QByteArray("406 invalid arg 'x-delayed-retry-type' for queue 'q' in vhost '/' of "
                            "queue type rabbit_classic_queue"));
        QCOMPARE(answerToNew("d", "x-queue-type=S:quorum;x-delayed-retry-min=S:soon"),
                 QByteArray("ok "));
    }

    void anUnknownTypeOfAServerNamedQueueIsRefusedLikeAnyOther() {
        QCOMPARE(answerToNew("ds", "x-queue-type=S:zz"),
                 QByteArray("406 invalid arg 'x-queue-type' for queue '' in vhost '/': "
                            "\"unsupported queue type 'zz'\""));
    }

    void reservedNamesAreRefused() {
        QCOMPARE(checkQueueName("amq.foo")->text,
                 std::string("queue name 'amq.foo' contains reserved prefix 'amq.*'"));
        QCOMPARE(checkQueueName("amq.foo")->code, base::ReplyCode::accessRefused);
        QVERIFY(!checkQueueName("amq"));
        QVERIFY(!checkQueueName("my.amq.foo"));
    }

    void typedValuesAreRead() {
        const QueueArguments all = read(
            "x-queue-type=S:quorum;x-message-ttl=I:5;x-expires=l:6;x-max-length=b:7;"
            "x-max-length-bytes=l:8589934592;x-overflow=S:reject-publish;x-delivery-limit=I:-1;"
            "x-dead-letter-exchange=S:;x-dead-letter-routing-key=S:k;"
            "x-dead-letter-strategy=S:at-least-once;x-single-active-consumer=t:1;"
            "x-consumer-timeout=I:9;x-max-priority=I:255");
        QCOMPARE(all.type, QueueType::quorum);
        QCOMPARE(all.messageTtlMs.value(), 5U);
        QCOMPARE(all.expiresMs.value(), 6U);
        QCOMPARE(all.maxLength.value(), 7U);
        QCOMPARE(all.maxLengthBytes.value(), 8589934592U);
        QCOMPARE(all.overflow.value(), Overflow::rejectPublish);
        QCOMPARE(all.deliveryLimit.value(), -1);
        QCOMPARE(all.deadLetterExchange.value(), std::string());
        QCOMPARE(all.deadLetterRoutingKey.value(), std::string("k"));
        QVERIFY(all.deadLetterAtLeastOnce);
        QVERIFY(all.singleActiveConsumer);
        QCOMPARE(all.consumerTimeoutMs.value(), 9U);
        QCOMPARE(int{all.maxPriority.value()}, 255);
    }

    void whatDoesNotFitIsAsAbsent() {
        const QueueArguments none = read("x-message-ttl=I:-1;x-max-length=S:5;x-max-priority=I:256;"
                                         "x-overflow=S:zz;x-delivery-limit=S:3;x-queue-type=I:1");
        QVERIFY(!none.messageTtlMs && !none.maxLength && !none.maxPriority && !none.overflow);
        QVERIFY(!none.deliveryLimit && !none.deadLetterExchange && !none.singleActiveConsumer);
        QCOMPARE(none.type, QueueType::classic);
    }

    void argumentsThatDoNothingYetAreNamed() {
        const std::string raw =
            argumentsFrom("x-queue-type=S:classic;x-message-ttl=I:5;x-foo=I:1;"
                          "x-queue-mode=S:lazy;x-max-priority=I:5;x-delivery-limit=I:3");
        const std::vector<std::string_view> expected{"x-message-ttl", "x-max-priority"};
        QVERIFY(argumentsWithoutEffect(base::bytesOf(raw)) == expected);
        QVERIFY(argumentsWithoutEffect({}).empty());
    }
};

QTEST_APPLESS_MAIN(QueueArgumentsTest)
#include "tst_queue_arguments.moc"
