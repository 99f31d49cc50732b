# SPDX-License-Identifier: Apache-2.0
"""What a publisher hears, and what a message brings with it."""
import datetime
import time

import pika


def refusal(stage, **properties):
    stage.queue("p1")
    stage.publish("", "p1", b"x", **properties)
    return stage.count("p1")


def every_property(stage):
    stage.queue("p1")
    nested = {"i": 1, "b": -(2**40), "s": "text", "t": True, "v": None, "l": [1, "2", [3]], "d": {"e": {"f": b"\x00\xff"}},
              "when": datetime.datetime(2020, 1, 2)}
    stage.publish("", "p1", b"body", content_type="a/b", content_encoding="gzip", headers=nested, delivery_mode=2, priority=200, correlation_id="c",
                  reply_to="r", message_id="m", timestamp=1, type="t", user_id="guest", app_id="app", cluster_id="cluster")
    return stage.get("p1")


def mandatory_in_confirms(stage):
    heard = []
    impl = stage.channel._impl
    impl.confirm_delivery(lambda frame: heard.append((type(frame.method).__name__, frame.method.delivery_tag)), callback=lambda frame: None)
    impl.add_on_return_callback(lambda channel, method, properties, body: heard.append((method.reply_code, method.reply_text, method.routing_key, body)))
    stage.turn(0.2)
    stage.channel._impl.basic_publish("", "nowhere", b"1", mandatory=True)
    stage.turn(0.2)  # one by one: together, one frame may confirm both
    stage.channel._impl.basic_publish("amq.direct", "nowhere", b"", pika.BasicProperties(type="t"), mandatory=True)
    stage.turn(0.3)
    return heard


def mandatory_together(stage):
    """Whether each message is returned before the confirm that covers it."""
    heard = []
    impl = stage.channel._impl
    impl.confirm_delivery(lambda frame: heard.append((frame.method.delivery_tag, frame.method.multiple)), callback=lambda frame: None)
    impl.add_on_return_callback(lambda channel, method, properties, body: heard.append(body))
    stage.turn(0.2)
    for body in (b"1", b"2"):
        impl.basic_publish("", "nowhere", body, mandatory=True)
    stage.turn(0.3)
    confirms = [(place, *entry) for place, entry in enumerate(heard) if isinstance(entry, tuple)]
    covering = [min(place for place, last, multiple in confirms if last == tag or (multiple and last > tag)) for tag in (1, 2)]
    return [heard.index(body) < place for body, place in zip((b"1", b"2"), covering)]


def transaction_that_is_left(stage):
    stage.queue("x1")
    stage.channel.tx_select()
    stage.publish("", "x1", b"1")
    stage.channel.close()
    stage.channel = stage.connection.channel()
    return stage.count("x1")


def acks_rolled_back(stage):
    stage.queue("x1")
    stage.publish("", "x1", b"1")
    stage.channel.tx_select()
    method, _, _ = stage.channel.basic_get("x1")
    stage.channel.basic_ack(method.delivery_tag)
    stage.channel.tx_rollback()
    left = stage.count("x1")
    stage.channel.basic_ack(method.delivery_tag)
    stage.channel.tx_commit()
    stage.channel.close()
    stage.channel = stage.connection.channel()
    return left, stage.count("x1")


def returns_come_at_commit(stage):
    heard = []
    stage.channel._impl.add_on_return_callback(lambda channel, method, properties, body: heard.append(method.reply_code))
    stage.channel.tx_select()
    stage.channel._impl.basic_publish("", "nowhere", b"1", mandatory=True)
    stage.turn(0.2)
    before = list(heard)
    stage.channel.tx_commit()
    stage.turn(0.2)
    return before, heard


def reply_to(stage):
    stage.queue("server")
    heard = []
    client = stage.connection.channel()
    client.basic_consume("amq.rabbitmq.reply-to", lambda c, method, p, body: heard.append((method.exchange, method.routing_key, body)), auto_ack=True)
    client.basic_publish("", "server", b"question", pika.BasicProperties(reply_to="amq.rabbitmq.reply-to"))
    time.sleep(0.1)
    _, properties, _ = stage.channel.basic_get("server", auto_ack=True)
    exists = stage.channel.queue_declare(properties.reply_to, passive=True).method
    stage.publish("", properties.reply_to, b"answer")
    stage.turn()
    return properties.reply_to, exists.message_count, exists.consumer_count, heard


def reply_to_after_its_end(stage):
    stage.queue("server")
    client = stage.connection.channel()
    client.basic_consume("amq.rabbitmq.reply-to", lambda *_: None, auto_ack=True)
    client.basic_publish("", "server", b"question", pika.BasicProperties(reply_to="amq.rabbitmq.reply-to"))
    time.sleep(0.1)
    _, properties, _ = stage.channel.basic_get("server", auto_ack=True)
    client.close()
    stage.channel.confirm_delivery()
    stage.channel.basic_publish("", properties.reply_to, b"answer", mandatory=True)
    return "taken"


def cases():
    yield "every property", every_property
    for properties in ({"expiration": "abc"}, {"expiration": "-1"}, {"expiration": "1.5"}, {"expiration": ""}, {"user_id": "joe"},
                       {"reply_to": "amq.rabbitmq.reply-to"}, {"headers": {"CC": "x"}}, {"headers": {"CC": [1]}}, {"expiration": "4294967296"}):
        yield f"publish with {properties}", lambda stage, values=properties: refusal(stage, **values)
    yield "mandatory messages without a queue, in confirm mode", mandatory_in_confirms
    yield "mandatory messages without a queue, together in confirm mode", mandatory_together
    yield "a transaction whose channel closes", transaction_that_is_left
    yield "acks rolled back", acks_rolled_back
    yield "mandatory messages without a queue, in a transaction", returns_come_at_commit
    yield "direct reply-to", reply_to
    yield "direct reply-to after its consumer's end", reply_to_after_its_end
