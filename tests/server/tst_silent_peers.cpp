// SPDX-License-Identifier: Apache-2.0
// Peers that say nothing: a handshake has its time, a heartbeat its intervals, and who is heard in
// time stays.
#include "base/limits.h"
#include "server/raw_peer.h"
#include "server/started_broker.h"

#include <deque>

using namespace millrace;
using namespace millrace::server_tests;
using namespace std::chrono_literals;
namespace amqp = millrace::wire::amqp;
using Clock = RawPeer::Clock;

class SilentPeersTest : public QObject {
    Q_OBJECT
  private slots:
    void aHandshakeThatStallsEndsAfterItsTimeout() {
        StartedBroker broker({{"--set", "handshake_timeout=1000"}, {}, 0});
        VERIFY_READY(broker);
        QVERIFY(awaitQuiet(broker.pid(), 10s));
        const std::uint64_t files = openDescriptors(broker.pid());
        const auto begin = Clock::now();
        const std::string whole = openingBytes();
        const std::string open = RawPeer::bytesOf(0, amqp::ConnectionOpen{"/", "", false}) +
                                 RawPeer::bytesOf(1, amqp::ChannelOpen{});
        std::deque<RawPeer> stalled; // with nothing, half a header, a header, a login, a tune-ok
        for (const std::size_t said : {std::size_t{0}, std::size_t{4}, std::size_t{8},
                                       std::size_t{60}, whole.size() - open.size()}) {
            stalled.emplace_back(broker.port());
            QVERIFY(stalled.back().isConnected());
            QVERIFY(stalled.back().send(std::string_view(whole).substr(0, said)));
        }
        RawPeer done(broker.port());
        QVERIFY(done.open());
        for (RawPeer& peer : stalled) {
            QVERIFY(peer.awaitEnd(5s));
            QVERIFY(Clock::now() - begin >= 900ms);
        }
        QVERIFY(Clock::now() - begin < 4s);
        QVERIFY(!done.hasEnded());
        QVERIFY(done.closeInOrder());
        done.close();
        QTRY_COMPARE(openDescriptors(broker.pid()), files);
    }

    void aPeerThatIsNotHeardForTwoIntervalsIsDropped() {
        StartedBroker broker;
        VERIFY_READY(broker);
        RawPeer silent(broker.port());
        RawPeer heard(broker.port());
        RawPeer without(broker.port());
        QVERIFY(silent.open(1) && heard.open(1) && without.open(0));
        amqp::QueueDeclare declare;
        declare.queue = "given back";
        QVERIFY(silent.say(1, declare) && silent.await<amqp::QueueDeclareOk>());
        QVERIFY(silent.send(publishBytes(1, "given back", "m", true)));
        amqp::BasicGet get;
        get.queue = "given back";
        QVERIFY(silent.say(1, get) && silent.await<amqp::BasicGetOk>());

        const auto begin = Clock::now();
        std::string beat;
        amqp::StringSink sink(beat);
        amqp::writeHeartbeat(sink);
        int beats = 0;
        while (!silent.hasEnded() && Clock::now() - begin < 8s) {
            QVERIFY(heard.send(beat));
            beats += heard.readFrame(300ms) && heard.frame().type == amqp::frame_type::kHeartbeat
                         ? 1
                         : 0;
        }
        const auto lasted = Clock::now() - begin;
        QVERIFY(silent.hasEnded());
        QVERIFY(lasted >= 1900ms && lasted < 5s);
        QVERIFY(beats >= 2); // the server lives, and says so
        QVERIFY(!heard.hasEnded() && !without.hasEnded());
        // What it had unacked is for others.
        QVERIFY(heard.say(1, get));
        const auto again = heard.await<amqp::BasicGetOk>();
        QVERIFY(again.has_value());
        QVERIFY(again->redelivered.value());
    }

    void aGoodbyeIsAnsweredAMomentLaterAndThePeerEndsTheStream() {
        StartedBroker broker;
        VERIFY_READY(broker);
        RawPeer peer(broker.port());
        QVERIFY(peer.open());
        const auto begin = Clock::now();
        QVERIFY(peer.closeInOrder());
        QVERIFY(Clock::now() - begin >= limits::kCloseOkDelay);
        QVERIFY(!peer.hasEnded());
        QVERIFY(peer.awaitEnd(2 * limits::kLinger)); // if it does not, the broker does
        QVERIFY(Clock::now() - begin >= limits::kLinger - 100ms);
    }

    void whoDoesNotSayGoodbyeIsForgotten() {
        StartedBroker broker;
        VERIFY_READY(broker);
        RawPeer peer(broker.port());
        QVERIFY(peer.open());
        amqp::QueueDeclare declare;
        declare.queue = "mine";
        declare.exclusive = true;
        QVERIFY(peer.say(1, declare) && peer.await<amqp::QueueDeclareOk>());
        peer.close();
        Session session = broker.session();
        const auto isGone = [&] {
            auto channel = session.client->openChannel();
            return channel.ok() && !(*channel)->declareQueue("mine", {.passive = true}).ok() &&
                   (*channel)->closedByPeer()->code == base::ReplyCode::notFound;
        };
        QVERIFY(QTest::qWaitFor(isGone));
    }
};

QTEST_GUILESS_MAIN(SilentPeersTest)
#include "tst_silent_peers.moc"
