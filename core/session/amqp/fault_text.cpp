// SPDX-License-Identifier: Apache-2.0
// Texts only; which error it is, the callers decide.
#include "session/amqp/fault_text.h"

#include "wire/amqp/methods.h"

#include <algorithm>

namespace millrace::session::amqp {

namespace {

constexpr std::size_t kReplyTextBytes = 255; // a short string
constexpr std::size_t kSnippetBytes = 16;

bool printable(base::Byte c) {
    return (c >= 32 && c <= 126) || c >= 160 || (c >= 8 && c <= 13) || c == 27;
}

std::string numbers(base::Bytes bytes) {
    std::string out = "<<";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        out += (i > 0 ? "," : "") + std::to_string(bytes[i]);
    }
    return out + ">>";
}

std::string quoted(base::Byte c) {
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\t':
        return "\\t";
    case '\n':
        return "\\n";
    case '\v':
        return "\\v";
    case '\f':
        return "\\f";
    case '\r':
        return "\\r";
    case 27:
        return "\\e";
    default:
        break;
    }
    if (c < 128) {
        return std::string(1, static_cast<char>(c));
    }
    // Latin-1 as UTF-8.
    return {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
}

std::string snippet(std::uint8_t type, base::Bytes payload) {
    const bool all = payload.size() <= kSnippetBytes;
    return "type " + std::to_string(type) + (all ? ", all octets = " : ", first 16 octets = ") +
           printOctets(payload.first(std::min(payload.size(), kSnippetBytes)));
}

} // namespace

std::string replyText(const base::Refusal& refusal) {
    std::string text = std::string(base::nameOf(refusal.code)) + " - " + refusal.text;
    if (text.size() > kReplyTextBytes) {
        text.resize(kReplyTextBytes - 3);
        text += "...";
    }
    return text;
}

base::Refusal frameError(std::uint8_t type, base::Bytes payload, const std::string& reason) {
    return {base::ReplyCode::frameError, snippet(type, payload) + ": " + reason};
}

base::Refusal unexpectedFrame(std::uint8_t type, base::Bytes payload) {
    return {base::ReplyCode::unexpectedFrame, snippet(type, payload)};
}

std::optional<base::Refusal> methodFault(wire::Dispatched result, base::Bytes payload) {
    if (result == wire::Dispatched::handled) {
        return std::nullopt;
    }
    const wire::amqp::MethodId id = wire::amqp::methodIdOf(payload);
    if (result == wire::Dispatched::unknown) {
        return base::Refusal{base::ReplyCode::commandInvalid, "unknown method " +
                                                                  std::to_string(id.classId) + "." +
                                                                  std::to_string(id.methodId)};
    }
    // Far more would be cut off again by replyText().
    const base::Bytes arguments = payload.subspan(std::min<std::size_t>(payload.size(), 4));
    return base::Refusal{base::ReplyCode::frameError,
                         "cannot decode " +
                             numbers(arguments.first(std::min(arguments.size(), kReplyTextBytes)))};
}

std::string printOctets(base::Bytes bytes) {
    if (bytes.empty()) {
        return "<<>>";
    }
    if (!std::all_of(bytes.begin(), bytes.end(), printable)) {
        return numbers(bytes);
    }
    std::string out = "<<\"";
    for (const base::Byte c : bytes) {
        out += quoted(c);
    }
    return out + "\">>";
}

} // namespace millrace::session::amqp
