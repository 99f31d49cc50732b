// SPDX-License-Identifier: Apache-2.0
// Exchanges, queues and bindings. What is right and wrong about them the engine knows; here are the
// names that AMQP leaves out, and the replies, which go out when the change is durable.
#include "session/amqp/channel.h"
#include "session/amqp/direct_replies.h"

namespace millrace::session::amqp {

namespace wire = wire::amqp;
using base::ReplyCode;

bool Channel::meansQueue(std::string_view& name) {
    if (!name.empty()) {
        return true;
    }
    if (lastQueue_.empty()) {
        link_.refuse({ReplyCode::notFound, "no previously declared queue"});
        return false;
    }
    name = lastQueue_;
    return true;
}

// --- exchanges

void Channel::on(const wire::ExchangeDeclare& method) {
    engine::ExchangeDeclare declare;
    declare.vhost = link_.vhost;
    declare.name = method.exchange;
    declare.type = method.type;
    declare.passive = method.passive;
    declare.durable = method.durable;
    declare.autoDelete = method.autoDelete;
    declare.internal = method.internal;
    declare.arguments = method.arguments;
    answer(link_.environment.broker.declareExchange(*link_.engine, declare), method.noWait,
           wire::ExchangeDeclareOk{});
}

void Channel::on(const wire::ExchangeDelete& method) {
    answer(link_.environment.broker.deleteExchange(*link_.engine, link_.vhost, method.exchange,
                                                   method.ifUnused),
           method.noWait, wire::ExchangeDeleteOk{});
}

void Channel::on(const wire::ExchangeBind& method) {
    const engine::Binding binding{link_.vhost,       method.source, method.destination,
                                  method.routingKey, true,          method.arguments};
    answer(link_.environment.broker.bind(*link_.engine, binding), method.noWait,
           wire::ExchangeBindOk{});
}

void Channel::on(const wire::ExchangeUnbind& method) {
    const engine::Binding binding{link_.vhost,       method.source, method.destination,
                                  method.routingKey, true,          method.arguments};
    answer(link_.environment.broker.unbind(*link_.engine, binding), method.noWait,
           wire::ExchangeUnbindOk{});
}

// --- queues

void Channel::on(const wire::QueueDeclare& method) {
    if (method.queue.view().starts_with(kReplyQueue)) [[unlikely]] {
        declareReplyQueue(method);
        return;
    }
    engine::QueueDeclare declare;
    declare.vhost = link_.vhost;
    declare.name = method.queue;
    declare.passive = method.passive;
    declare.durable = method.durable;
    declare.exclusive = method.exclusive;
    declare.autoDelete = method.autoDelete;
    declare.arguments = method.arguments;
    auto declared = link_.environment.broker.declareQueue(*link_.engine, declare);
    if (!declared) {
        link_.refuse(declared.refusal());
        return;
    }
    lastQueue_ = declared->value.name;
    if (!method.noWait) {
        sendWhen(declared->visibleAt, wire::QueueDeclareOk{lastQueue_, declared->value.messages,
                                                           declared->value.consumers});
    }
}

// The pseudo queue of direct replies always exists, one of its names while its consumer does.
void Channel::declareReplyQueue(const wire::QueueDeclare& method) {
    if (method.queue.view() != kReplyQueue && !link_.environment.replies.find(method.queue)) {
        link_.refuse({ReplyCode::notFound, "no queue '" + std::string(method.queue) +
                                               "' in vhost '" + link_.vhost + "'"});
        return;
    }
    lastQueue_ = method.queue.view();
    if (!method.noWait) {
        send(wire::QueueDeclareOk{method.queue, std::uint32_t{0}, std::uint32_t{1}});
    }
}

void Channel::on(const wire::QueueBind& method) {
    std::string_view queue = method.queue;
    if (!meansQueue(queue)) {
        return;
    }
    // With both left out the key is the queue's name, as RabbitMQ has it.
    const std::string_view key = method.queue.view().empty() && method.routingKey.view().empty()
                                     ? queue
                                     : method.routingKey.view();
    const engine::Binding binding{link_.vhost, method.exchange, queue,
                                  key,         false,           method.arguments};
    answer(link_.environment.broker.bind(*link_.engine, binding), method.noWait,
           wire::QueueBindOk{});
}

void Channel::on(const wire::QueueUnbind& method) {
    std::string_view queue = method.queue;
    if (!meansQueue(queue)) {
        return;
    }
    const std::string_view key = method.queue.view().empty() && method.routingKey.view().empty()
                                     ? queue
                                     : method.routingKey.view();
    const engine::Binding binding{link_.vhost, method.exchange, queue,
                                  key,         false,           method.arguments};
    answer(link_.environment.broker.unbind(*link_.engine, binding), false, wire::QueueUnbindOk{});
}

void Channel::on(const wire::QueuePurge& method) {
    std::string_view queue = method.queue;
    if (!meansQueue(queue)) {
        return;
    }
    auto purged = link_.environment.broker.purgeQueue(*link_.engine, link_.vhost, queue);
    const std::uint32_t count = purged ? purged->value : 0;
    answer(std::move(purged), method.noWait, wire::QueuePurgeOk{count});
}

void Channel::on(const wire::QueueDelete& method) {
    std::string_view queue = method.queue;
    if (!meansQueue(queue)) {
        return;
    }
    cancelsHeld_ = !method.noWait; // a consumer of ours hears of it after the reply
    auto deleted = link_.environment.broker.deleteQueue(*link_.engine, link_.vhost, queue,
                                                        method.ifUnused, method.ifEmpty);
    const std::uint32_t count = deleted ? deleted->value : 0;
    answer(std::move(deleted), method.noWait, wire::QueueDeleteOk{count});
    if (link_.waiting.what == Waiting::For::nothing) {
        cancelsHeld_ = false;
        releaseHeld();
    }
}

} // namespace millrace::session::amqp
