// SPDX-License-Identifier: Apache-2.0
// What a queue may be declared with, and when two declarations mean the same. Rules and texts:
// RabbitMQ 4.0.5 (facts on AMQP, sections 4 and 5; facts on queue rules, 4.1 and 4.2), the rules as
// a table in queue_argument_rules.h. Pure functions.
//
// x-queue-type=stream is known, its arguments are checked as a stream's, and then it is refused:
// 406 PRECONDITION_FAILED `queue type 'stream' is not available yet ...`, until streams exist.
#pragma once

#include "base/bytes.h"
#include "base/refusal.h"
#include "catalog/spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::catalog {

enum class Overflow : std::uint8_t { dropHead, rejectPublish, rejectPublishDlx };

// The typed values of the arguments that have a meaning for a queue of this type. Absent: not set.
struct QueueArguments {
    QueueType type = QueueType::classic;
    std::optional<std::uint64_t> messageTtlMs, expiresMs;
    std::optional<std::uint64_t> maxLength, maxLengthBytes;
    std::optional<Overflow> overflow;
    std::optional<std::uint8_t> maxPriority;   // classic
    std::optional<std::int64_t> deliveryLimit; // quorum; negative: unlimited. Not validated:
                                               // another type than integer is as absent
    std::optional<std::string> deadLetterExchange, deadLetterRoutingKey;
    bool deadLetterAtLeastOnce = false;
    bool singleActiveConsumer = false;
    std::optional<std::uint64_t> consumerTimeoutMs;
};

// Checks what the client asks for a new queue: its arguments in RabbitMQ's order, then the
// properties that its type does not take. `asked` needs vhost, name (empty: the server chooses it,
// which only classic queues allow), flags and arguments (a valid table); id and type are not looked
// at.
base::Outcome<QueueArguments> checkNewQueue(const QueueSpec& asked);

// 403 `queue name 'amq.x' contains reserved prefix 'amq.*'`. For new queues that the client names.
std::optional<base::Refusal> checkQueueName(std::string_view name);

// 406 `inequivalent arg ...` unless flags and the arguments that the current queue's type lists are
// the same. Exclusive ownership (405) is the caller's to check, before.
std::optional<base::Refusal> checkEquivalent(const QueueSpec& current, const QueueSpec& asked);

// The typed values without checking, e.g. of a queue that was stored: what does not fit is as
// absent.
QueueArguments readQueueArguments(base::Bytes arguments);

// Names of the given arguments that are stored and compared but do nothing yet in this version.
// Arguments that never have an effect by RabbitMQ's own rules (x-queue-mode ...) are not among
// them. For one log line a queue.
std::vector<std::string_view> argumentsWithoutEffect(base::Bytes arguments);

} // namespace millrace::catalog
