// SPDX-License-Identifier: Apache-2.0
// Which frames of a blocked connection are parked, which are taken, which wait.
#include "session/amqp/parked_input.h"

#include "base/limits.h"
#include "wire/amqp/writer.h"

#include <QTest>

using namespace millrace;
namespace amqp = wire::amqp;
using session::amqp::ParkedInput;
using Fate = ParkedInput::Fate;

namespace {

template <typename Method> std::string methodFrame(std::uint16_t channel, const Method& method) {
    std::string bytes;
    amqp::StringSink sink(bytes);
    amqp::writeMethod(sink, channel, method);
    return bytes;
}
std::string publish(std::uint16_t channel) {
    return methodFrame(channel, amqp::BasicPublish{std::uint16_t{0}, "", "q", false, false});
}
std::string body(std::uint16_t channel, std::size_t size) {
    std::string bytes;
    amqp::StringSink sink(bytes);
    amqp::writeBody(sink, channel, base::bytesOf(std::string(size, 'x')), 0);
    return bytes;
}

Fate judge(ParkedInput& parked, const std::string& bytes, bool hasUnacked = true) {
    amqp::Frame frame;
    amqp::FrameReader(0).next(base::bytesOf(bytes), frame);
    return parked.judge(frame, base::bytesOf(bytes), hasUnacked);
}

} // namespace

class TestParkedInput : public QObject {
    Q_OBJECT
  private slots:
    void aPublishWaitsWhereNoAcksAreOwed() {
        ParkedInput parked;
        QCOMPARE(judge(parked, publish(1), false), Fate::wait);
        QVERIFY(parked.empty());
    }

    void acksPassParkedPublishes() {
        ParkedInput parked;
        QCOMPARE(judge(parked, publish(1)), Fate::parked);
        QCOMPARE(judge(parked, body(1, 10)), Fate::parked);
        QCOMPARE(judge(parked, methodFrame(1, amqp::BasicAck{std::uint64_t{1}, false})),
                 Fate::takeNow);
        QCOMPARE(judge(parked, methodFrame(1, amqp::BasicNack{std::uint64_t{1}, false, true})),
                 Fate::takeNow);
        QCOMPARE(judge(parked, methodFrame(1, amqp::BasicReject{std::uint64_t{1}, true})),
                 Fate::takeNow);
    }

    void nothingElsePassesOnTheSameChannel() {
        ParkedInput parked;
        judge(parked, publish(1));
        QCOMPARE(judge(parked, methodFrame(1, amqp::TxCommit{})), Fate::wait);
        QCOMPARE(judge(parked, methodFrame(2, amqp::TxCommit{})), Fate::takeNow);
        QCOMPARE(judge(parked, methodFrame(0, amqp::ConnectionClose{})), Fate::wait);
    }

    void contentThatWasBegunBeforeGoesOn() {
        ParkedInput parked;
        judge(parked, publish(1));
        QCOMPARE(judge(parked, body(2, 10)), Fate::takeNow);
    }

    void parkedBytesHaveABound() {
        ParkedInput parked;
        judge(parked, publish(1));
        std::size_t bytes = publish(1).size();
        const std::string frame = body(1, 100'000);
        while (judge(parked, frame) == Fate::parked) {
            bytes += frame.size();
        }
        QVERIFY(bytes <= limits::kParkedPublishBytes);
        QVERIFY(bytes + frame.size() > limits::kParkedPublishBytes);
        QCOMPARE(parked.takeOut().size(), bytes);
    }

    void whatComesBackStaysInFront() {
        ParkedInput parked;
        const std::string first = publish(1);
        judge(parked, first);
        const std::string out = parked.takeOut();
        judge(parked, publish(2));
        parked.putBack(base::bytesOf(out));
        QCOMPARE(parked.takeOut(), first + publish(2));
        parked.putBack({});
        QVERIFY(parked.empty());
        QCOMPARE(judge(parked, methodFrame(1, amqp::TxCommit{})), Fate::takeNow);
    }
};

QTEST_APPLESS_MAIN(TestParkedInput)
#include "tst_parked_input.moc"
