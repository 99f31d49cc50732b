// SPDX-License-Identifier: Apache-2.0
// What is wrong with frames, and what RabbitMQ 4.0.5 answers. The test is the table.
#include "fault_case.h"

using namespace millrace;
using namespace millrace::test;

namespace {

void publishPart(ScriptedPeer& peer, std::uint16_t classId, std::uint64_t size) {
    peer.send(1, amqp::BasicPublish{kTicket, "", "q", false, false});
    std::string header;
    base::ByteWriter out(header);
    out.big(classId);
    out.big(std::uint16_t{0});
    out.big(size);
    out.big(std::uint16_t{0});
    peer.frame(amqp::frame_type::kHeader, 1, header);
}

void rawFrame(ScriptedPeer& peer, std::string_view bytes) {
    peer.raw(base::bytesOf(bytes));
}

const std::vector<FaultCase> kFrameFaults = {
    {"bad frame end",
     [](ScriptedPeer& p) {
         rawFrame(p, {"\x01\x00\x01\x00\x00\x00\x05\x00\x14\x00\x14\x01\x00", 13});
     },
     onConnection("501 'FRAME_ERROR - type 1, all octets = <<0,20,0,20,1>>: "
                  "{invalid_frame_end_marker,0}' 0 0")},
    {"unknown frame type", [](ScriptedPeer& p) { p.frame(7, 1, "x"); },
     onConnection("501 'FRAME_ERROR - type 7, all octets = <<\"x\">>: unknown_frame' 0 0")},
    {"heartbeat on a channel", [](ScriptedPeer& p) { p.frame(8, 1, ""); },
     onConnection("505 'UNEXPECTED_FRAME - type 8, all octets = <<>>' 0 0")},
    {"content on channel 0", [](ScriptedPeer& p) { p.frame(3, 0, "x"); },
     onConnection("505 'UNEXPECTED_FRAME - type 3, all octets = <<\"x\">>' 0 0")},
    {"unknown class",
     [](ScriptedPeer& p) {
         p.frame(1, 1, {"\0\x63\0\x0A", 4});
     },
     onConnection("503 'COMMAND_INVALID - unknown method 99.10' 99 10")},
    {"unknown method",
     [](ScriptedPeer& p) {
         p.frame(1, 1, {"\0\x3C\0\x63", 4});
     },
     onConnection("503 'COMMAND_INVALID - unknown method 60.99' 60 99")},
    {"arguments cut off",
     [](ScriptedPeer& p) {
         p.frame(1, 1, {"\0\x32\0\x0A\0", 5});
     },
     onConnection("501 'FRAME_ERROR - cannot decode <<0>>' 50 10")},
    {"a channel that is not open", [](ScriptedPeer& p) { p.send(5, queueDeclare("q")); },
     onConnection("504 'CHANNEL_ERROR - expected 'channel.open'' 50 10")},
    {"content on a channel that is not open", [](ScriptedPeer& p) { p.frame(3, 5, "x"); },
     onConnection(
         "505 'UNEXPECTED_FRAME - expected method frame, got non method frame instead' 0 0")},
    {"channel opened twice", [](ScriptedPeer& p) { p.send(1, amqp::ChannelOpen{}); },
     onConnection("504 'CHANNEL_ERROR - second 'channel.open' seen' 20 10")},
    {"header without publish",
     [](ScriptedPeer& p) {
         p.frame(2, 1, {"\0\x3C\0\0\0\0\0\0\0\0\0\1\0\0", 14});
     },
     onConnection(
         "505 'UNEXPECTED_FRAME - expected method frame, got non method frame instead' 0 0")},
    {"body without publish", [](ScriptedPeer& p) { p.frame(3, 1, "x"); },
     onConnection(
         "505 'UNEXPECTED_FRAME - expected method frame, got non method frame instead' 0 0")},
    {"method instead of header",
     [](ScriptedPeer& p) {
         p.send(1, amqp::BasicPublish{kTicket, "", "q", false, false});
         p.send(1, amqp::ChannelFlow{true});
     },
     onConnection("505 'UNEXPECTED_FRAME - expected content header for class 60, got non content "
                  "header frame instead' 60 40")},
    {"body instead of header",
     [](ScriptedPeer& p) {
         p.send(1, amqp::BasicPublish{kTicket, "", "q", false, false});
         p.frame(3, 1, "x");
     },
     onConnection("505 'UNEXPECTED_FRAME - expected content header for class 60, got non content "
                  "header frame instead' 60 40")},
    {"header of another class", [](ScriptedPeer& p) { publishPart(p, 50, 1); },
     onConnection("505 'UNEXPECTED_FRAME - expected content header for class 60, got one for class "
                  "50 instead' 60 40")},
    {"method instead of body",
     [](ScriptedPeer& p) {
         publishPart(p, 60, 5);
         p.send(1, amqp::ChannelFlow{true});
     },
     onConnection("505 'UNEXPECTED_FRAME - expected content body, got non content body frame "
                  "instead' 60 40")},
    {"body after the body",
     [](ScriptedPeer& p) {
         publishPart(p, 60, 0);
         p.frame(3, 1, "xx");
     },
     onConnection(
         "505 'UNEXPECTED_FRAME - expected method frame, got non method frame instead' 0 0")},
    {"a body larger than any", [](ScriptedPeer& p) { publishPart(p, 60, 536870913); },
     onConnection("501 'FRAME_ERROR - content body size 536870913 exceeds maximum allowed size "
                  "536870912' 60 40")},
    {"a connection method on a channel",
     [](ScriptedPeer& p) { p.send(1, amqp::ConnectionCloseOk{}); },
     onConnection("503 'COMMAND_INVALID - unimplemented method' 10 51")},
    {"a channel method on channel 0", [](ScriptedPeer& p) { p.send(0, queueDeclare("q")); },
     onConnection("504 'CHANNEL_ERROR - unexpected method in connection state running' 50 10")},
};

} // namespace

class TestFrameFaults : public QObject {
    Q_OBJECT
  private slots:
    void aFaultInFramesIsAnsweredAsRabbitDoes_data() { addRows(kFrameFaults); }
    void aFaultInFramesIsAnsweredAsRabbitDoes() {
        QFETCH(int, index);
        checkFault(kFrameFaults[static_cast<std::size_t>(index)], 0);
    }
    void aByteAtATimeFaultsLookTheSame_data() { addRows(kFrameFaults); }
    void aByteAtATimeFaultsLookTheSame() {
        QFETCH(int, index);
        checkFault(kFrameFaults[static_cast<std::size_t>(index)], 1);
    }

    void aFrameAboveTheAgreedSizeEndsTheConnection() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.frameMax = 4096;
        peer.open();
        peer.openChannel(1);
        peer.frame(3, 1, std::string(5000, 'x'));
        QCOMPARE(
            peer.received(),
            QStringList{onConnection(
                "501 'FRAME_ERROR - type 3, all octets = <<>>: {frame_too_large,5000,4088}' 0 0")});
    }

    void moreChannelsThanAgreedEndTheConnection() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.raw(base::bytesOf(amqp::kProtocolHeader));
        peer.send(0, peer.startOk());
        peer.send(0, amqp::ConnectionTuneOk{std::uint16_t{2}, limits::kFrameMax, std::uint16_t{0}});
        peer.send(0, amqp::ConnectionOpen{"/", "", false});
        peer.received();
        peer.openChannel(40); // the count is agreed, not the number
        peer.openChannel(7);
        peer.send(9, amqp::ChannelOpen{});
        QCOMPARE(peer.received(),
                 QStringList{onConnection("530 'NOT_ALLOWED - number of channels opened (2) has "
                                          "reached the negotiated channel_max (2)' 0 0")});
    }
};

QTEST_APPLESS_MAIN(TestFrameFaults)
#include "tst_frame_faults.moc"
