#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The own test suite of a Python client, out of its source package, against brokers of ours. Needs Python >= 3.10 with venv, and PyPI.
#   python_suite.sh BINARY FOLDER NAME VERSION [PYTEST ARGUMENTS]   FOLDER keeps the client and its suite from run to run
# NAME.skip names what is left out, each with its reason; everything else must pass. The suites start RabbitMQ in Docker: docker_stand_in.py
# starts brokers of ours for them. A number in place of BINARY is the port of a reference broker.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$1 cache=$2 name=$3 version=$4
folder=$cache/$name-$version
shift 4
plugins=(pytest==9.2.0 pytest-xdist==3.8.0 pytest-timeout==2.4.0 aiomisc-pytest==2.0.0 shortuuid timeout-decorator)

install_suite() {
    rm -rf "$folder" && mkdir -p "$folder" && /usr/bin/python3 -m venv "$folder/venv" || return 1
    "$folder/venv/bin/pip" install -q --disable-pip-version-check "$name==$version" "${plugins[@]}" || return 1
    "$folder/venv/bin/pip" download -q --disable-pip-version-check --no-deps --no-binary "$name" -d "$folder" "$name==$version" || return 1
    mkdir "$folder/suite" && tar -xzf "$folder"/*.tar.gz --strip-components=1 -C "$folder/suite" || return 1
    rm -rf "${folder:?}/suite/${name//-/_}" # the installed one is tested
    [ ! -d "$here/$name" ] || cp "$here/$name"/*.py "$folder/suite/"
    touch "$folder/complete"
}

/usr/bin/python3 -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    { echo "SKIPPED: /usr/bin/python3 is older than 3.10 or lacks venv"; exit 77; }
if [ ! -e "$folder/complete" ]; then
    install_suite >"$cache/$name-install.txt" 2>&1 ||
        { tail -3 "$cache/$name-install.txt"; echo "SKIPPED: $name $version and its suite cannot be had from PyPI"; exit 77; }
fi

left_out=$(grep -v '^#' "$here/$name.skip" | cut -f1 | grep . | paste -sd'|' | sed 's/|/ or /g')
cd "$folder/suite" || exit 1
/usr/bin/python3 "$here/docker_stand_in.py" "$binary" "$folder/venv/bin/python" -m pytest -q -n 4 --timeout 60 -p no:cacheprovider \
    -o log_cli=false -k "not ($left_out)" --tb=short "$@" tests >"$folder/out.txt" 2>&1
code=$?
[ "$code" -eq 0 ] || tail -80 "$folder/out.txt"
tail -1 "$folder/out.txt"
exit "$code"
