// SPDX-License-Identifier: Apache-2.0
// Frames over a socket: in pieces, at the end, broken; heartbeats; and no wait longer than told.
#include "client/link.h"

#include <QtTest>

#include <sys/socket.h>
#include <unistd.h>

using namespace millrace;
using namespace millrace::client;
using namespace std::chrono_literals;

namespace {

const std::string kBody("\x03\x00\x01\x00\x00\x00\x02hi\xCE", 10);
const std::string kHeartbeat("\x08\x00\x00\x00\x00\x00\x00\xCE", 8);

struct Pair {
    int peer = -1;
    std::unique_ptr<Link> link;

    explicit Pair(std::uint32_t frameMax = 4096) {
        int ends[2] = {-1, -1};
        MILLRACE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        peer = ends[1];
        link = std::make_unique<Link>(Socket(ends[0]), frameMax);
    }
    ~Pair() { close(); }
    void write(const std::string& bytes) const {
        MILLRACE_CHECK(::write(peer, bytes.data(), bytes.size()) ==
                       static_cast<ssize_t>(bytes.size()));
    }
    std::string read(std::size_t count) const {
        std::string out(count, '\0');
        const ssize_t got = ::recv(peer, out.data(), count, MSG_WAITALL);
        out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return out;
    }
    void close() {
        if (peer >= 0) {
            ::close(std::exchange(peer, -1));
        }
    }
    base::Result<bool> exchange(std::chrono::milliseconds longest = 10s) const {
        return link->exchange(Clock::now() + longest);
    }
};

} // namespace

class LinkTest : public QObject {
    Q_OBJECT

  private slots:
    void framesInPiecesAreGivenWhole() {
        const Pair pair;
        wire::amqp::Frame frame;
        for (const char byte : kBody) {
            QVERIFY(!pair.link->next(frame).value());
            pair.write(std::string(1, byte));
            QVERIFY(pair.exchange().value());
        }
        QVERIFY(pair.link->next(frame).value());
        QVERIFY(base::textOf(frame.payload) == "hi");
        QVERIFY(!pair.link->next(frame).value());
    }

    void manyFramesInOnePieceAreGivenOneByOne() {
        const Pair pair;
        pair.write(kBody + kBody + kHeartbeat + kBody.substr(0, 4));
        QVERIFY(pair.exchange().value());
        wire::amqp::Frame frame;
        QVERIFY(pair.link->next(frame).value());
        QVERIFY(pair.link->next(frame).value());
        QVERIFY(pair.link->next(frame).value());
        QCOMPARE(frame.type, wire::amqp::frame_type::kHeartbeat);
        QVERIFY(!pair.link->next(frame).value());
    }

    void whatArrivedBeforeTheEndIsGivenOutBeforeTheEndIsAnError() {
        Pair pair;
        pair.write(kBody);
        pair.close();
        wire::amqp::Frame frame;
        QVERIFY(pair.exchange().ok());
        QVERIFY(pair.link->next(frame).value());
        base::Result<bool> moved = pair.exchange();
        while (moved) {
            moved = pair.exchange();
        }
        QVERIFY(moved.error().code == base::ErrorCode::stopped);
    }

    void sendingToAPeerThatIsGoneIsAnErrorAndNoSignal() {
        Pair pair;
        pair.close();
        base::Result<bool> moved(true);
        while (moved) {
            pair.link->output().append(1000, 'x');
            moved = pair.exchange();
        }
        QVERIFY(moved.error().code == base::ErrorCode::io ||
                moved.error().code == base::ErrorCode::stopped);
    }

    void outputThatDoesNotFitGoesOutInOrderLater() {
        const Pair pair;
        std::string expected;
        for (int i = 0; expected.size() < 3'000'000; ++i) {
            expected += std::to_string(i) + ' ';
        }
        pair.link->output() = expected;
        std::string arrived;
        while (arrived.size() < expected.size()) {
            QVERIFY(pair.exchange(0ms).ok());
            arrived += pair.read(std::min<std::size_t>(
                expected.size() - pair.link->unsent() - arrived.size(), 50'000));
        }
        QVERIFY(arrived == expected);
        QCOMPARE(pair.link->unsent(), std::size_t{0});
    }

    void theDeadlineEndsAnExchangeInWhichNothingMoves() {
        const Pair pair;
        QElapsedTimer timer;
        timer.start();
        QCOMPARE(pair.exchange(20ms).value(), false);
        QVERIFY(timer.elapsed() >= 19);
    }

    void brokenFramesAreToldByWhatIsWrong_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("word");
        QTest::newRow("no end") << QByteArray("\x03\x00\x01\x00\x00\x00\x00\x00", 8)
                                << QByteArray("end marker");
        QTest::newRow("too large")
            << QByteArray("\x03\x00\x01\x00\x01\x00\x00\x00", 8) << QByteArray("65536 bytes");
        QTest::newRow("unknown type")
            << QByteArray("\x05\x00\x01\x00\x00\x00\x00\xCE", 8) << QByteArray("type 5");
        QTest::newRow("another protocol")
            << QByteArray("AMQP\x03\x01\x00\x00", 8) << QByteArray("another protocol");
    }
    void brokenFramesAreToldByWhatIsWrong() {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, word);
        const Pair pair;
        pair.write(bytes.toStdString());
        QVERIFY(pair.exchange().value());
        wire::amqp::Frame frame;
        const auto next = pair.link->next(frame);
        QVERIFY(!next.ok());
        QVERIFY2(next.error().text.find(word.toStdString()) != std::string::npos,
                 next.error().text.c_str());
    }

    void aHeartbeatGoesOutWhenNothingElseDoes() {
        const Pair pair;
        pair.link->setHeartbeat(1s);
        const auto until = Clock::now() + 900ms;
        while (Clock::now() < until) {
            QVERIFY(pair.link->exchange(until).ok());
        }
        QVERIFY(pair.read(kHeartbeat.size()) == kHeartbeat);
    }

    void aPeerSilentForTwoIntervalsIsLost() {
        const Pair pair;
        pair.link->setHeartbeat(1s);
        QElapsedTimer timer;
        timer.start();
        base::Result<bool> moved(true);
        while (moved && timer.elapsed() < 10'000) {
            moved = pair.exchange();
        }
        QVERIFY(!moved.ok());
        QVERIFY(moved.error().code == base::ErrorCode::timeout);
        QVERIFY(timer.elapsed() >= 1999);
    }
};

QTEST_APPLESS_MAIN(LinkTest)
#include "tst_link.moc"
