// SPDX-License-Identifier: Apache-2.0
// What a method may not ask for, and what RabbitMQ 4.0.5 answers. The test is the table.
#include "fault_case.h"

using namespace millrace;
using namespace millrace::test;

namespace {

amqp::PropertyValues expiration(std::string_view value) {
    amqp::PropertyValues properties;
    properties.expiration = value;
    return properties;
}

const std::vector<FaultCase> kMethodFaults = {
    {"immediate",
     [](ScriptedPeer& p) {
         p.send(1, amqp::BasicPublish{kTicket, "", "q", false, true});
     },
     onConnection("540 'NOT_IMPLEMENTED - immediate=true' 60 40")},
    {"flow off", [](ScriptedPeer& p) { p.send(1, amqp::ChannelFlow{false}); },
     onConnection("540 'NOT_IMPLEMENTED - active=false' 20 20")},
    {"prefetch size", [](ScriptedPeer& p) { p.send(1, qos(0, false, 10)); },
     onConnection("540 'NOT_IMPLEMENTED - prefetch_size!=0 (10)' 60 10")},
    {"recover without requeue", [](ScriptedPeer& p) { p.send(1, amqp::BasicRecover{false}); },
     onConnection("540 'NOT_IMPLEMENTED - requeue=false' 60 110")},
    {"consumer tag twice",
     [](ScriptedPeer& p) {
         p.declare(1, "q");
         p.send(1, consume("q", "t1"));
         p.send(1, consume("q", "t1"));
     },
     onConnection("530 'NOT_ALLOWED - attempt to reuse consumer tag 't1'' 60 20")},
    {"passive declare of no queue",
     [](ScriptedPeer& p) { p.send(1, queueDeclare("q", {.passive = true})); },
     onChannel("404 'NOT_FOUND - no queue 'q' in vhost '/'' 50 10")},
    {"purge of no queue", [](ScriptedPeer& p) { p.send(1, queuePurge("q")); },
     onChannel("404 'NOT_FOUND - no queue 'q' in vhost '/'' 50 30")},
    {"get of no queue", [](ScriptedPeer& p) { p.send(1, get("q")); },
     onChannel("404 'NOT_FOUND - no queue 'q' in vhost '/'' 60 70")},
    {"consume of no queue", [](ScriptedPeer& p) { p.send(1, consume("q", "t")); },
     onChannel("404 'NOT_FOUND - no queue 'q' in vhost '/'' 60 20")},
    {"bind of no queue", [](ScriptedPeer& p) { p.send(1, queueBind("q", "amq.direct", "k")); },
     onChannel("404 'NOT_FOUND - no queue 'q' in vhost '/'' 50 20")},
    {"bind to no exchange",
     [](ScriptedPeer& p) {
         p.declare(1, "q");
         p.send(1, queueBind("q", "x", "k"));
     },
     onChannel("404 'NOT_FOUND - no exchange 'x' in vhost '/'' 50 20")},
    {"publish to no exchange", [](ScriptedPeer& p) { p.publish(1, "nox", "k", "x"); },
     onChannel("404 'NOT_FOUND - no exchange 'nox' in vhost '/'' 60 40")},
    {"passive declare of no exchange",
     [](ScriptedPeer& p) { p.send(1, exchangeDeclare("x", "direct", {.passive = true})); },
     onChannel("404 'NOT_FOUND - no exchange 'x' in vhost '/'' 40 10")},
    {"no queue declared before", [](ScriptedPeer& p) { p.send(1, get("")); },
     onChannel("404 'NOT_FOUND - no previously declared queue' 60 70")},
    {"another durable",
     [](ScriptedPeer& p) {
         p.declare(1, "q");
         p.send(1, queueDeclare("q"));
     },
     onChannel("406 'PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q' in vhost '/': "
               "received 'false' but current is "
               "'true'' 50 10")},
    {"another exchange type",
     [](ScriptedPeer& p) {
         p.send(1, exchangeDeclare("x", "direct"));
         p.send(1, exchangeDeclare("x", "fanout"));
     },
     onChannel("406 'PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'x' in vhost '/': "
               "received 'fanout' but current is "
               "'direct'' 40 10")},
    {"unknown exchange type", [](ScriptedPeer& p) { p.send(1, exchangeDeclare("x", "bogus")); },
     onChannel("406 'PRECONDITION_FAILED - unknown exchange type 'bogus'' 40 10")},
    {"reserved queue name", [](ScriptedPeer& p) { p.send(1, queueDeclare("amq.foo")); },
     onChannel(
         "403 'ACCESS_REFUSED - queue name 'amq.foo' contains reserved prefix 'amq.*'' 50 10")},
    {"reserved exchange name",
     [](ScriptedPeer& p) { p.send(1, exchangeDeclare("amq.foo", "direct")); },
     onChannel(
         "403 'ACCESS_REFUSED - exchange name 'amq.foo' contains reserved prefix 'amq.*'' 40 10")},
    {"the default exchange", [](ScriptedPeer& p) { p.send(1, exchangeDelete("")); },
     onChannel("403 'ACCESS_REFUSED - operation not permitted on the default exchange' 40 20")},
    {"deletion of a system exchange",
     [](ScriptedPeer& p) { p.send(1, exchangeDelete("amq.direct")); },
     onChannel("403 'ACCESS_REFUSED - deletion of system exchange 'amq.direct' in vhost '/' not "
               "allowed' 40 20")},
    {"publish to an internal exchange",
     [](ScriptedPeer& p) {
         p.send(1, exchangeDeclare("x", "direct", {.internal = true}));
         p.publish(1, "x", "k", "b");
     },
     onChannel(
         "403 'ACCESS_REFUSED - cannot publish to internal exchange 'x' in vhost '/'' 60 40")},
    {"delete of a queue in use",
     [](ScriptedPeer& p) {
         p.declare(1, "q");
         p.send(1, consume("q", "t"));
         p.send(1, queueDelete("q", true));
     },
     onChannel("406 'PRECONDITION_FAILED - queue 'q' in vhost '/' in use' 50 40")},
    {"delete of a queue that is not empty",
     [](ScriptedPeer& p) {
         p.declare(1, "q");
         p.publish(1, "", "q", "b");
         p.settled();
         p.send(1, queueDelete("q", false, true));
     },
     onChannel("406 'PRECONDITION_FAILED - queue 'q' in vhost '/' not empty' 50 40")},
    {"ack of an unknown tag", [](ScriptedPeer& p) { p.send(1, ack(99)); },
     onChannel("406 'PRECONDITION_FAILED - unknown delivery tag 99' 60 80")},
    {"ack of tag 0", [](ScriptedPeer& p) { p.send(1, ack(0)); },
     onChannel("406 'PRECONDITION_FAILED - unknown delivery tag 0' 60 80")},
    {"nack of an unknown tag", [](ScriptedPeer& p) { p.send(1, nack(99, false, true)); },
     onChannel("406 'PRECONDITION_FAILED - unknown delivery tag 99' 60 120")},
    {"reject of an unknown tag",
     [](ScriptedPeer& p) {
         p.send(1, amqp::BasicReject{std::uint64_t{99}, true});
     },
     onChannel("406 'PRECONDITION_FAILED - unknown delivery tag 99' 60 90")},
    {"exclusive consumer behind another",
     [](ScriptedPeer& p) {
         p.declare(1, "q");
         p.send(1, consume("q", "a"));
         p.send(1, consume("q", "b", {.exclusive = true}));
     },
     onChannel("403 'ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use' 60 20")},
    {"expiration that is no number",
     [](ScriptedPeer& p) { p.publish(1, "", "q", "x", expiration("abc")); },
     onChannel("406 'PRECONDITION_FAILED - invalid expiration 'abc': no_integer' 60 40")},
    {"negative expiration", [](ScriptedPeer& p) { p.publish(1, "", "q", "x", expiration("-1")); },
     onChannel("406 'PRECONDITION_FAILED - invalid expiration '-1': {value_negative,-1}' 60 40")},
    {"somebody else's user id",
     [](ScriptedPeer& p) {
         amqp::PropertyValues properties;
         properties.userId = "joe";
         p.publish(1, "", "q", "x", properties);
     },
     onChannel("406 'PRECONDITION_FAILED - user_id property set to 'joe' but authenticated user "
               "was 'guest'' 60 40")},
    {"CC that is no array",
     [](ScriptedPeer& p) {
         std::string headers;
         base::FieldTableWriter(headers).text("CC", "str");
         amqp::PropertyValues properties;
         properties.headers = base::bytesOf(headers);
         p.publish(1, "", "q", "x", properties);
     },
     onChannel("406 'PRECONDITION_FAILED - invalid message: "
               "{unacceptable_type_in_header,\"CC\",longstr}' 60 40")},
    {"from confirm to tx",
     [](ScriptedPeer& p) {
         p.send(1, amqp::ConfirmSelect{false});
         p.send(1, amqp::TxSelect{});
     },
     onChannel("406 'PRECONDITION_FAILED - cannot switch from confirm to tx mode' 90 10")},
    {"from tx to confirm",
     [](ScriptedPeer& p) {
         p.send(1, amqp::TxSelect{});
         p.send(1, amqp::ConfirmSelect{false});
     },
     onChannel("406 'PRECONDITION_FAILED - cannot switch from tx to confirm mode' 85 10")},
    {"commit without select", [](ScriptedPeer& p) { p.send(1, amqp::TxCommit{}); },
     onChannel("406 'PRECONDITION_FAILED - channel is not transactional' 90 20")},
    {"rollback without select", [](ScriptedPeer& p) { p.send(1, amqp::TxRollback{}); },
     onChannel("406 'PRECONDITION_FAILED - channel is not transactional' 90 30")},
    {"reply-to without a consumer",
     [](ScriptedPeer& p) {
         amqp::PropertyValues properties;
         properties.replyTo = "amq.rabbitmq.reply-to";
         p.publish(1, "", "q", "x", properties);
     },
     onChannel("406 'PRECONDITION_FAILED - fast reply consumer does not exist' 60 40")},
    {"reply consumer with acks",
     [](ScriptedPeer& p) { p.send(1, consume("amq.rabbitmq.reply-to", "t")); },
     onChannel("406 'PRECONDITION_FAILED - reply consumer cannot acknowledge' 60 20")},
    {"a message that is too large",
     [](ScriptedPeer& p) {
         p.node().options.maxMessageSize = 10;
         p.publish(1, "", "q", "12345678901");
     },
     onChannel("406 'PRECONDITION_FAILED - message size 11 is larger than configured max size 10' "
               "60 40")},
};

} // namespace

class TestMethodFaults : public QObject {
    Q_OBJECT
  private slots:
    void aFaultInAMethodIsAnsweredAsRabbitDoes_data() { addRows(kMethodFaults); }
    void aFaultInAMethodIsAnsweredAsRabbitDoes() {
        QFETCH(int, index);
        checkFault(kMethodFaults[static_cast<std::size_t>(index)], 0);
    }
};

QTEST_APPLESS_MAIN(TestMethodFaults)
#include "tst_method_faults.moc"
