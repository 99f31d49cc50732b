#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# librabbitmq by way of amqp-tools: declare, publish, get, consume, delete.
set -euo pipefail
command -v amqp-publish >/dev/null || { echo "SKIPPED: amqp-tools is not installed"; exit 77; }
url="amqp://guest:guest@127.0.0.1:$MILLRACE_TEST_PORT/%2f"

amqp-declare-queue -u "$url" -q tools -d >/dev/null
for word in one two three; do
    amqp-publish -u "$url" -r tools -p -b "$word"
done
first=$(amqp-get -u "$url" -q tools)
[ "$first" = one ] || { echo "amqp-get answered '$first', not 'one'"; exit 1; }
rest=$(timeout 20 amqp-consume -u "$url" -q tools -c 2 cat)
[ "$rest" = twothree ] || { echo "amqp-consume printed '$rest', not 'twothree'"; exit 1; }
if amqp-get -u "$url" -q tools >/dev/null; then echo "the queue should be empty"; exit 1; fi
amqp-delete-queue -u "$url" -q tools >/dev/null
if amqp-get -u "$url" -q no.such.queue 2>error.txt; then echo "a missing queue was found"; exit 1; fi
rm -f error.txt
echo ok
