// SPDX-License-Identifier: Apache-2.0
// Direct reply-to: who waits for answers under which name. A reply goes from the publishing channel
// straight to the waiting one; no queue, no log, hence at most once. Lives on: the engine's loop.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace millrace::session::amqp {

class Channel;

// The pseudo queue that a client consumes from, and names in the property reply-to.
inline constexpr std::string_view kReplyQueue = "amq.rabbitmq.reply-to";
// The server's name for one waiting channel is kReplyPrefix and a token that cannot be guessed.
inline constexpr std::string_view kReplyPrefix = "amq.rabbitmq.reply-to.";

// A message that is published so is a direct reply.
inline bool isReply(std::string_view exchange, std::string_view routingKey) {
    return exchange.empty() && routingKey.starts_with(kReplyPrefix);
}

class DirectReplies {
  public:
    // Returns the full name under which `channel` now waits.
    std::string add(Channel& channel);
    void remove(const std::string& name) { waiting_.erase(name); }
    // Null: nobody waits under that name (any more).
    Channel* find(std::string_view name) const;

  private:
    std::unordered_map<std::string, Channel*> waiting_;
};

// 22 characters of URL-safe base64: 128 random bits, as in amq.gen-... and amq.ctag-...
std::string randomName();

} // namespace millrace::session::amqp
