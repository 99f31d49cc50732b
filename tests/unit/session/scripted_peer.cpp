// SPDX-License-Identifier: Apache-2.0
#include "scripted_peer.h"

#include "catalog/access.h"
#include "catalog/snapshot.h"

#include <QTest>

#include <utility>

namespace millrace::test {

namespace amqp = wire::amqp;

TestNode::TestNode() : broker(durable, scratch, clock, {}) {
    broker.load({});
    const base::Status ready =
        broker.recovered([](const base::MessageId&, std::uint32_t, std::uint32_t) {});
    MILLRACE_CHECK(ready.ok());
    durable.start(broker);
    scratch.start(broker.scratchListener());
    broker.putVhost({"/"});
    broker.putUser({"guest", catalog::hashPassword("guest", "salt"), {"administrator"}});
    sync();
}

void TestNode::turn() {
    do {
        broker.endTurn();
        scratch.harvest();
        durable.harvest();
    } while (broker.hasWork());
}

void TestNode::sync() {
    for (int i = 0; i < 4; ++i) { // a sync can bring new entries: settles, marks
        turn();
        durable.advanceAll();
        durable.harvest();
        turn();
    }
}

ScriptedPeer::ScriptedPeer(TestNode& node, bool loopback) : node_(node) {
    session::PeerInfo peer{loopback ? "127.0.0.1" : "192.0.2.7", 50000, loopback};
    connection_ = std::make_unique<session::amqp::Connection>(node.environment, peer,
                                                              [this] { attention_ = true; });
    base::FieldTableWriter(capabilities)
        .boolean("authentication_failure_close", true)
        .boolean("consumer_cancel_notify", true)
        .boolean("connection.blocked", true);
}

void ScriptedPeer::raw(Bytes bytes) {
    input_.append(base::textOf(bytes));
    pump();
}

void ScriptedPeer::frame(std::uint8_t type, std::uint16_t channel, std::string_view payload) {
    std::string bytes;
    amqp::StringSink sink(bytes);
    amqp::writeFrameHead(sink, type, channel, payload.size());
    bytes += payload;
    amqp::writeFrameEnd(sink);
    raw(base::bytesOf(bytes));
}

void ScriptedPeer::publish(std::uint16_t channel, std::string_view exchange, std::string_view key,
                           std::string_view body, const amqp::PropertyValues& properties,
                           bool mandatory) {
    std::string bytes;
    amqp::StringSink sink(bytes);
    const amqp::BasicPublish method{std::uint16_t{0}, exchange, key, mandatory, false};
    amqp::writeContent(sink, channel, method, base::bytesOf(properties.encode()),
                       base::bytesOf(body), body.size(), frameMax);
    raw(base::bytesOf(bytes));
}

void ScriptedPeer::pump() {
    bool moved = true;
    while (moved && connection_) {
        moved = std::exchange(attention_, false);
        std::size_t offered = step_ == 0 ? input_.size() : std::min(step_, input_.size());
        for (;;) { // a part that is not enough is offered again with more behind it
            const std::size_t taken =
                connection_->feed(base::bytesOf(std::string_view(input_).substr(0, offered)));
            moved = moved || taken > 0;
            input_.erase(0, taken);
            offered -= taken;
            if (step_ == 0 || offered == input_.size() || !connection_->wantsInput()) {
                break;
            }
            offered += std::min(step_, input_.size() - offered);
        }
        session::Outbox& outbox = connection_->outbox();
        std::array<Bytes, 16> parts;
        while (reading_ && !outbox.empty()) {
            const std::size_t count = outbox.gather(parts);
            std::size_t bytes = 0;
            for (std::size_t i = 0; i < count; ++i) {
                output_.append(base::textOf(parts[i]));
                bytes += parts[i].size();
            }
            outbox.consumed(bytes);
            connection_->outboxDrained();
            moved = true;
        }
        if (!reading_) {
            connection_->outboxDrained(); // the socket took nothing
        }
    }
}

QStringList ScriptedPeer::received() {
    pump();
    return describe(base::bytesOf(std::exchange(output_, {})));
}

QStringList ScriptedPeer::settled() {
    // A command behind a durable one waits for its sync, so a chain of them takes as many.
    constexpr int kQuietRounds = 3;
    for (int quiet = 0; quiet < kQuietRounds; ++quiet) {
        const std::size_t before = output_.size() + input_.size();
        node_.sync();
        pump();
        if (output_.size() + input_.size() != before) {
            quiet = 0;
        }
    }
    return received();
}

amqp::ConnectionStartOk ScriptedPeer::startOk(std::string_view response) {
    static std::string properties;
    properties.clear();
    base::FieldTableWriter(properties).table("capabilities", capabilities);
    return {properties, "PLAIN", response, "en_US"};
}

void ScriptedPeer::login() {
    raw(base::bytesOf(amqp::kProtocolHeader));
    send(0, startOk());
    send(0, amqp::ConnectionTuneOk{limits::kChannelMax, frameMax, std::uint16_t{0}});
}

void ScriptedPeer::open() {
    login();
    send(0, amqp::ConnectionOpen{"/", "", false});
    received();
    QVERIFY(connection_->isOpen());
}

void ScriptedPeer::openChannel(std::uint16_t number) {
    send(number, amqp::ChannelOpen{});
    QCOMPARE(received(), QStringList{QString("%1 20.11 ''").arg(number)});
}

std::optional<std::string> ScriptedPeer::declare(std::uint16_t channel, std::string_view queue) {
    send(channel,
         amqp::QueueDeclare{std::uint16_t{0}, queue, false, true, false, false, false, Bytes{}});
    const QStringList frames = settled();
    if (frames.size() != 1) {
        return std::nullopt;
    }
    return frames.front().toStdString();
}

namespace {

QString quoted(std::string_view text) {
    constexpr std::size_t kShown = 300;
    if (text.size() > kShown) {
        return QString("[%1 bytes]").arg(text.size());
    }
    return "'" + QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())) + "'";
}

struct Line {
    QString text;
    template <typename T> void field(const amqp::Number<T>& value) {
        text += ' ' + QString::number(static_cast<quint64>(value.value()));
    }
    template <typename Length> void field(const amqp::Text<Length>& value) {
        text += ' ' + quoted(value);
    }
    void field(const amqp::Table& value) { text += QString(" {%1}").arg(value.raw().size()); }
    template <typename Method> void on(const Method& method) {
        text += QString("%1.%2").arg(Method::id.classId).arg(Method::id.methodId);
        wire::eachField(method, [this](const auto& value) { field(value); });
    }
};

} // namespace

QStringList describe(Bytes bytes) {
    QStringList lines;
    if (bytes.size() == 8 && base::textOf(bytes) == amqp::kProtocolHeader) {
        return {"AMQP 0 0 9 1"};
    }
    const amqp::FrameReader reader(0);
    amqp::Frame frame;
    for (; !bytes.empty(); bytes = bytes.subspan(frame.totalSize)) {
        if (reader.next(bytes, frame) != amqp::FrameStatus::complete) {
            lines.append("broken");
            return lines;
        }
        Line line{QString::number(frame.channel) + ' '};
        if (frame.type == amqp::frame_type::kMethod) {
            if (amqp::ClientMethods::dispatch(frame.payload, line) != wire::Dispatched::handled) {
                line.text += "unknown method";
            }
        } else if (frame.type == amqp::frame_type::kHeader) {
            amqp::ContentHeader header;
            line.text += header.parse(frame.payload) ? QString("header %1").arg(header.bodySize)
                                                     : "bad header";
        } else if (frame.type == amqp::frame_type::kBody) {
            line.text += "body " + quoted(base::textOf(frame.payload));
        } else {
            line.text += "heartbeat";
        }
        lines.append(line.text);
    }
    return lines;
}

} // namespace millrace::test
