#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tests of the Go client amqp091-go, from its module, against the broker under test. Needs Go >= 1.20 and the module proxy.
# Arguments (-race) go to go test.
# amqp091_go.skip names the tests that need features of later issues, each with its reason; everything else must pass.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=v1.16.0
command -v go >/dev/null || { echo "SKIPPED: no Go on the PATH"; exit 77; }
minor=$(go env GOVERSION | sed -E 's/^go1\.([0-9]+).*/\1/')
[ "$minor" -ge 20 ] || { echo "SKIPPED: $(go env GOVERSION) is older than Go 1.20"; exit 77; }

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1
export GOFLAGS=-mod=mod
folder=$(go mod download -json "github.com/rabbitmq/amqp091-go@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
[ -d "$folder" ] || { echo "SKIPPED: the module amqp091-go $version cannot be had"; exit 77; }
cp -r "$folder" client && chmod -R u+w client && cd client || exit 1

skip=$(grep -v '^#' "$here/amqp091_go.skip" | cut -f1 | grep . | paste -sd'|')
go test -v -tags integration -timeout 600s "$@" ${skip:+-skip "^($skip)\$"} . >"$work/out.txt" 2>&1
code=$?
passed=$(grep -cE '^--- PASS' "$work/out.txt")
failed=$(grep -cE '^--- FAIL' "$work/out.txt")
grep -E '^\s*--- (FAIL|SKIP)' "$work/out.txt"
[ "$code" -eq 0 ] || tail -60 "$work/out.txt"
echo "amqp091-go $version: $passed passed, $failed failed (baseline of RabbitMQ 4.0.5: 217)"
exit "$code"
