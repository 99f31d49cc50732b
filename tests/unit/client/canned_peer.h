// SPDX-License-Identifier: Apache-2.0
// The broker's end of a socket pair, played by a script in a thread of its own: it reads what the
// client sends and answers what it is told. A script that does not get what it expects stops,
// closes its end and keeps the reason in fault().
#pragma once

#include "client/amqp_channel.h"
#include "client/amqp_client.h"

#include <functional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace millrace::client {

class CannedPeer {
  public:
    using Script = std::function<void(CannedPeer&)>;

    explicit CannedPeer(Script script) {
        int ends[2] = {-1, -1};
        MILLRACE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        clientEnd_ = ends[0];
        end_ = ends[1];
        thread_ = std::thread([this, script = std::move(script)] {
            try {
                script(*this);
            } catch (const std::string& why) {
                fault_ = why;
            }
            ::close(end_);
        });
    }
    ~CannedPeer() { finish(); }
    CannedPeer(const CannedPeer&) = delete;
    CannedPeer& operator=(const CannedPeer&) = delete;

    // The client's end; once.
    Socket socket() { return Socket(clientEnd_); }
    // Waits for the script's end; what it missed, empty if nothing.
    std::string finish() {
        if (thread_.joinable()) {
            thread_.join();
        }
        return fault_;
    }

    // --- for the script
    void greet() { need(readExactly(8) == wire::amqp::kProtocolHeader, "no protocol header"); }
    // Header to open-ok; what the client said stays readable in the members below.
    void handshake(std::uint16_t channelMax = 2047, std::uint32_t frameMax = 131072,
                   std::uint16_t heartbeat = 0) {
        greet();
        start();
        startOk = expect<wire::amqp::ConnectionStartOk>();
        send(0, wire::amqp::ConnectionTune{channelMax, frameMax, heartbeat});
        expect<wire::amqp::ConnectionTuneOk>();
        expect<wire::amqp::ConnectionOpen>();
        send(0, wire::amqp::ConnectionOpenOk{});
    }
    void start(const char* mechanisms = "AMQPLAIN PLAIN") {
        std::string properties;
        base::FieldTableWriter(properties).text("product", "Canned").text("version", "1.2.3");
        send(0, wire::amqp::ConnectionStart{0, 9, properties, mechanisms, "en_US"});
    }
    // The handshake and channel 1.
    void channel() {
        handshake();
        expect<wire::amqp::ChannelOpen>();
        send(1, wire::amqp::ChannelOpenOk{});
    }
    template <typename M> void send(std::uint16_t channel, const M& method) {
        std::string out;
        wire::amqp::StringSink sink(out);
        wire::amqp::writeMethod(sink, channel, method);
        raw(out);
    }
    template <typename M>
    void sendContent(const M& method, const std::string& body, const std::string& properties = {},
                     std::uint32_t frameMax = 131072) {
        std::string out;
        wire::amqp::StringSink sink(out);
        wire::amqp::writeContent(sink, 1, method, base::bytesOf(properties), base::bytesOf(body),
                                 body.size(), frameMax);
        raw(out);
    }
    void raw(const std::string& bytes) {
        for (std::size_t done = 0; done < bytes.size();) {
            const ssize_t wrote =
                ::send(end_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
            need(wrote > 0, "the client has gone");
            done += static_cast<std::size_t>(wrote);
        }
    }
    // The next frame must be this method; views are valid until the next frame is read. Heartbeats
    // are passed over.
    template <typename M> M expect() {
        readFrame();
        Taker<M> taker;
        const auto result =
            wire::MessageList<wire::amqp::FieldReader, M>::dispatch(payload(), taker);
        need(frame.type == 1 && result == wire::Dispatched::handled,
             "wanted method " + std::to_string(M::id.classId) + "." +
                 std::to_string(M::id.methodId));
        return taker.taken;
    }
    // A publish with its header and body; returns the body.
    std::string expectPublish() {
        expect<wire::amqp::BasicPublish>();
        readFrame();
        need(frame.type == 2 && header.parse(payload()), "wanted a content header");
        std::string body;
        while (body.size() < header.bodySize) {
            readFrame();
            need(frame.type == 3, "wanted a body");
            body.append(base::textOf(payload()));
        }
        return body;
    }
    void expectHeartbeat() {
        readAnyFrame();
        need(frame.type == wire::amqp::frame_type::kHeartbeat, "wanted a heartbeat");
    }
    // The client has closed its end, nothing was left to read.
    void expectEnd() {
        char byte = 0;
        need(::recv(end_, &byte, 1, 0) == 0, "wanted the end");
    }
    // Until the client closes its end; what it has sent stays unread.
    void leaveUnread() const {
        pollfd one{end_, POLLRDHUP, 0};
        ::poll(&one, 1, -1);
    }
    // Until the client closes its end.
    void readToTheEnd() {
        char buffer[65536];
        while (::recv(end_, buffer, sizeof buffer, 0) > 0) {
        }
    }
    static void need(bool holds, const std::string& otherwise) {
        if (!holds) {
            throw otherwise;
        }
    }

    wire::amqp::Frame frame; // the last one read; its payload is in payload()
    wire::amqp::ContentHeader header;
    wire::amqp::ConnectionStartOk startOk;

  private:
    template <typename M> struct Taker {
        M taken;
        void on(const M& method) { taken = method; }
    };
    base::Bytes payload() const {
        return base::bytesOf(bytes_).subspan(wire::amqp::kFrameHead,
                                             bytes_.size() - wire::amqp::kFrameOverhead);
    }
    void readFrame() {
        do {
            readAnyFrame();
        } while (frame.type == wire::amqp::frame_type::kHeartbeat);
    }
    void readAnyFrame() {
        bytes_ = readExactly(wire::amqp::kFrameHead);
        const wire::amqp::FrameReader reader(0);
        reader.next(base::bytesOf(bytes_), frame);
        bytes_ += readExactly(frame.totalSize - bytes_.size());
        need(reader.next(base::bytesOf(bytes_), frame) == wire::amqp::FrameStatus::complete,
             "a broken frame");
    }
    std::string readExactly(std::size_t count) {
        std::string out(count, '\0');
        const ssize_t got = ::recv(end_, out.data(), count, MSG_WAITALL);
        need(got == static_cast<ssize_t>(count), "the client has gone");
        return out;
    }

    int clientEnd_ = -1;
    int end_ = -1;
    std::string bytes_;
    std::string fault_;
    std::thread thread_;
};

// Short enough that a test of "never a hang" is quick, long enough for a busy machine where an
// answer does come.
inline ClientOptions patient() {
    ClientOptions options;
    options.timeout = std::chrono::seconds(20);
    options.heartbeat = std::chrono::seconds(0);
    return options;
}
inline ClientOptions impatient() {
    ClientOptions options = patient();
    options.timeout = std::chrono::milliseconds(50);
    return options;
}

} // namespace millrace::client
