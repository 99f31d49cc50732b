# SPDX-License-Identifier: Apache-2.0
"""Time to live, length limits, dead letters, delivery limits and message priorities."""
import time

import pika

TO_DL = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dl"}


def queue_ttl(stage):
    stage.queue("dl")
    stage.queue("d1", {**TO_DL, "x-message-ttl": 50})
    stage.publish("", "d1", b"1")
    return stage.get("dl")


def message_ttl(stage):
    stage.queue("dl")
    stage.queue("d1", TO_DL)
    stage.publish("", "d1", b"1", expiration="20", headers={"CC": ["other"], "BCC": ["dl2"]})
    return stage.get("dl")


def drop_head(stage):
    stage.queue("dl")
    stage.queue("d2", {**TO_DL, "x-max-length": 1})
    stage.publish("", "d2", b"a")
    stage.publish("", "d2", b"b")
    return stage.get("dl"), stage.get("d2")


def rejected(stage):
    stage.queue("dl")
    stage.queue("d2", TO_DL)
    stage.publish("", "d2", b"1")
    time.sleep(0.1)
    stage.channel.basic_reject(stage.channel.basic_get("d2")[0].delivery_tag, requeue=False)
    return stage.get("dl")


def reject_publish(stage, overflow):
    stage.queue("dl")
    stage.queue("d3", {**TO_DL, "x-max-length": 1, "x-overflow": overflow})
    stage.channel.confirm_delivery()
    heard = []
    for i in range(2):
        try:
            stage.channel.basic_publish("", "d3", b"%d" % i)
            heard.append("ack")
        except pika.exceptions.NackError:
            heard.append("nack")
    return heard, stage.get("dl")


def two_hops(stage):
    stage.queue("d4", {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "d5", "x-message-ttl": 20})
    stage.queue("d5", {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "d6"})
    stage.queue("d6")
    stage.publish("", "d4", b"x")
    time.sleep(0.2)
    stage.channel.basic_nack(stage.channel.basic_get("d5")[0].delivery_tag, requeue=False)
    return stage.get("d6")


def delivery_limit(stage):
    stage.queue("dl")
    stage.queue("q1", {**TO_DL, "x-queue-type": "quorum", "x-delivery-limit": 1}, durable=True)
    stage.publish("", "q1", b"z")
    seen = []
    for i in range(2):
        answer = stage.get("q1", auto_ack=False)
        seen.append((answer[2], answer[4]))
        stage.channel.basic_nack(i + 1, requeue=True)
    return seen, stage.get("q1"), stage.get("dl")


def message_priorities(stage):
    stage.queue("pq", {"x-max-priority": 5})
    for priority in (1, 9, None, 5):
        stage.publish("", "pq", str(priority).encode(), priority=priority)
    return [stage.get("pq", 0.05)[5] for _ in range(4)]


def unused_queue(stage):
    stage.queue("ux", {"x-expires": 200})
    time.sleep(0.6)
    return stage.count("ux")


def single_active(stage):
    stage.queue("sa", {"x-single-active-consumer": True})
    heard = []
    stage.channel.basic_qos(prefetch_count=1)
    for name in ("a", "b"):
        stage.channel.basic_consume("sa", lambda c, method, p, body, name=name: heard.append((name, body)))
    for i in range(3):
        stage.publish("", "sa", b"%d" % i)
    stage.turn()
    return heard


def cases():
    yield "message TTL of a queue", queue_ttl
    yield "TTL of a message", message_ttl
    yield "drop-head", drop_head
    yield "a rejected message", rejected
    yield "reject-publish", reject_publish, "reject-publish"
    yield "reject-publish-dlx", reject_publish, "reject-publish-dlx"
    yield "dead letters of dead letters", two_hops
    yield "delivery limit of a quorum queue", delivery_limit
    yield "message priorities", message_priorities
    yield "x-expires", unused_queue
    yield "single active consumer", single_active
