// SPDX-License-Identifier: Apache-2.0
// Every method of AMQP 0-9-1 as RabbitMQ 4 speaks it (facts of the wire: class and method ids,
// fields in order). The structs are the table: there is no second description. Strings and tables
// of a decoded method are views into the frame.
#pragma once

#include "wire/amqp/types.h"
#include "wire/fields.h"

namespace millrace::wire::amqp {

// --- connection

struct ConnectionStart {
    static constexpr MethodId id{10, 10};
    Octet versionMajor;
    Octet versionMinor;
    Table serverProperties;
    LongStr mechanisms, locales;
};
struct ConnectionStartOk {
    static constexpr MethodId id{10, 11};
    Table clientProperties;
    ShortStr mechanism;
    LongStr response;
    ShortStr locale;
};
struct ConnectionSecure {
    static constexpr MethodId id{10, 20};
    LongStr challenge;
};
struct ConnectionSecureOk {
    static constexpr MethodId id{10, 21};
    LongStr response;
};
struct ConnectionTune {
    static constexpr MethodId id{10, 30};
    Short channelMax;
    Long frameMax;
    Short heartbeat;
};
struct ConnectionTuneOk {
    static constexpr MethodId id{10, 31};
    Short channelMax;
    Long frameMax;
    Short heartbeat;
};
struct ConnectionOpen {
    static constexpr MethodId id{10, 40};
    ShortStr virtualHost, capabilities;
    Bit insist;
};
struct ConnectionOpenOk {
    static constexpr MethodId id{10, 41};
    ShortStr knownHosts;
};
struct ConnectionClose {
    static constexpr MethodId id{10, 50};
    Short replyCode;
    ShortStr replyText;
    Short classId, methodId;
};
struct ConnectionCloseOk {
    static constexpr MethodId id{10, 51};
};
struct ConnectionBlocked {
    static constexpr MethodId id{10, 60};
    ShortStr reason;
};
struct ConnectionUnblocked {
    static constexpr MethodId id{10, 61};
};
struct ConnectionUpdateSecret {
    static constexpr MethodId id{10, 70};
    LongStr newSecret;
    ShortStr reason;
};
struct ConnectionUpdateSecretOk {
    static constexpr MethodId id{10, 71};
};
// --- channel

struct ChannelOpen {
    static constexpr MethodId id{20, 10};
    ShortStr outOfBand;
};
struct ChannelOpenOk {
    static constexpr MethodId id{20, 11};
    LongStr channelId;
};
struct ChannelFlow {
    static constexpr MethodId id{20, 20};
    Bit active;
};
struct ChannelFlowOk {
    static constexpr MethodId id{20, 21};
    Bit active;
};
struct ChannelClose {
    static constexpr MethodId id{20, 40};
    Short replyCode;
    ShortStr replyText;
    Short classId, methodId;
};
struct ChannelCloseOk {
    static constexpr MethodId id{20, 41};
};
// --- access

struct AccessRequest {
    static constexpr MethodId id{30, 10};
    ShortStr realm;
    Bit exclusive, passive, active, write, read;
};
struct AccessRequestOk {
    static constexpr MethodId id{30, 11};
    Short ticket;
};
// --- exchange

struct ExchangeDeclare {
    static constexpr MethodId id{40, 10};
    Short ticket;
    ShortStr exchange, type;
    Bit passive, durable, autoDelete, internal, noWait;
    Table arguments;
};
struct ExchangeDeclareOk {
    static constexpr MethodId id{40, 11};
};
struct ExchangeDelete {
    static constexpr MethodId id{40, 20};
    Short ticket;
    ShortStr exchange;
    Bit ifUnused, noWait;
};
struct ExchangeDeleteOk {
    static constexpr MethodId id{40, 21};
};
struct ExchangeBind {
    static constexpr MethodId id{40, 30};
    Short ticket;
    ShortStr destination, source, routingKey;
    Bit noWait;
    Table arguments;
};
struct ExchangeBindOk {
    static constexpr MethodId id{40, 31};
};
struct ExchangeUnbind {
    static constexpr MethodId id{40, 40};
    Short ticket;
    ShortStr destination, source, routingKey;
    Bit noWait;
    Table arguments;
};
struct ExchangeUnbindOk {
    static constexpr MethodId id{40, 51}; // not 41: the one id that breaks the rule
};
// --- queue

struct QueueDeclare {
    static constexpr MethodId id{50, 10};
    Short ticket;
    ShortStr queue;
    Bit passive, durable, exclusive, autoDelete, noWait;
    Table arguments;
};
struct QueueDeclareOk {
    static constexpr MethodId id{50, 11};
    ShortStr queue;
    Long messageCount, consumerCount;
};
struct QueueBind {
    static constexpr MethodId id{50, 20};
    Short ticket;
    ShortStr queue, exchange, routingKey;
    Bit noWait;
    Table arguments;
};
struct QueueBindOk {
    static constexpr MethodId id{50, 21};
};
struct QueuePurge {
    static constexpr MethodId id{50, 30};
    Short ticket;
    ShortStr queue;
    Bit noWait;
};
struct QueuePurgeOk {
    static constexpr MethodId id{50, 31};
    Long messageCount;
};
struct QueueDelete {
    static constexpr MethodId id{50, 40};
    Short ticket;
    ShortStr queue;
    Bit ifUnused, ifEmpty, noWait;
};
struct QueueDeleteOk {
    static constexpr MethodId id{50, 41};
    Long messageCount;
};
struct QueueUnbind {
    static constexpr MethodId id{50, 50};
    Short ticket;
    ShortStr queue, exchange, routingKey;
    Table arguments;
};
struct QueueUnbindOk {
    static constexpr MethodId id{50, 51};
};
// --- basic

struct BasicQos {
    static constexpr MethodId id{60, 10};
    Long prefetchSize;
    Short prefetchCount;
    Bit global;
};
struct BasicQosOk {
    static constexpr MethodId id{60, 11};
};
struct BasicConsume {
    static constexpr MethodId id{60, 20};
    Short ticket;
    ShortStr queue, consumerTag;
    Bit noLocal, noAck, exclusive, noWait;
    Table arguments;
};
struct BasicConsumeOk {
    static constexpr MethodId id{60, 21};
    ShortStr consumerTag;
};
struct BasicCancel {
    static constexpr MethodId id{60, 30};
    ShortStr consumerTag;
    Bit noWait;
};
struct BasicCancelOk {
    static constexpr MethodId id{60, 31};
    ShortStr consumerTag;
};
struct BasicPublish {
    static constexpr MethodId id{60, 40};
    Short ticket;
    ShortStr exchange, routingKey;
    Bit mandatory, immediate;
};
struct BasicReturn {
    static constexpr MethodId id{60, 50};
    Short replyCode;
    ShortStr replyText, exchange, routingKey;
};
struct BasicDeliver {
    static constexpr MethodId id{60, 60};
    ShortStr consumerTag;
    LongLong deliveryTag;
    Bit redelivered;
    ShortStr exchange, routingKey;
};
struct BasicGet {
    static constexpr MethodId id{60, 70};
    Short ticket;
    ShortStr queue;
    Bit noAck;
};
struct BasicGetOk {
    static constexpr MethodId id{60, 71};
    LongLong deliveryTag;
    Bit redelivered;
    ShortStr exchange, routingKey;
    Long messageCount;
};
struct BasicGetEmpty {
    static constexpr MethodId id{60, 72};
    ShortStr clusterId;
};
struct BasicAck {
    static constexpr MethodId id{60, 80};
    LongLong deliveryTag;
    Bit multiple;
};
struct BasicReject {
    static constexpr MethodId id{60, 90};
    LongLong deliveryTag;
    Bit requeue;
};
struct BasicRecoverAsync {
    static constexpr MethodId id{60, 100};
    Bit requeue;
};
struct BasicRecover {
    static constexpr MethodId id{60, 110};
    Bit requeue;
};
struct BasicRecoverOk {
    static constexpr MethodId id{60, 111};
};
struct BasicNack {
    static constexpr MethodId id{60, 120};
    LongLong deliveryTag;
    Bit multiple, requeue;
};
// --- confirm

struct ConfirmSelect {
    static constexpr MethodId id{85, 10};
    Bit noWait;
};
struct ConfirmSelectOk {
    static constexpr MethodId id{85, 11};
};
// --- tx

struct TxSelect {
    static constexpr MethodId id{90, 10};
};
struct TxSelectOk {
    static constexpr MethodId id{90, 11};
};
struct TxCommit {
    static constexpr MethodId id{90, 20};
};
struct TxCommitOk {
    static constexpr MethodId id{90, 21};
};
struct TxRollback {
    static constexpr MethodId id{90, 30};
};
struct TxRollbackOk {
    static constexpr MethodId id{90, 31};
};

// What a server receives, by frequency: two comparisons find a publish or an ack. Everything else
// is 503 for a client that sends it.
using ServerMethods = MessageList<
    FieldReader, BasicPublish, BasicAck, BasicReject, BasicNack, BasicGet, BasicQos, BasicConsume,
    BasicCancel, BasicCancelOk, BasicRecover, BasicRecoverAsync, ConfirmSelect, TxSelect, TxCommit,
    TxRollback, ChannelOpen, ChannelClose, ChannelCloseOk, ChannelFlow, ChannelFlowOk, QueueDeclare,
    QueueBind, QueueUnbind, QueuePurge, QueueDelete, ExchangeDeclare, ExchangeDelete, ExchangeBind,
    ExchangeUnbind, ConnectionStartOk, ConnectionSecureOk, ConnectionTuneOk, ConnectionOpen,
    ConnectionClose, ConnectionCloseOk, ConnectionUpdateSecret, AccessRequest>;

// What a client receives, by frequency.
using ClientMethods = MessageList<
    FieldReader, BasicDeliver, BasicAck, BasicNack, BasicReturn, BasicGetOk, BasicGetEmpty,
    BasicQosOk, BasicConsumeOk, BasicCancel, BasicCancelOk, BasicRecoverOk, ConfirmSelectOk,
    TxSelectOk, TxCommitOk, TxRollbackOk, ChannelOpenOk, ChannelClose, ChannelCloseOk, ChannelFlow,
    ChannelFlowOk, QueueDeclareOk, QueueBindOk, QueueUnbindOk, QueuePurgeOk, QueueDeleteOk,
    ExchangeDeclareOk, ExchangeDeleteOk, ExchangeBindOk, ExchangeUnbindOk, ConnectionStart,
    ConnectionSecure, ConnectionTune, ConnectionOpenOk, ConnectionClose, ConnectionCloseOk,
    ConnectionBlocked, ConnectionUnblocked, ConnectionUpdateSecretOk, AccessRequestOk>;

// The ids in front of a method frame's payload, {0, 0} where it is too short for them: for the
// class and method of a close.
inline MethodId methodIdOf(Bytes payload) {
    FieldReader in(payload);
    return in.id();
}

} // namespace millrace::wire::amqp
