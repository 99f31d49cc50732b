// SPDX-License-Identifier: Apache-2.0
// What the engine reads of properties, whatever stands around it.
#include "engine/message_headers.h"

#include <QTest>

using namespace millrace;
using namespace millrace::engine;

namespace {

std::string all() {
    std::string table;
    base::FieldTableWriter(table).text("h", "v").int32("n", 1);
    std::string out;
    base::ByteWriter writer(out);
    const auto text = [&writer](std::string_view value) {
        writer.big<std::uint8_t>(static_cast<std::uint8_t>(value.size()));
        writer.text(value);
    };
    writer.big<std::uint16_t>(0xFFFC);
    text("type");
    text("encoding");
    writer.big<std::uint32_t>(static_cast<std::uint32_t>(table.size()));
    writer.text(table);
    writer.big<std::uint8_t>(2);
    writer.big<std::uint8_t>(9);
    text("correlation");
    text("reply");
    text("100");
    text("message");
    writer.big<std::uint64_t>(77);
    text("kind");
    text("user");
    text("app");
    text("cluster");
    return out;
}

} // namespace

class MessageHeadersTest : public QObject {
    Q_OBJECT
  private slots:
    void findsItsFieldsAmongAllOthers() {
        const std::string properties = all();
        MessageProperties read;
        QVERIFY(readProperties(base::bytesOf(properties), read));
        QVERIFY(read.persistent && read.hasExpiration && read.hasUserId && read.hasReplyTo);
        QCOMPARE(read.expiration, std::string_view("100"));
        QCOMPARE(read.userId, std::string_view("user"));
        QCOMPARE(read.replyTo, std::string_view("reply"));
        QCOMPARE(read.headers.find("h")->text(), std::string_view("v"));
    }

    void tornListsAreTold() {
        const std::string properties = all();
        for (std::size_t size = 0; size < properties.size(); ++size) {
            MessageProperties read;
            QVERIFY(!readProperties(base::bytesOf(properties).subspan(0, size), read));
        }
    }

    void replacesReplyToInItsPlace() {
        const std::string properties = all();
        MessageProperties read;
        QVERIFY(readProperties(base::bytesOf(properties), read));
        std::string out;
        replaceReplyTo(base::bytesOf(properties), read, "somebody else", out);
        MessageProperties again;
        QVERIFY(readProperties(base::bytesOf(out), again));
        QCOMPARE(again.replyTo, std::string_view("somebody else"));
        QCOMPARE(again.userId, std::string_view("user"));
        QCOMPARE(out.size(), properties.size() + 8);
    }
};

QTEST_APPLESS_MAIN(MessageHeadersTest)
#include "tst_message_headers.moc"
