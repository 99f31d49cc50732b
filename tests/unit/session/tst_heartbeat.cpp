// SPDX-License-Identifier: Apache-2.0
// Heartbeat: RabbitMQ's rhythm, by a clock that the test moves.
#include "session/heartbeat.h"

#include <QTest>

#include <vector>

using namespace std::chrono_literals;
using millrace::session::Heartbeat;
using Due = Heartbeat::Due;

class TestHeartbeat : public QObject {
    Q_OBJECT
  private slots:
    // With the granularity of the server's ticks at its worst.
    void betweenTwoWritesIsLessThanAnInterval() {
        Heartbeat heartbeat;
        heartbeat.start(1s, 0s);
        std::uint64_t written = 0;
        std::chrono::nanoseconds last{0};
        int sent = 0;
        for (auto now = 0ms; now <= 10s; now += 200ms) {
            if (now == 3s) { // something else, just after a tick
                written += 100;
                last = now - 199ms;
            }
            if (heartbeat.tick(now, written, now.count(), true) == Due::send) {
                written += 8;
                QVERIFY(now - last < 900ms);
                last = now;
                ++sent;
            }
        }
        QVERIFY(sent >= 12);
    }

    // Nothing is written for half an interval less a server's tick: 0.8 s of 2 s.
    void aSilentPeerGetsHeartbeatsAndIsDroppedAfterThreeIntervals() {
        Heartbeat heartbeat;
        heartbeat.start(2s, 0s);
        std::uint64_t written = 500; // tune and open-ok
        std::vector<std::chrono::milliseconds> sentAt;
        std::chrono::nanoseconds droppedAt{0};
        for (auto now = 0ms; now <= 10s && droppedAt.count() == 0; now += 100ms) {
            const Due due = heartbeat.tick(now, written, 300, true);
            if (due == Due::send) {
                sentAt.push_back(now);
                written += 8;
            } else if (due == Due::drop) {
                droppedAt = now;
            }
        }
        QCOMPARE(sentAt, (std::vector<std::chrono::milliseconds>{800ms, 1600ms, 2400ms, 3200ms,
                                                                 4000ms, 4800ms, 5600ms}));
        QVERIFY(droppedAt >= 6s && droppedAt <= 6100ms);
    }

    void whoWritesNeedsNoHeartbeat() {
        Heartbeat heartbeat;
        heartbeat.start(2s, 0s);
        std::uint64_t written = 0;
        for (auto now = 0ms; now < 20s; now += 100ms) {
            written += 10;
            QCOMPARE(heartbeat.tick(now, written, written, true), Due::nothing);
        }
    }

    void anyByteKeepsThePeer() {
        Heartbeat heartbeat;
        heartbeat.start(1s, 0s);
        std::uint64_t read = 0;
        for (auto now = 0ms; now < 20s; now += 100ms) {
            read += now.count() % 1900 == 0 ? 1 : 0;
            QVERIFY(heartbeat.tick(now, 0, read, true) != Due::drop);
        }
    }

    void aPeerThatWeDoNotReadIsNotBlamed() {
        Heartbeat heartbeat;
        heartbeat.start(1s, 0s);
        for (auto now = 0ms; now < 20s; now += 100ms) {
            QVERIFY(heartbeat.tick(now, 0, 0, false) != Due::drop);
        }
    }

    void zeroIsOff() {
        Heartbeat heartbeat;
        heartbeat.start(0s, 0s);
        QCOMPARE(heartbeat.tick(1000s, 0, 0, true), Due::nothing);
    }
};

QTEST_APPLESS_MAIN(TestHeartbeat)
#include "tst_heartbeat.moc"
