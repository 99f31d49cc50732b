// SPDX-License-Identifier: Apache-2.0
// Where the disk is short publishers wait and are told so; consumers, acks and deletes go on, also
// on a disk that is full to its reserve; it ends by itself when there is room.
#include "server/flood.h"
#include "server/raw_peer.h"
#include "server/started_broker.h"

#include <sched.h>
#include <sys/mount.h>

using namespace millrace;
using namespace millrace::server_tests;
using namespace std::chrono_literals;
namespace amqp = millrace::wire::amqp;

namespace {

constexpr int kLongest = 30'000; // ms

support::BrokerSettings withFreeLimit(const std::string& limit) {
    return {{"--set", "disk_free_limit.absolute=" + limit}, {}, 0};
}

// A disk of the test's own, in memory; nobody else sees it.
class SmallDisk {
  public:
    explicit SmallDisk(const std::string& size) {
        mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
                   ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   ::mount("small", path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
    }
    ~SmallDisk() {
        if (mounted_) {
            ::umount2(path().c_str(), MNT_DETACH);
        }
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    bool isThere() const { return mounted_; }
    std::string path() const { return folder_.path().toStdString(); }

  private:
    QTemporaryDir folder_;
    bool mounted_ = false;
};

bool publish(Session& session, const std::string& queue, int count, const std::string& body) {
    amqp::PropertyValues values;
    values.deliveryMode = 2;
    const std::string properties = values.encode();
    if (!session->selectConfirms()) {
        return false;
    }
    for (int i = 0; i < count; ++i) {
        if (!session->publish({.routingKey = queue,
                               .properties = base::bytesOf(properties),
                               .body = base::bytesOf(body)})) {
            return false;
        }
    }
    return session->awaitConfirms().ok() && session->confirms().refused() == 0;
}

// Takes and acks so many; false if they do not come.
bool consume(Session& session, const std::string& queue, std::uint64_t count) {
    if (!session->qos(500) || !session->consume(queue)) {
        return false;
    }
    for (std::uint64_t i = 1; i <= count; ++i) {
        auto next = session->next(kPatience);
        const bool isDue = i % 100 == 0 || i == count;
        if (!next || !next->has_value() || (isDue && !session->ack((*next)->deliveryTag, true))) {
            return false;
        }
    }
    return session.client->flush().ok();
}

// A publisher's connection that has been told to wait; empty: it was not.
std::string reasonToldTo(std::uint16_t port, const std::string& queue) {
    RawPeer publisher(port);
    if (!publisher.open() || !publisher.send(publishBytes(1, queue, "one more", true))) {
        return "no connection";
    }
    const auto blocked = publisher.await<amqp::ConnectionBlocked>();
    return blocked ? std::string(blocked->reason.view()) : std::string();
}

} // namespace

class DiskBoundTest : public QObject {
    Q_OBJECT
  private slots:
    void belowTheLimitPublishersWaitAndConsumersGoOn() {
        StartedBroker broker;
        VERIFY_READY(broker);
        {
            Session before = broker.session();
            QVERIFY(before && before->declareQueue("kept", {.durable = true}).ok());
            QVERIFY(before->declareQueue("other", {.durable = true}).ok());
            QVERIFY(publish(before, "kept", 1'000, "m"));
            QVERIFY(publish(before, "other", 10, "m"));
            QVERIFY(before.close());
        }
        QCOMPARE(QString::fromStdString(broker.process.stop()), QString());

        broker.process.set(withFreeLimit("1000TB")); // no disk has so much
        broker.start();
        VERIFY_READY(broker);
        QCOMPARE(reasonToldTo(broker.port(), "kept"), std::string("low on disk"));
        {
            Session consumer = broker.session();
            QVERIFY(consumer && consume(consumer, "kept", 600));
            QVERIFY(consumer->deleteQueue("other").ok());
            QVERIFY(consumer.close());
        }
        QCOMPARE(QString::fromStdString(broker.process.stop()), QString());

        broker.process.set({});
        broker.start();
        VERIFY_READY(broker);
        Session after = broker.session();
        auto kept = after->declareQueue("kept", {.passive = true});
        QVERIFY(kept.ok());
        QCOMPARE(kept->messages, 400U); // what was acked is gone, what was held never came
        QVERIFY(publish(after, "kept", 10, "m"));
        QVERIFY(!after->declareQueue("other", {.passive = true}).ok());
    }

    void aFreshServerStartsBelowTheLimit() {
        StartedBroker broker(withFreeLimit("1000TB"));
        VERIFY_READY(broker);
        Session session = broker.session();
        QVERIFY(session && session->declareQueue("q", {.durable = true}).ok());
        QCOMPARE(reasonToldTo(broker.port(), "q"), std::string("low on disk"));
    }

    void aFullDiskEndsByItselfWhenItsQueueIsDrained() {
        SmallDisk disk("256m");
        if (!disk.isThere()) {
            QSKIP("a small disk needs the right to mount one (root)");
        }
        support::BrokerProcess broker(MILLRACE_PROGRAM, disk.path(), withFreeLimit("20MB"));
        broker.spawn();
        QCOMPARE(QString::fromStdString(broker.awaitReady()), QString());
        Session consumer = sessionWith(broker.port());
        QVERIFY(consumer && consumer->declareQueue("filled", {.durable = true}).ok());
        Flood flood(broker.port(), floodOf({"filled", 10'000, true}));
        QTRY_VERIFY_WITH_TIMEOUT(flood.isBlocked(), kLongest);
        QVERIFY(awaitQuiet(broker.pid(), 10s));
        QVERIFY(flood.isBlocked());
        auto filled = consumer->declareQueue("filled", {.passive = true});
        QVERIFY(filled.ok());
        qInfo("told after %u messages of 10 KB on a disk of 256 MiB", filled->messages);
        QVERIFY(filled->messages > 5'000);

        QVERIFY(consume(consumer, "filled", filled->messages));
        QTRY_VERIFY_WITH_TIMEOUT(!flood.isBlocked(), 5'000); // not the next usual checkpoint
        flood.stop();
        QCOMPARE(QString::fromStdString(flood.fault()), QString());
        QCOMPARE(QString::fromStdString(flood.reason()), QString("low on disk"));
        QVERIFY(consumer.close());
        QCOMPARE(QString::fromStdString(broker.stop()), QString());
        broker.spawn(); // nothing was written in halves
        QCOMPARE(QString::fromStdString(broker.awaitReady()), QString());
    }

    void aDiskThatOthersFillBlocksUntilThereIsRoom() {
        SmallDisk disk("256m");
        if (!disk.isThere()) {
            QSKIP("a small disk needs the right to mount one (root)");
        }
        support::BrokerProcess broker(MILLRACE_PROGRAM, disk.path(), withFreeLimit("20MB"));
        broker.spawn();
        QCOMPARE(QString::fromStdString(broker.awaitReady()), QString());
        Session session = sessionWith(broker.port());
        QVERIFY(session && session->declareQueue("q", {.durable = true}).ok());
        QVERIFY(publish(session, "q", 100, "m"));

        QFile ballast(QString::fromStdString(disk.path() + "/ballast"));
        QVERIFY(ballast.open(QIODevice::WriteOnly));
        const QByteArray piece(1 << 20, 'b');
        while (ballast.write(piece) == piece.size() && ballast.flush()) {
        }
        RawPeer publisher(broker.port());
        QVERIFY(publisher.open());
        const auto isTold = [&] {
            return publisher.send(publishBytes(1, "q", "m", true)) && publisher.readFrame(50ms);
        };
        QVERIFY(QTest::qWaitFor(isTold, kLongest));
        QVERIFY(publisher.as<amqp::ConnectionBlocked>().has_value());
        QVERIFY(consume(session, "q", 100)); // on a disk without a free byte

        QVERIFY(ballast.remove());
        QVERIFY(publisher.await<amqp::ConnectionUnblocked>().has_value());
        QVERIFY(publisher.closeInOrder());
    }
};

QTEST_GUILESS_MAIN(DiskBoundTest)
#include "tst_disk_bound.moc"
