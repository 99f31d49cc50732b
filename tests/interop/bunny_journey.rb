# SPDX-License-Identifier: Apache-2.0
# ruby-bunny as a developer uses it: confirms, consuming with manual acks, headers, requeue, exclusive and server-named queues.
begin
  require "bunny"
rescue LoadError
  puts "SKIPPED: ruby-bunny is not installed"
  exit 77
end

def check(condition, what)
  raise "#{what} does not hold" unless condition
end

connection = Bunny.new(host: "127.0.0.1", port: ENV.fetch("MILLRACE_TEST_PORT").to_i)
connection.start
channel = connection.create_channel
channel.confirm_select
queue = channel.queue("bunny", durable: true, arguments: { "x-queue-type" => "quorum" })
100.times { |i| queue.publish(i.to_s, persistent: true, headers: { "n" => i }) }
check(channel.wait_for_confirms, "every publish is confirmed")
check(queue.message_count == 100, "declare counts ready messages")

seen = Queue.new
channel.prefetch(5)
consumer = queue.subscribe(manual_ack: true) do |delivery, properties, body|
  check(properties.headers["n"] == body.to_i, "headers pass through")
  channel.ack(delivery.delivery_tag)
  seen << body.to_i
end
check(Array.new(100) { seen.pop } == (0...100).to_a, "messages arrive in order")
consumer.cancel

queue.publish("again", persistent: true)
channel.wait_for_confirms
delivery, = queue.pop(manual_ack: true)
channel.nack(delivery.delivery_tag, false, true)
delivery, _, body = queue.pop(manual_ack: true)
check(body == "again" && delivery.redelivered?, "a returned message comes again, marked")
channel.ack(delivery.delivery_tag)
queue.delete

named = channel.queue("", exclusive: true)
check(named.name.start_with?("amq.gen-"), "the server names a queue")
exchange = channel.topic("bunny.topic", auto_delete: true)
named.bind(exchange, routing_key: "a.#")
exchange.publish("x", routing_key: "a.b.c")
channel.wait_for_confirms
check(named.pop[2] == "x", "a topic exchange routes")

begin
  connection.create_channel.queue("no.such.queue", passive: true)
  raise "a missing queue was found"
rescue Bunny::NotFound
  puts "ok"
end
connection.close
