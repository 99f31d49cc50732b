#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""python3-pika as a developer uses it: topology, confirms, mandatory, consuming with prefetch, get, nack, tx, exclusive queues, large bodies."""
import os
import sys

try:
    import pika
except ImportError:
    print("SKIPPED: python3-pika is not installed")
    sys.exit(77)

PARAMETERS = pika.ConnectionParameters("127.0.0.1", int(os.environ["MILLRACE_TEST_PORT"]))


def connect():
    connection = pika.BlockingConnection(PARAMETERS)
    return connection, connection.channel()


def confirmed_messages_arrive_in_order(queue_type):
    connection, channel = connect()
    channel.queue_declare("work", durable=True, arguments={"x-queue-type": queue_type})
    channel.confirm_delivery()
    persistent = pika.BasicProperties(delivery_mode=2, headers={"n": 1, "s": "text"}, content_type="text/plain")
    for i in range(200):
        channel.basic_publish("", "work", b"%d" % i, persistent, mandatory=True)
    channel.basic_qos(prefetch_count=10)
    seen = []
    for method, properties, body in channel.consume("work", inactivity_timeout=10):
        assert method is not None, f"only {len(seen)} of 200 arrived"
        assert properties.headers["s"] == "text" and properties.content_type == "text/plain"
        seen.append(int(body))
        channel.basic_ack(method.delivery_tag)
        if len(seen) == 200:
            break
    channel.cancel()
    assert seen == list(range(200)), seen
    assert channel.queue_delete("work").method.message_count == 0
    connection.close()


def unroutable_mandatory_comes_back():
    connection, channel = connect()
    channel.confirm_delivery()
    try:
        channel.basic_publish("", "nowhere", b"x", mandatory=True)
        raise AssertionError("an unroutable mandatory message was accepted")
    except pika.exceptions.UnroutableError as error:
        assert error.messages[0].method.reply_code == 312
    connection.close()


def returned_messages_keep_their_place():
    connection, channel = connect()
    channel.queue_declare("back", exclusive=True)
    for i in range(5):
        channel.basic_publish("", "back", b"%d" % i)
    tags = [channel.basic_get("back")[0].delivery_tag for _ in range(3)]
    channel.basic_nack(tags[-1], multiple=True, requeue=True)
    got = [channel.basic_get("back", auto_ack=True) for _ in range(5)]
    assert [int(body) for _, _, body in got] == [0, 1, 2, 3, 4]
    assert [method.redelivered for method, _, _ in got] == [True, True, True, False, False]
    assert channel.basic_get("back") == (None, None, None)
    connection.close()


def topology_routes(channel):
    channel.exchange_declare("events", "topic", durable=True)
    channel.exchange_declare("all", "fanout", durable=True)
    channel.exchange_bind("all", "events", "#")
    channel.queue_declare("orders", durable=True)
    channel.queue_declare("everything", durable=True)
    channel.queue_bind("orders", "events", "order.*")
    channel.queue_bind("everything", "all")


def exchanges_route_to_queues_and_exchanges():
    connection, channel = connect()
    topology_routes(channel)
    channel.confirm_delivery()
    channel.basic_publish("events", "order.new", b"1")
    channel.basic_publish("events", "user.new", b"2")
    assert channel.queue_declare("orders", passive=True).method.message_count == 1
    assert channel.queue_declare("everything", passive=True).method.message_count == 2
    assert channel.queue_purge("everything").method.message_count == 2
    for queue in ("orders", "everything"):
        channel.queue_delete(queue)
    for exchange in ("events", "all"):
        channel.exchange_delete(exchange)
    connection.close()


def transactions_commit_and_roll_back():
    connection, channel = connect()
    channel.queue_declare("tx", durable=True)
    channel.tx_select()
    channel.basic_publish("", "tx", b"1", pika.BasicProperties(delivery_mode=2))
    channel.tx_rollback()
    channel.basic_publish("", "tx", b"2", pika.BasicProperties(delivery_mode=2))
    channel.tx_commit()
    method, _, body = channel.basic_get("tx")
    assert body == b"2" and method.message_count == 0
    channel.basic_ack(method.delivery_tag)
    channel.tx_commit()
    channel.queue_delete("tx")
    connection.close()


def exclusive_queues_end_with_their_connection():
    first, channel = connect()
    name = channel.queue_declare("", exclusive=True).method.queue
    assert name.startswith("amq.gen-")
    second, other = connect()
    try:
        other.queue_declare(name, passive=True)
        raise AssertionError("another connection reached an exclusive queue")
    except pika.exceptions.ChannelClosedByBroker as closed:
        assert closed.reply_code == 405, closed
    first.close()
    other = second.channel()
    try:
        other.queue_declare(name, passive=True)
        raise AssertionError("the exclusive queue outlived its connection")
    except pika.exceptions.ChannelClosedByBroker as closed:
        assert closed.reply_code == 404, closed
    second.close()


def large_bodies_come_back_whole():
    connection, channel = connect()
    channel.queue_declare("large", durable=True)
    channel.confirm_delivery()
    for size in (0, 1, 131064, 131065, 1048576, 1048577, 12 * 1024 * 1024):
        body = bytes(i % 251 for i in range(997)) * (size // 997 + 1)
        channel.basic_publish("", "large", body[:size], pika.BasicProperties(delivery_mode=2))
        method, _, got = channel.basic_get("large")
        assert got == body[:size], f"{size} bytes came back as {len(got)}"
        channel.basic_ack(method.delivery_tag)
    channel.queue_delete("large")
    connection.close()


def deleting_a_queue_cancels_its_consumers():
    connection, channel = connect()
    cancelled = []
    channel.queue_declare("gone")
    channel.add_on_cancel_callback(lambda frame: cancelled.append(frame.method.consumer_tag))
    tag = channel.basic_consume("gone", lambda *unused: None)
    connection.channel().queue_delete("gone")
    connection.process_data_events(5)
    assert cancelled == [tag], cancelled
    connection.close()


for story in (lambda: confirmed_messages_arrive_in_order("classic"), lambda: confirmed_messages_arrive_in_order("quorum"),
              unroutable_mandatory_comes_back, returned_messages_keep_their_place, exchanges_route_to_queues_and_exchanges,
              transactions_commit_and_roll_back, exclusive_queues_end_with_their_connection, large_bodies_come_back_whole,
              deleting_a_queue_cancels_its_consumers):
    story()
    print("ok", getattr(story, "__name__", "story"))
