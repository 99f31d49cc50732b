// SPDX-License-Identifier: Apache-2.0
// Names come from the system's random source: a guessed one would let a stranger answer.
#include "session/amqp/direct_replies.h"

#include <random>

namespace millrace::session::amqp {

std::string randomName() {
    static constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static constexpr int kCharacters = 22;
    static constexpr int kPerDraw = 5; // of 6 bits in a draw of 32
    std::random_device source;
    std::string name;
    for (int i = 0; i < kCharacters; i += kPerDraw) {
        std::uint32_t bits = source();
        for (int j = 0; j < kPerDraw && static_cast<int>(name.size()) < kCharacters;
             ++j, bits >>= 6) {
            name += kAlphabet[bits & 63];
        }
    }
    return name;
}

std::string DirectReplies::add(Channel& channel) {
    std::string name = std::string(kReplyPrefix) + randomName();
    waiting_.emplace(name, &channel);
    return name;
}

Channel* DirectReplies::find(std::string_view name) const {
    const auto found = waiting_.find(std::string(name));
    return found == waiting_.end() ? nullptr : found->second;
}

} // namespace millrace::session::amqp
