// SPDX-License-Identifier: Apache-2.0
// What the event loop promises, for each back end.
#include "backends.h"
#include "base/limits.h"

#include <atomic>
#include <string>
#include <thread>
#include <unistd.h>

using namespace millrace;
using namespace millrace::test;
using namespace std::chrono_literals;

namespace {

class Recorder final : public net::Watcher {
  public:
    void ready(const net::Ready& what) override {
        last = what;
        ++count;
        if (action) {
            action();
        }
    }
    net::Ready last;
    int count = 0;
    std::function<void()> action;
};

void put(const net::Socket& socket, std::string_view text) {
    QCOMPARE(::write(socket.descriptor(), text.data(), text.size()), ssize_t(text.size()));
}

} // namespace

class TestEventLoop : public QObject {
    Q_OBJECT
  private slots:
    void aReadableDescriptorIsReportedUntilItIsRead_data() { addBackends(); }
    void aReadableDescriptorIsReportedUntilItIsRead() {
        auto loop = makeLoop();
        auto [ours, theirs] = socketPair();
        Recorder watcher;
        QVERIFY(loop->watch(ours.descriptor(), net::Interest::read, watcher).ok());
        loop->turn(0ms);
        QCOMPARE(watcher.count, 0);
        put(theirs, "x");
        loop->turn(1000ms);
        loop->turn(1000ms);
        QCOMPARE(watcher.count, 2);
        QVERIFY(watcher.last.readable && !watcher.last.writable && !watcher.last.broken);
        loop->change(ours.descriptor(), net::Interest::none);
        loop->turn(0ms);
        QCOMPARE(watcher.count, 2);
        loop->change(ours.descriptor(), net::Interest::both);
        loop->turn(1000ms);
        QVERIFY(watcher.last.readable && watcher.last.writable);
        loop->forget(ours.descriptor());
        loop->turn(0ms);
        QCOMPARE(watcher.count, 3);
    }

    void aHangUpIsReportedWithoutInterest_data() { addBackends(); }
    void aHangUpIsReportedWithoutInterest() {
        auto loop = makeLoop();
        auto [ours, theirs] = socketPair();
        Recorder watcher;
        QVERIFY(loop->watch(ours.descriptor(), net::Interest::none, watcher).ok());
        theirs.close();
        loop->turn(1000ms);
        QCOMPARE(watcher.count, 1);
        QVERIFY(watcher.last.broken);
        loop->forget(ours.descriptor());
    }

    void whoIsRemovedDuringATurnIsNotServedAnyMore_data() { addBackends(); }
    void whoIsRemovedDuringATurnIsNotServedAnyMore() {
        auto loop = makeLoop();
        auto [first, firstPeer] = socketPair();
        auto [second, secondPeer] = socketPair();
        Recorder one;
        Recorder two;
        QVERIFY(loop->watch(first.descriptor(), net::Interest::read, one).ok());
        QVERIFY(loop->watch(second.descriptor(), net::Interest::read, two).ok());
        net::Socket* const sockets[] = {&first, &second};
        Recorder* const recorders[] = {&one, &two};
        for (int i = 0; i < 2; ++i) {
            recorders[i]->action = [&, i] { loop->forget(sockets[1 - i]->descriptor()); };
        }
        put(firstPeer, "x");
        put(secondPeer, "x");
        loop->turn(1000ms);
        QCOMPARE(one.count + two.count, 1);
        loop->forget(one.count == 1 ? first.descriptor() : second.descriptor());
    }

    void timersFireInOrderAndNotWhenCancelled_data() { addBackends(); }
    void timersFireInOrderAndNotWhenCancelled() {
        auto loop = makeLoop();
        std::string fired;
        loop->after(4ms, [&] { fired += 'c'; });
        loop->after(2ms, [&] {
            fired += 'a';
            loop->after(0ms, [&] { fired += 'b'; });
        });
        auto cancelled = loop->after(1ms, [&] { fired += 'x'; });
        loop->cancel(cancelled);
        QVERIFY(turnUntil(*loop, [&] { return fired.size() == 3; }));
        QCOMPARE(fired, std::string("abc"));
    }

    void aTimerThatSetsATimerOfZeroDoesNotHoldTheTurn_data() { addBackends(); }
    void aTimerThatSetsATimerOfZeroDoesNotHoldTheTurn() {
        auto loop = makeLoop();
        int fired = 0;
        std::function<void()> again = [&] {
            ++fired;
            loop->after(0ms, again);
        };
        loop->after(0ms, again);
        loop->turn(1000ms);
        QCOMPARE(fired, 1);
        loop->turn(1000ms);
        QCOMPARE(fired, 2);
    }

    void aWakeFromAnotherThreadRunsTheHook_data() { addBackends(); }
    void aWakeFromAnotherThreadRunsTheHook() {
        auto loop = makeLoop();
        constexpr int kWakes = 1000;
        std::atomic<int> asked{0};
        int seen = 0;
        loop->onWake([&] { seen = asked.load(); });
        std::thread other([&] {
            for (int i = 0; i < kWakes; ++i) {
                asked.fetch_add(1);
                loop->wake();
            }
        });
        // No wake is lost: the hook after the last one sees all that was asked.
        const bool all = turnUntil(*loop, [&] { return seen == kWakes; });
        other.join();
        QVERIFY(all);
    }

    void stopFromAnotherThreadEndsRun_data() { addBackends(); }
    void stopFromAnotherThreadEndsRun() {
        auto loop = makeLoop();
        std::thread other([&] { loop->stop(); });
        loop->run();
        other.join();
    }

    void theTurnEndsAfterItsBytesAndTheHookRunsEachTime_data() { addBackends(); }
    void theTurnEndsAfterItsBytesAndTheHookRunsEachTime() {
        auto loop = makeLoop();
        std::vector<std::pair<net::Socket, net::Socket>> pairs;
        std::vector<std::unique_ptr<Recorder>> recorders;
        for (int i = 0; i < 3; ++i) {
            pairs.push_back(socketPair());
            recorders.push_back(std::make_unique<Recorder>());
            recorders.back()->action = [&] { loop->spent(limits::kTurnBytes); };
            put(pairs.back().second, "x");
            QVERIFY(
                loop->watch(pairs.back().first.descriptor(), net::Interest::read, *recorders.back())
                    .ok());
        }
        int ends = 0;
        loop->onTurnEnd([&] {
            ++ends;
            return false;
        });
        loop->turn(1000ms);
        QCOMPARE(ends, 3);
        for (auto& pair : pairs) {
            loop->forget(pair.first.descriptor());
        }
    }

    void leftOverWorkKeepsTheLoopFromWaiting_data() { addBackends(); }
    void leftOverWorkKeepsTheLoopFromWaiting() {
        auto loop = makeLoop();
        int left = 5;
        loop->onTurnEnd([&] { return --left > 0; });
        loop->turn(0ms);
        while (left > 0) {
            loop->turn(-1ms); // would wait for ever without the hook's answer
        }
        QCOMPARE(left, 0);
    }
};

QTEST_GUILESS_MAIN(TestEventLoop)
#include "tst_event_loop.moc"
