# SPDX-License-Identifier: Apache-2.0
"""Which queues a message reaches: headers, topics, alternate exchanges, bindings between exchanges, CC and BCC."""

HEADERS = [({"x-match": "all", "a": 1}, {"a": 1, "b": 2}), ({"x-match": "all", "a": 1, "b": 2}, {"a": 1}), ({"x-match": "any", "a": 1, "b": 2}, {"a": 1}),
           ({"x-match": "all"}, {}), ({"x-match": "any"}, {}), ({"x-match": "all", "x-a": 1, "b": 1}, {"b": 1}),
           ({"x-match": "all-with-x", "x-a": 1, "b": 1}, {"b": 1}), ({"x-match": "any-with-x", "x-a": 1}, {"x-a": 1}),
           ({"x-match": "any", "x-a": 1}, {"x-a": 1}), ({"a": None}, {"a": 5}), ({"a": 1}, {"a": "1"}), ({}, {"q": 1}), ({}, {}),
           ({"a": True}, {"a": 1}), ({"a": [1, 2]}, {"a": [1, 2]}), ({"a": {"b": 1}}, {"a": {"b": 1}}), ({"a": 1}, {"a": 2**40}), ({"a": "x"}, {"a": None})]
TOPICS = [("#", ""), ("*", ""), ("a.#", "a"), ("a.#", "a.b.c"), ("a.*", "a"), ("*.b", "a.b"), ("#.b", "b"), ("a.#.b", "a.b"), ("a.#.b", "a.x.y.b"),
          ("a.*.b", "a..b"), ("#.#", "a"), ("*.*", "a."), ("a.b", "a.b."), ("", ""), ("#.a.#", "b.a.c"), ("*.#", ""), ("#.*", "a.b"), ("*#", "ab"), ("a.#", "ab")]


def headers(stage, binding, message):
    stage.exchange("hx", "headers")
    stage.queue("h1")
    stage.channel.queue_bind("h1", "hx", "", binding)
    stage.publish("hx", "zz", b"1", headers=message)
    return stage.count("h1")


def topic(stage, binding, key):
    stage.exchange("tx", "topic")
    stage.queue("t1")
    stage.channel.queue_bind("t1", "tx", binding)
    stage.publish("tx", key, b"1")
    return stage.count("t1")


def alternate_chain(stage):
    stage.exchange("last", "fanout")
    stage.exchange("middle", "direct", {"alternate-exchange": "last"})
    stage.exchange("first", "direct", {"alternate-exchange": "middle"})
    stage.queue("a1")
    stage.channel.queue_bind("a1", "last")
    stage.publish("first", "nowhere", b"1")
    return stage.get("a1")


def alternate_that_is_missing(stage):
    stage.exchange("first", "direct", {"alternate-exchange": "nothing here"})
    stage.publish("first", "nowhere", b"1")
    return stage.channel.queue_declare("", exclusive=True).method.message_count


def exchange_cycle(stage):
    stage.exchange("e1", "fanout")
    stage.exchange("e2", "fanout")
    stage.channel.exchange_bind("e1", "e2")
    stage.channel.exchange_bind("e2", "e1")
    stage.queue("c1")
    stage.channel.queue_bind("c1", "e1")
    stage.channel.queue_bind("c1", "e2")
    stage.publish("e1", "", b"1")
    return stage.count("c1")


def twice_bound(stage):
    stage.exchange("dx", "direct")
    stage.queue("b1")
    for key, arguments in (("k", None), ("k", None), ("k", {"x": 1}), ("j", None)):
        stage.channel.queue_bind("b1", "dx", key, arguments)
    stage.publish("dx", "k", b"1")
    stage.channel.queue_unbind("b1", "dx", "k")
    stage.publish("dx", "k", b"2")
    stage.channel.queue_unbind("b1", "dx", "k", {"x": 1})
    stage.publish("dx", "k", b"3")
    return stage.count("b1")


def copies(stage):
    for name in ("to", "cc", "bcc"):
        stage.queue(name)
    stage.publish("", "to", b"1", headers={"CC": ["cc", "cc"], "BCC": ["bcc"], "k": 1})
    return [stage.get(name, 0.05) for name in ("to", "cc", "bcc")]


def copies_that_are_no_list(stage):
    stage.queue("to")
    stage.publish("", "to", b"1", headers={"BCC": "x"})
    return stage.count("to")


def auto_delete_exchange(stage):
    stage.exchange("auto", "fanout", auto_delete=True)
    stage.exchange("kept", "fanout", auto_delete=True)
    stage.queue("d1")
    stage.channel.queue_bind("d1", "auto")
    stage.channel.exchange_bind("auto", "kept")
    stage.channel.queue_unbind("d1", "auto")
    stage.channel.exchange_declare("auto", passive=True)


def last_declared(stage):
    stage.exchange("dx", "direct")
    name = stage.channel.queue_declare("", exclusive=True).method.queue
    stage.channel.queue_bind("", "dx", "")
    stage.publish("dx", name, b"1")
    return name, stage.channel.queue_declare("", passive=True).method.message_count


def cases():
    for binding, message in HEADERS:
        yield f"headers {binding} {message}", headers, binding, message
    for binding, key in TOPICS:
        yield f"topic '{binding}' '{key}'", topic, binding, key
    yield "an alternate exchange of an alternate exchange", alternate_chain
    yield "an alternate exchange that is missing", alternate_that_is_missing
    yield "exchanges bound in a circle", exchange_cycle
    yield "one queue bound several times", twice_bound
    yield "CC and BCC", copies
    yield "BCC that is no list", copies_that_are_no_list
    yield "an auto-delete exchange without its last binding", auto_delete_exchange
    yield "the last declared queue", last_declared
