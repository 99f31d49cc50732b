#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a broker does, case by case, through python3-pika: prints `name -> answer`. amqp_behaviour.expected has the answers of RabbitMQ 4.0.5.

Every case has queues of its own and a connection of its own, so that one that ends badly leaves the others alone. Times and random names are
replaced before they are printed. amqp_behaviour.py [PORT]; without it MILLRACE_TEST_PORT.
"""
import os
import re
import sys
import time

try:
    import pika
    from behaviour import dead_letters, publishing, routing, settling
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

PORT = int(sys.argv[1] if len(sys.argv) > 1 else os.environ["MILLRACE_TEST_PORT"])


class Stage:
    """A connection and a channel for one case, and the words that cases are written in."""

    def __init__(self):
        self.connection = self.connect()
        self.channel = self.connection.channel()
        self.queues, self.exchanges = [], []

    def connect(self):
        return pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", PORT))

    def queue(self, name, arguments=None, **flags):
        self.queues.append(name)
        return self.channel.queue_declare(name, arguments=arguments, **flags)

    def exchange(self, name, kind, arguments=None, **flags):
        self.exchanges.append(name)
        self.channel.exchange_declare(name, kind, arguments=arguments, **flags)

    def publish(self, exchange, key, body, **properties):
        self.channel.basic_publish(exchange, key, body, pika.BasicProperties(**properties))

    def get(self, name, wait=0.25, auto_ack=True):
        """One message as (exchange, key, redelivered, left, properties, body), or None."""
        time.sleep(wait)
        method, properties, body = self.channel.basic_get(name, auto_ack=auto_ack)
        if method is None:
            return None
        known = {key: value for key, value in sorted(vars(properties).items()) if value is not None}
        if "headers" in known:  # RabbitMQ sorts what it passes on
            known["headers"] = dict(sorted(known["headers"].items()))
        return method.exchange, method.routing_key, method.redelivered, method.message_count, known, body

    def count(self, name, wait=0.05):
        time.sleep(wait)
        return self.channel.queue_declare(name, passive=True).method.message_count

    def turn(self, seconds=0.3):
        """All of the time: process_data_events returns at the first event."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.connection.process_data_events(max(deadline - time.monotonic(), 0))

    def clean(self):
        """From another connection: this one may have been closed for its case."""
        if self.connection.is_open:
            self.connection.close()
        connection = self.connect()
        channel = connection.channel()
        for name in self.queues:
            channel.queue_delete(name)
        for name in self.exchanges:
            channel.exchange_delete(name)
        connection.close()


def plain(answer):
    text = re.sub(r"datetime\.datetime\([^)]*\)", "TIME", repr(answer))
    text = re.sub(r"amq\.rabbitmq\.reply-to\.[\w=+/.-]+", "amq.rabbitmq.reply-to.TOKEN", text)
    text = re.sub(r"amq\.gen-[\w-]{22}", "amq.gen-NAME", text)
    return re.sub(r"amq\.ctag-[\w-]{22}", "amq.ctag-NAME", text).replace("\n", "\\n")


def answer_of(case, *arguments):
    stage = Stage()
    try:
        return plain(case(stage, *arguments))
    except (pika.exceptions.AMQPError, AttributeError, TypeError) as error:
        return f"{type(error).__name__} {plain(getattr(error, 'args', ''))}"
    finally:
        stage.clean()


for part in (routing, publishing, settling, dead_letters):
    for name, case, *arguments in part.cases():
        print(f"{name} -> {answer_of(case, *arguments)}", flush=True)
