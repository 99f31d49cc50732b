// SPDX-License-Identifier: Apache-2.0
// The table of AMQP's reply codes: name and what each closes (facts of the protocol and of
// RabbitMQ 4.0.5).
#include "base/refusal.h"

#include <iterator>

namespace millrace::base {

namespace {

struct ReplyCodeRow {
    ReplyCode code;
    const char* name;
    bool closesConnection;
};

constexpr ReplyCodeRow kReplyCodes[] = {
    {ReplyCode::success, "OK", false},
    {ReplyCode::contentTooLarge, "CONTENT_TOO_LARGE", false},
    {ReplyCode::noRoute, "NO_ROUTE", false},
    {ReplyCode::noConsumers, "NO_CONSUMERS", false},
    {ReplyCode::connectionForced, "CONNECTION_FORCED", true},
    {ReplyCode::invalidPath, "INVALID_PATH", true},
    {ReplyCode::accessRefused, "ACCESS_REFUSED", false},
    {ReplyCode::notFound, "NOT_FOUND", false},
    {ReplyCode::resourceLocked, "RESOURCE_LOCKED", false},
    {ReplyCode::preconditionFailed, "PRECONDITION_FAILED", false},
    {ReplyCode::frameError, "FRAME_ERROR", true},
    {ReplyCode::syntaxError, "SYNTAX_ERROR", true},
    {ReplyCode::commandInvalid, "COMMAND_INVALID", true},
    {ReplyCode::channelError, "CHANNEL_ERROR", true},
    {ReplyCode::unexpectedFrame, "UNEXPECTED_FRAME", true},
    {ReplyCode::resourceError, "RESOURCE_ERROR", true},
    {ReplyCode::notAllowed, "NOT_ALLOWED", true},
    {ReplyCode::notImplemented, "NOT_IMPLEMENTED", true},
    {ReplyCode::internalError, "INTERNAL_ERROR", true},
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
