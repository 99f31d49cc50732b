// SPDX-License-Identifier: Apache-2.0
// The table of AMQP's reply codes: name and what each closes (facts of the protocol and of
// RabbitMQ 4.0.5).
#include "base/refusal.h"

#include <iterator>

namespace millrace::base {

namespace {

struct ReplyCodeRow {
    const char* name;
    ReplyCode code;
    bool closesConnection;
};

constexpr ReplyCodeRow kReplyCodes[] = {
    {"OK", ReplyCode::success, false},
    {"CONTENT_TOO_LARGE", ReplyCode::contentTooLarge, false},
    {"NO_ROUTE", ReplyCode::noRoute, false},
    {"NO_CONSUMERS", ReplyCode::noConsumers, false},
    {"CONNECTION_FORCED", ReplyCode::connectionForced, true},
    {"INVALID_PATH", ReplyCode::invalidPath, true},
    {"ACCESS_REFUSED", ReplyCode::accessRefused, false},
    {"NOT_FOUND", ReplyCode::notFound, false},
    {"RESOURCE_LOCKED", ReplyCode::resourceLocked, false},
    {"PRECONDITION_FAILED", ReplyCode::preconditionFailed, false},
    {"FRAME_ERROR", ReplyCode::frameError, true},
    {"SYNTAX_ERROR", ReplyCode::syntaxError, true},
    {"COMMAND_INVALID", ReplyCode::commandInvalid, true},
    {"CHANNEL_ERROR", ReplyCode::channelError, true},
    {"UNEXPECTED_FRAME", ReplyCode::unexpectedFrame, true},
    {"RESOURCE_ERROR", ReplyCode::resourceError, true},
    {"NOT_ALLOWED", ReplyCode::notAllowed, true},
    {"NOT_IMPLEMENTED", ReplyCode::notImplemented, true},
    {"INTERNAL_ERROR", ReplyCode::internalError, true},
};

// A code that the table does not have (a peer may send any number) is treated as the gravest one.
const ReplyCodeRow& rowOf(ReplyCode code) {
    for (const ReplyCodeRow& row : kReplyCodes) {
        if (row.code == code) {
            return row;
        }
    }
    return *(std::end(kReplyCodes) - 1);
}

} // namespace

const char* nameOf(ReplyCode code) {
    return rowOf(code).name;
}

bool closesConnection(ReplyCode code) {
    return rowOf(code).closesConnection;
}

} // namespace millrace::base
