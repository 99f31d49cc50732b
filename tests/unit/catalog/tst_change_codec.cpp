// SPDX-License-Identifier: Apache-2.0
// Catalog changes survive the log, today's and, as far as promised, tomorrow's.
#include "catalog/change_codec.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::catalog;

namespace {

std::string bytesOf(const Change& change) {
    std::string out;
    encode(change, out);
    return out;
}

base::Result<Change> decoded(const std::string& bytes) {
    return decodeChange(base::bytesOf(bytes));
}

const QueueSpec kQueue{42,   "v",   "q\xC3\xA9", QueueType::quorum,
                       true, false, true,        std::string("\1a\0t", 4)};

std::vector<Change> oneOfEachKind() {
    return {{true, VhostSpec{"/"}},
            {false, UserSpec{"guest", "hash", {"administrator", "monitoring"}}},
            {true, ExchangeSpec{"/", "x", "topic", false, true, true, "args"}},
            {false, kQueue},
            {true, BindingSpec{"/", "x", "q", "a.#", true, std::string(300, 'z')}}};
}

} // namespace

class ChangeCodecTest : public QObject {
    Q_OBJECT

  private slots:
    void everyKindComesBackAsItWas() {
        for (const Change& change : oneOfEachKind()) {
            const std::string bytes = bytesOf(change);
            const auto back = decoded(bytes);
            QVERIFY(back.ok());
            QCOMPARE(back.value().put, change.put);
            QCOMPARE(back.value().object.index(), change.object.index());
            QCOMPARE(bytesOf(back.value()), bytes);
        }
        const auto back = decoded(bytesOf({true, kQueue}));
        const auto& queue = std::get<QueueSpec>(back.value().object);
        QCOMPARE(queue.id, kQueue.id);
        QCOMPARE(queue.name, kQueue.name);
        QCOMPARE(queue.type, kQueue.type);
        QVERIFY(queue.durable && !queue.exclusive && queue.autoDelete);
        QCOMPARE(queue.arguments, kQueue.arguments);
    }

    // The bytes are on disks: this must not change within version 1.
    void theBytesOfVersionOneStand() {
        const std::string expected(
            "\x01\x01\x05\x01\x00/\x01\x00x\x01\x00q\x01\x00k\x00\x02\x00\x00\x00"
            "ab",
            22);
        QCOMPARE(bytesOf({true, BindingSpec{"/", "x", "q", "k", false, "ab"}}), expected);
    }

    void fieldsAddedByALaterBuildArePassedOver() {
        for (const Change& change : oneOfEachKind()) {
            const auto back = decoded(bytesOf(change) + "something new");
            QVERIFY(back.ok());
            QCOMPARE(bytesOf(back.value()), bytesOf(change));
        }
    }

    void aNewerVersionIsRefusedByName() {
        std::string bytes = bytesOf({true, VhostSpec{"/"}});
        bytes[0] = 2;
        const auto back = decoded(bytes);
        QVERIFY(!back.ok());
        QCOMPARE(back.error().code, base::ErrorCode::unsupported);
        QVERIFY(back.error().text.find("version 2") != std::string::npos);
    }

    void anUnknownKindIsRefusedByNumber() {
        std::string bytes = bytesOf({true, VhostSpec{"/"}});
        bytes[2] = 99;
        const auto back = decoded(bytes);
        QCOMPARE(back.error().code, base::ErrorCode::unsupported);
        QVERIFY(back.error().text.find("kind 99") != std::string::npos);
    }

    void missingBytesAreDamageWhereverTheyEnd() {
        for (const Change& change : oneOfEachKind()) {
            const std::string bytes = bytesOf(change);
            for (std::size_t length = 0; length < bytes.size(); ++length) {
                const auto back = decoded(bytes.substr(0, length));
                QVERIFY(!back.ok());
                QCOMPARE(back.error().code, base::ErrorCode::damaged);
            }
        }
    }
};

QTEST_APPLESS_MAIN(ChangeCodecTest)
#include "tst_change_codec.moc"
