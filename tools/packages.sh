#!/bin/bash
# Installs the Debian packages that building (build) and testing (test) need and that are missing, and says which.
set -euo pipefail

build=(git make cmake ninja-build g++ ccache pkg-config libspdlog-dev libsqlite3-dev libssl-dev libcli11-dev)
test=(qt6-base-dev python3-pika python3-venv amqp-tools librabbitmq-dev ruby-bunny iproute2 procps clang-format)

wanted=()
for set in "$@"; do
    case "$set" in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    *) echo "packages.sh: unknown set '$set': use build or test" >&2; exit 64 ;;
    esac
done

missing=()
for package in "${wanted[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi
echo "installing Debian packages: ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
    echo "packages.sh: not root. Run: apt-get install ${missing[*]}" >&2
    exit 77
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
