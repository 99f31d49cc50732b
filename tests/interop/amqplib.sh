#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The own test suite of the Node client amqplib, out of its package, against the broker under test. Needs Node >= 10 and the npm registry.
#   amqplib.sh BINARY FOLDER   FOLDER keeps the client and its suite from run to run
# 0.10.9 is the last version whose package has its tests. One wants the product to be RabbitMQ, and four the port 5672.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$1 version=0.10.9
folder=$2/amqplib-$version
command -v npm >/dev/null || { echo "SKIPPED: no npm on the PATH"; exit 77; }

install_suite() {
    rm -rf "$folder" && mkdir -p "$folder" && cd "$folder" || return 1
    npm pack --silent "amqplib@$version" && tar -xzf "amqplib-$version.tgz" && cd package || return 1
    npm install --silent --no-audit --no-fund --ignore-scripts --omit=dev || return 1
    npm install --silent --no-audit --no-fund --ignore-scripts --no-save mocha@9.2.2 claire@0.4.1 || return 1
    touch "$folder/complete"
}

if [ ! -e "$folder/complete" ]; then
    (install_suite) >"$2/amqplib-install.txt" 2>&1 ||
        { tail -3 "$2/amqplib-install.txt"; echo "SKIPPED: amqplib $version and its suite cannot be had from npm"; exit 77; }
fi
cd "$folder/package" || exit 1
/usr/bin/python3 "$here/with_broker.py" "$binary" --own-network --set millrace.advertised_product=RabbitMQ \
    npx mocha --check-leaks -u tdd --exit --timeout 20000 --reporter dot test >"$folder/out.txt" 2>&1
code=$?
[ "$code" -eq 0 ] || tail -60 "$folder/out.txt"
grep -E "passing|failing|pending|SKIPPED" "$folder/out.txt"
exit "$code"
