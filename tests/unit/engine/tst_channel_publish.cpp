// SPDX-License-Identifier: Apache-2.0
// Publishing: refusals in RabbitMQ's words, further routing keys, what is confirmed when.
#include "unit/engine/engine_fixture.h"

#include "base/field_table.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;
using base::ReplyCode;
using Strings = std::vector<std::string>;

namespace {

std::string withText(std::uint16_t flag, std::string_view text) {
    std::string properties;
    base::ByteWriter writer(properties);
    writer.big<std::uint16_t>(flag);
    writer.big<std::uint8_t>(static_cast<std::uint8_t>(text.size()));
    writer.text(text);
    return properties;
}

std::string withHeaders(const std::string& table) {
    std::string properties;
    base::ByteWriter writer(properties);
    writer.big<std::uint16_t>(0x3000);
    writer.big<std::uint32_t>(static_cast<std::uint32_t>(table.size()));
    writer.text(table);
    writer.big<std::uint8_t>(1);
    return properties;
}

std::string arrayOf(std::initializer_list<std::string_view> texts) {
    std::string raw;
    base::ByteWriter writer(raw);
    for (const std::string_view text : texts) {
        writer.text("S");
        writer.big<std::uint32_t>(static_cast<std::uint32_t>(text.size()));
        writer.text(text);
    }
    return raw;
}

} // namespace

class ChannelPublishTest : public QObject {
    Q_OBJECT

    template <typename T>
    static void refused(base::Outcome<T> outcome, ReplyCode code, std::string_view text) {
        QVERIFY(!outcome.ok());
        QCOMPARE(outcome.refusal().code, code);
        QCOMPARE(outcome.refusal().text, std::string(text));
    }

  private slots:
    void missingAndInternalExchangesAreRefused() {
        EngineFixture f;
        Peer p(f);
        refused(p.publish("k", "a", true, "x"), ReplyCode::notFound,
                "no exchange 'x' in vhost '/'");
        engine::ExchangeDeclare declare;
        declare.name = "x";
        declare.type = "direct";
        declare.internal = true;
        QVERIFY(f.broker->declareExchange(*p.connection, declare).ok());
        refused(p.publish("k", "a", true, "x"), ReplyCode::accessRefused,
                "cannot publish to internal exchange 'x' in vhost '/'");
    }

    void tooLargeIsRefused() {
        EngineFixture f;
        f.options.maxMessageSize = 10;
        f.restart();
        Peer p(f);
        refused(p.publish("k", "12345678901"), ReplyCode::preconditionFailed,
                "message size 11 is larger than configured max size 10");
        QVERIFY(p.publish("k", "1234567890").ok());
    }

    void userIdMustBeTheLogin() {
        EngineFixture f;
        Peer p(f);
        f.broker->putUser({"agent", "", {"impersonator"}});
        Peer agent(f, "agent");
        const std::string joe = withText(0x0010, "joe");
        refused(p.publishWith(joe, "k", "a"), ReplyCode::preconditionFailed,
                "user_id property set to 'joe' but authenticated user was 'guest'");
        QVERIFY(p.publishWith(withText(0x0010, "guest"), "k", "a").ok());
        QVERIFY(agent.publishWith(joe, "k", "a").ok());
    }

    void expirationMustBeMilliseconds_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("why");
        QTest::newRow("word") << "abc"
                              << "no_integer";
        QTest::newRow("empty") << ""
                               << "no_integer";
        QTest::newRow("negative") << "-1"
                                  << "{value_negative,-1}";
        QTest::newRow("more") << "12 s"
                              << "{leftover_string,\" s\"}";
        QTest::newRow("too large") << "00315360000001"
                                   << "{value_too_large,315360000001}";
        QTest::newRow("largest") << "315360000000"
                                 << "";
        QTest::newRow("zero") << "-0"
                              << "";
        QTest::newRow("plus") << "+5"
                              << "";
    }
    void expirationMustBeMilliseconds() {
        QFETCH(QString, text);
        QFETCH(QString, why);
        EngineFixture f;
        Peer p(f);
        auto outcome = p.publishWith(withText(0x0100, text.toStdString()), "k", "a");
        if (why.isEmpty()) {
            QVERIFY(outcome.ok());
            return;
        }
        refused(std::move(outcome), ReplyCode::preconditionFailed,
                "invalid expiration '" + text.toStdString() + "': " + why.toStdString());
    }

    void carbonCopiesAreFurtherKeysAndBccIsNotDelivered() {
        EngineFixture f;
        Peer p(f);
        for (const char* queue : {"a", "b", "c"}) {
            p.declare(queue);
            QVERIFY(p.consume(queue, queue).ok());
        }
        const std::string cc = arrayOf({"b"});
        const std::string bcc = arrayOf({"c", "a"});
        std::string table;
        base::FieldTableWriter writer(table);
        writer.text("kept", "yes")
            .raw("CC", {'A', base::bytesOf(cc)})
            .raw("BCC", {'A', base::bytesOf(bcc)});
        QVERIFY(p.publishWith(withHeaders(table), "a", "m").ok());
        f.turn();
        QCOMPARE(p.client.deliveries.size(), std::size_t{3}); // each queue once
        std::string without;
        base::FieldTableWriter(without).text("kept", "yes").raw("CC", {'A', base::bytesOf(cc)});
        for (const auto& got : p.client.deliveries) {
            QCOMPARE(got.routingKey, std::string("a"));
            QCOMPARE(got.properties, withHeaders(without));
        }
    }

    void carbonCopyMustBeAnArray() {
        EngineFixture f;
        Peer p(f);
        std::string table;
        base::FieldTableWriter(table).text("CC", "b");
        refused(p.publishWith(withHeaders(table), "a", "m"), ReplyCode::preconditionFailed,
                "invalid message: {unacceptable_type_in_header,\"CC\",longstr}");
    }

    void unroutableIsToldAndConfirmedAtOnce() {
        EngineFixture f;
        Peer p(f);
        p.channel->selectConfirms();
        const auto routed = p.publish("nowhere", "a");
        QVERIFY(routed.ok());
        f.turn();
        QCOMPARE(p.client.confirmedUpTo(), 1U);
    }

    void aPublishToADeletedQueueIsStillConfirmed() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        p.channel->selectConfirms();
        QVERIFY(p.publish("q", "a").ok());
        QVERIFY(f.broker->deleteQueue(*p.connection, "/", "q", false, false).ok());
        f.sync();
        QCOMPARE(p.client.confirmedUpTo(), 1U);
    }

    void aClosedChannelIsNotConfirmed() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        p.channel->selectConfirms();
        QVERIFY(p.publish("q", "a").ok());
        f.turn();
        p.channel.reset();
        f.sync();
        QVERIFY(p.client.confirms.empty());
        QCOMPARE(p.ready("q"), 1U);
    }
};

QTEST_APPLESS_MAIN(ChannelPublishTest)
#include "tst_channel_publish.moc"
