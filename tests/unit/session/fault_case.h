// SPDX-License-Identifier: Apache-2.0
// A fault of a peer and the answer that RabbitMQ 4.0.5 gives: the rows of the tables in
// tst_frame_faults and tst_method_faults.
#pragma once

#include "methods.h"
#include "scripted_peer.h"

#include <QTest>

#include <functional>
#include <vector>

namespace millrace::test {

struct FaultCase {
    const char* name;
    std::function<void(ScriptedPeer&)> trigger; // on an open connection with channel 1
    QString answer;                             // the last frame received
};

inline QString onChannel(const QString& words) {
    return "1 20.40 " + words;
}
inline QString onConnection(const QString& words) {
    return "0 10.50 " + words;
}

inline void addRows(const std::vector<FaultCase>& faults) {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < faults.size(); ++i) {
        QTest::newRow(faults[i].name) << static_cast<int>(i);
    }
}

// The connection gets `step` bytes at a time (0: all at once). After a fault of a channel the
// connection lives, and the channel's number is free after the handshake; after a fault of the
// connection nothing is heard but the handshake.
inline void checkFault(const FaultCase& fault, std::size_t step) {
    TestNode node;
    ScriptedPeer peer(node);
    peer.open();
    peer.openChannel(1);
    peer.setStep(step);
    fault.trigger(peer);
    const QStringList frames = peer.settled();
    QVERIFY(!frames.isEmpty());
    QCOMPARE(frames.back(), fault.answer);
    if (fault.answer.startsWith("1 ")) {
        QVERIFY(peer.connection().isOpen());
        peer.send(1, amqp::ChannelCloseOk{});
        peer.openChannel(1);
    } else {
        QVERIFY(!peer.connection().isOpen());
        peer.send(1, queueDeclare("ignored"));
        QCOMPARE(peer.settled(), QStringList{});
    }
}

} // namespace millrace::test
