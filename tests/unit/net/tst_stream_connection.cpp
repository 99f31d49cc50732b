// SPDX-License-Identifier: Apache-2.0
// The read and flush policy, for each back end, over a socket pair and a conversation that writes
// down what it hears.
#include "backends.h"
#include "base/limits.h"
#include "net/stream_connection.h"

#include <cerrno>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

using namespace millrace;
using namespace millrace::test;
using namespace std::chrono_literals;

namespace {

// Takes whole units of `unit` bytes.
class Notebook final : public net::Conversation {
  public:
    std::size_t received(base::Bytes bytes) override {
        ++calls;
        longest = std::max(longest, bytes.size());
        const std::size_t taken = bytes.size() / unit * unit;
        input.append(base::textOf(bytes.first(taken)));
        if (onInput) {
            onInput();
        }
        return taking ? taken : 0;
    }
    std::size_t queuedBytes() const override { return output.size() - outputSent; }
    std::size_t gather(std::span<base::Bytes> parts) override {
        parts[0] = base::bytesOf(output).subspan(outputSent);
        return 1;
    }
    void sent(std::size_t bytes) override { outputSent += bytes; }
    void ended(std::string_view why) override {
        hasEnded = true;
        reason = why;
    }

    std::size_t unit = 1;
    bool taking = true;
    int calls = 0;
    std::size_t longest = 0;
    std::string input;
    std::string output;
    std::size_t outputSent = 0;
    bool hasEnded = false;
    std::string reason;
    std::function<void()> onInput;
};

struct Fixture {
    std::unique_ptr<net::EventLoop> loop = makeLoop();
    net::ReadBuffer buffer{1000};
    Notebook notebook;
    net::Socket peer;
    std::unique_ptr<net::StreamConnection> connection;

    Fixture() {
        auto [ours, theirs] = socketPair();
        peer = std::move(theirs);
        connection =
            std::make_unique<net::StreamConnection>(*loop, buffer, std::move(ours), notebook);
        if (!connection->start()) {
            qFatal("cannot watch");
        }
    }
    void put(std::string_view text) const {
        QCOMPARE(::write(peer.descriptor(), text.data(), text.size()), ssize_t(text.size()));
    }
    std::string take() const {
        std::string all;
        char part[65536];
        for (ssize_t n = 0; (n = ::read(peer.descriptor(), part, sizeof part)) > 0;) {
            all.append(part, static_cast<std::size_t>(n));
        }
        return all;
    }
};

} // namespace

class TestStreamConnection : public QObject {
    Q_OBJECT
  private slots:
    void inputArrivesInWholeUnitsHoweverItIsCut_data() { addBackends(); }
    void inputArrivesInWholeUnitsHoweverItIsCut() {
        Fixture f;
        f.notebook.unit = 7;
        std::string sent;
        for (int i = 0; i < 100; ++i) {
            const std::string part(static_cast<std::size_t>(i % 5 + 1), char('a' + i % 26));
            f.put(part);
            sent += part;
            f.loop->turn(1000ms);
        }
        QCOMPARE(f.notebook.input, sent.substr(0, sent.size() / 7 * 7));
        QCOMPARE(f.buffer.keptBytes(), sent.size() % 7);
        QCOMPARE(f.connection->receivedBytes(), sent.size());
    }

    void aFullBufferIsReadAgainInTheSameTurn_data() { addBackends(); }
    void aFullBufferIsReadAgainInTheSameTurn() {
        Fixture f;
        const std::string much(limits::kReadBuffer + 100, 'm');
        int size = 1 << 20;
        ::setsockopt(f.peer.descriptor(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        f.put(much);
        f.loop->turn(1000ms);
        QCOMPARE(f.notebook.input.size(), much.size());
        QCOMPARE(f.notebook.calls, 2);
    }

    void whoStopsReadingIsNotReadAndGetsTheRestLater_data() { addBackends(); }
    void whoStopsReadingIsNotReadAndGetsTheRestLater() {
        Fixture f;
        f.notebook.taking = false;
        f.notebook.onInput = [&] { f.connection->setReading(false); };
        const std::string more(3000, 'q'); // above what a rest may be while reading
        f.put(more);
        f.loop->turn(1000ms);
        QCOMPARE(f.notebook.calls, 1);
        f.put("tail");
        f.loop->turn(0ms);
        QCOMPARE(f.notebook.calls, 1);
        f.notebook.input.clear();
        f.notebook.onInput = nullptr;
        f.notebook.taking = true;
        f.connection->setReading(true);
        f.connection->offerRest();
        QCOMPARE(f.notebook.input, more);
        QCOMPARE(f.buffer.keptBytes(), std::size_t{0});
        f.loop->turn(1000ms);
        QCOMPARE(f.notebook.input, more + "tail");
    }

    void aRestBeyondTheAgreedFrameEndsTheConnection_data() { addBackends(); }
    void aRestBeyondTheAgreedFrameEndsTheConnection() {
        Fixture f;
        f.notebook.unit = 5000;
        f.put(std::string(1001, 'r'));
        f.loop->turn(1000ms);
        QVERIFY(f.notebook.hasEnded);
        QVERIFY(!f.notebook.reason.empty());
    }

    void outputWaitsForFlushUntilMuchIsQueued_data() { addBackends(); }
    void outputWaitsForFlushUntilMuchIsQueued() {
        Fixture f;
        f.notebook.onInput = [&] { f.notebook.output += "reply"; };
        f.put("x");
        f.loop->turn(1000ms);
        QCOMPARE(f.take(), std::string());
        f.connection->flush();
        QCOMPARE(f.take(), std::string("reply"));
        f.notebook.onInput = [&] { f.notebook.output += std::string(limits::kFlushBytes, 'o'); };
        f.put("x");
        f.loop->turn(1000ms);
        QCOMPARE(f.take(), std::string(limits::kFlushBytes, 'o'));
    }

    void whatTheSocketDoesNotTakeFollowsWhenItIsWritable_data() { addBackends(); }
    void whatTheSocketDoesNotTakeFollowsWhenItIsWritable() {
        Fixture f;
        f.notebook.output = std::string(4 << 20, 'z');
        f.connection->flush();
        QVERIFY(f.notebook.queuedBytes() > 0);
        std::size_t taken = 0;
        QVERIFY(turnUntil(*f.loop, [&] {
            taken += f.take().size();
            return f.notebook.queuedBytes() == 0;
        }));
        taken += f.take().size();
        QCOMPARE(taken, std::size_t{4 << 20});
        QCOMPARE(f.connection->sentBytes(), std::uint64_t{4 << 20});
    }

    void theEndOfThePeerIsTold_data() { addBackends(); }
    void theEndOfThePeerIsTold() {
        Fixture f;
        f.put("last");
        f.peer.close();
        QVERIFY(turnUntil(*f.loop, [&] { return f.notebook.hasEnded; }));
        QCOMPARE(f.notebook.input, std::string("last"));
        QVERIFY(f.notebook.reason.empty());
        QVERIFY(!f.connection->isOpen());
    }

    void theEndOfAPeerThatIsNotReadIsToldToo_data() { addBackends(); }
    void theEndOfAPeerThatIsNotReadIsToldToo() {
        Fixture f;
        f.connection->setReading(false);
        f.put("unread");
        f.peer.close();
        QVERIFY(turnUntil(*f.loop, [&] { return f.notebook.hasEnded; }));
    }

    void finishSendsTheLastReplyAlthoughInputIsUnread_data() { addBackends(); }
    void finishSendsTheLastReplyAlthoughInputIsUnread() {
        Fixture f;
        f.put("unread input");
        f.notebook.output = "goodbye";
        f.connection->finish(net::LastWord::ours);
        QCOMPARE(f.take(), std::string("goodbye"));
        char byte = 0;
        QCOMPARE(::read(f.peer.descriptor(), &byte, 1), ssize_t{0}); // the end, not a reset
        QVERIFY(!f.notebook.hasEnded);
        f.peer.close();
        QVERIFY(turnUntil(*f.loop, [&] { return f.notebook.hasEnded; }));
        QVERIFY(f.notebook.input.empty());
    }

    void thePeersLastWordIsWaitedFor_data() { addBackends(); }
    void thePeersLastWordIsWaitedFor() {
        Fixture f;
        f.notebook.output = "close-ok";
        f.connection->finish(net::LastWord::peers);
        QCOMPARE(f.take(), std::string("close-ok"));
        char byte = 0;
        QCOMPARE(::recv(f.peer.descriptor(), &byte, 1, MSG_DONTWAIT), ssize_t{-1}); // no end
        QCOMPARE(errno, EAGAIN);
        f.peer.close();
        QVERIFY(turnUntil(*f.loop, [&] { return f.notebook.hasEnded; }));
    }

    void aPeerThatNeverClosesIsLeftAfterTheLinger_data() { addBackends(); }
    void aPeerThatNeverClosesIsLeftAfterTheLinger() {
        Fixture f;
        f.connection->finish(net::LastWord::ours);
        QVERIFY(turnUntil(*f.loop, [&] { return f.notebook.hasEnded; }));
        QVERIFY(!f.connection->isOpen());
    }
};

QTEST_GUILESS_MAIN(TestStreamConnection)
#include "tst_stream_connection.moc"
