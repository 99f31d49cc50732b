# SPDX-License-Identifier: Apache-2.0
"""Consumers and what becomes of their messages: prefetch, order, requeueing, cancels, priorities."""
import time


def requeue_order(stage):
    stage.queue("rq")
    for i in range(3):
        stage.publish("", "rq", b"%d" % i)
    taken = [stage.channel.basic_get("rq")[0] for _ in range(2)]
    stage.channel.basic_nack(taken[-1].delivery_tag, multiple=True)
    return [(answer[5], answer[2], answer[3]) for answer in (stage.get("rq", 0.05) for _ in range(3))]


def requeue_across_channels(stage):
    stage.queue("rq")
    for i in range(6):
        stage.publish("", "rq", b"%d" % i)
    others = [stage.connection.channel() for _ in range(2)]
    tags = [others[i % 2].basic_get("rq")[0].delivery_tag for i in range(4)]
    others[1].basic_reject(tags[1])
    others[0].close()
    others[1].basic_ack(tags[3])
    return [(answer[5], answer[2]) for answer in (stage.get("rq", 0.05) for _ in range(5))]


def consumer(stage, channel, queue, name, heard, **options):
    return channel.basic_consume(queue, lambda c, method, p, body: heard.append((name, body, method.delivery_tag)), **options)


def prefetch_of_consumers(stage):
    stage.queue("pc")
    heard = []
    stage.channel.basic_qos(prefetch_count=2)
    consumer(stage, stage.channel, "pc", "a", heard)
    consumer(stage, stage.channel, "pc", "b", heard)
    for i in range(6):
        stage.publish("", "pc", b"%d" % i)
    stage.turn()
    return sorted(heard, key=lambda entry: entry[2]), stage.count("pc")


def prefetch_of_a_channel(stage):
    stage.queue("pc")
    heard = []
    stage.channel.basic_qos(prefetch_count=3, global_qos=True)
    consumer(stage, stage.channel, "pc", "a", heard)
    consumer(stage, stage.channel, "pc", "b", heard)
    for i in range(6):
        stage.publish("", "pc", b"%d" % i)
    stage.turn()
    before = len(heard)
    stage.channel.basic_ack(1)
    stage.turn()
    return before, len(heard), stage.count("pc")


def prefetch_that_changes(stage):
    stage.queue("pc")
    heard = []
    stage.channel.basic_qos(prefetch_count=1)
    consumer(stage, stage.channel, "pc", "old", heard)
    stage.channel.basic_qos(prefetch_count=3)
    for i in range(6):
        stage.publish("", "pc", b"%d" % i)
    stage.turn()
    before = len(heard)
    consumer(stage, stage.channel, "pc", "new", heard)
    stage.turn()
    return before, [entry[0] for entry in heard]


def priorities(stage):
    stage.queue("pr")
    heard = []
    stage.channel.basic_qos(prefetch_count=2)
    for name, priority in (("low", 1), ("high", 9), ("none", None)):
        consumer(stage, stage.channel, "pr", name, heard, arguments={} if priority is None else {"x-priority": priority})
    for i in range(5):
        stage.publish("", "pr", b"%d" % i)
    stage.turn()
    return [(name, body) for name, body, _ in sorted(heard, key=lambda entry: entry[2])]


def cancel_keeps_unacked(stage):
    stage.queue("cc")
    heard = []
    tag = consumer(stage, stage.channel, "cc", "a", heard)
    stage.publish("", "cc", b"1")
    stage.turn()
    stage.channel.basic_cancel(tag)
    left = stage.count("cc")
    stage.channel.basic_ack(1)
    stage.channel.close()
    stage.channel = stage.connection.channel()
    return [entry[:2] for entry in heard], left, stage.count("cc")


def deleted_queue(stage):
    stage.queue("gone")
    heard = []
    stage.channel.add_on_cancel_callback(lambda frame: heard.append(frame.method.consumer_tag))
    stage.channel.basic_consume("gone", lambda *_: None, consumer_tag="mine")
    stage.publish("", "gone", b"1")
    other = stage.connection.channel()
    time.sleep(0.1)
    deleted = other.queue_delete("gone").method.message_count
    stage.turn()
    stage.channel.basic_ack(1)
    stage.turn(0.1)
    return deleted, heard, stage.channel.is_open


def auto_delete_queue(stage):
    stage.queue("ad", auto_delete=True)
    tag = stage.channel.basic_consume("ad", lambda *_: None)
    stage.channel.basic_cancel(tag)
    return stage.count("ad")


def exclusive_consumer(stage):
    stage.queue("ex")
    stage.channel.basic_consume("ex", lambda *_: None, exclusive=True)
    stage.connection.channel().basic_consume("ex", lambda *_: None)


def purge_leaves_unacked(stage):
    stage.queue("pu")
    for i in range(3):
        stage.publish("", "pu", b"%d" % i)
    stage.channel.basic_get("pu")
    purged = stage.channel.queue_purge("pu").method.message_count
    stage.channel.close()
    stage.channel = stage.connection.channel()
    return purged, stage.count("pu")


def recover(stage):
    stage.queue("re")
    for i in range(2):
        stage.publish("", "re", b"%d" % i)
    stage.channel.basic_get("re")
    stage.channel.basic_recover(requeue=True)
    return [(answer[5], answer[2]) for answer in (stage.get("re", 0.05) for _ in range(2))]


def unknown_tag(stage):
    stage.queue("un")
    stage.channel.basic_ack(99)
    return stage.count("un")


def tag_twice(stage):
    stage.queue("un")
    stage.publish("", "un", b"1")
    tag = stage.channel.basic_get("un")[0].delivery_tag
    stage.channel.basic_ack(tag)
    stage.channel.basic_ack(tag)
    return stage.count("un")


def delivery_counts(stage):
    stage.queue("q1", {"x-queue-type": "quorum"}, durable=True)
    stage.publish("", "q1", b"z")
    seen = []
    for verb in (stage.channel.basic_nack, stage.channel.basic_reject, None):
        answer = stage.get("q1", auto_ack=False)
        seen.append((answer[2], answer[4]))
        if verb:
            verb(len(seen), requeue=True)
    return seen


def cases():
    yield "requeued messages go back to their place", requeue_order
    yield "requeued messages of several channels", requeue_across_channels
    yield "prefetch of two consumers", prefetch_of_consumers
    yield "prefetch of a channel", prefetch_of_a_channel
    yield "prefetch that changes", prefetch_that_changes
    yield "consumer priorities", priorities
    yield "a cancelled consumer's unacked messages", cancel_keeps_unacked
    yield "a queue deleted under its consumer", deleted_queue
    yield "an auto-delete queue without its last consumer", auto_delete_queue
    yield "a second consumer beside an exclusive one", exclusive_consumer
    yield "purge leaves what is unacked", purge_leaves_unacked
    yield "recover", recover
    yield "an ack of an unknown tag", unknown_tag
    yield "an ack a second time", tag_twice
    yield "delivery counts of a quorum queue", delivery_counts
