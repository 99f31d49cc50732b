// SPDX-License-Identifier: Apache-2.0
// A connected socket with the read and flush policy of the data plane. It knows no protocol: bytes
// go in, spans come out.
//
// Reads up to limits::kReadsPerTurn times a turn while the shared buffer comes back full, and keeps
// only the unfinished rest of input. Sends when limits::kFlushBytes are queued, else when flush()
// is called at the end of the turn. Interest changes only when needed. Bounded: its own memory is
// the rest of one frame; output is the conversation's. Lives on: the loop.
#pragma once

#include "net/event_loop.h"
#include "net/read_buffer.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::net {

// The protocol's side of a connection.
class Conversation {
  public:
    virtual ~Conversation() = default;
    // Returns how many bytes were taken; the rest comes again with what follows it. The view is
    // valid during the call.
    virtual std::size_t received(base::Bytes bytes) = 0;
    virtual std::size_t queuedBytes() const = 0;
    // Fills `parts` with what is to be sent next, in order, and returns how many it filled. They
    // stay valid until sent().
    virtual std::size_t gather(std::span<base::Bytes> parts) = 0;
    virtual void sent(std::size_t bytes) = 0;
    // The peer is gone or unreachable; `why` is empty after an orderly end of its stream. The
    // connection is closed already, but must not be destroyed from within.
    virtual void ended(std::string_view why) = 0;
};

// Who ends the stream once the last reply is sent. Clients whose own close was answered take an end
// that arrives with the answer for a lost connection.
enum class LastWord { ours, peers };

class StreamConnection final : public Watcher {
  public:
    StreamConnection(EventLoop& loop, ReadBuffer& buffer, Socket socket,
                     Conversation& conversation);
    ~StreamConnection() override;
    StreamConnection(const StreamConnection&) = delete;
    StreamConnection& operator=(const StreamConnection&) = delete;

    base::Status start();
    const Socket& socket() const { return socket_; }
    bool isOpen() const { return static_cast<bool>(socket_); }

    // Sends what is queued as far as the socket takes it; the remainder follows when it is
    // writable.
    void flush();
    // Reading off: the peer's sends fill its and our socket buffers and then wait.
    void setReading(bool reading);
    // Input that was left behind by setReading(false) within received() is offered again.
    void offerRest();
    // For when the last reply is queued: no more input; sends, tells the peer that this was the
    // end if the last word is ours, and closes when the peer has closed, or limits::kLinger later.
    // (A close with unread input would reset the connection and lose the reply.)
    void finish(LastWord lastWord);
    // At once; ended() is not called.
    void close();
    std::uint64_t receivedBytes() const { return receivedBytes_; }
    std::uint64_t sentBytes() const { return sentBytes_; }

    void ready(const Ready& what) override;

  private:
    void readSome();
    bool readOnce(bool& more);
    base::Bytes offer(base::Bytes input);
    void keepRest(base::Bytes rest);
    bool sendOnce();
    void discardInput();
    void sayEnd();
    void end(std::string_view why);
    void updateInterest();

    EventLoop& loop_;
    ReadBuffer& buffer_;
    Socket socket_;
    Conversation& conversation_;
    std::vector<base::Byte> rest_;
    std::uint64_t receivedBytes_ = 0;
    std::uint64_t sentBytes_ = 0;
    Interest interest_ = Interest::none;
    bool watched_ = false;
    bool reading_ = true;
    bool blockedOutput_ = false; // the socket took less than was offered
    bool finishing_ = false;
    bool saidEnd_ = false;
    LastWord lastWord_ = LastWord::ours;
    EventLoop::TimerId linger_;
};

} // namespace millrace::net
