#!/bin/bash
# A RabbitMQ 4.0.5 in a folder, to compare with: behaviour (tests/interop) and benchmarks. Needs root; Debian 13's package by debootstrap.
#   reference_broker.sh start FOLDER [AMQP_PORT]    prepares the folder once, starts, waits until it listens
#   reference_broker.sh stop FOLDER
#   reference_broker.sh ctl FOLDER ARGUMENTS...     rabbitmqctl inside
set -euo pipefail
verb=${1:?start, stop or ctl} root=${2:?folder outside the repository}
port=${3:-5680}

inside() { chroot "$root" bash -c ". /ref/env.sh; $1"; }

prepare() {
    command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
    if [ ! -x "$root/usr/sbin/rabbitmq-server" ]; then
        echo "preparing RabbitMQ in $root (about a minute)"
        debootstrap --variant=minbase --include=rabbitmq-server,ca-certificates,procps trixie "$root" >"$root.debootstrap.log" 2>&1
    fi
    mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
    mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"
    mkdir -p "$root"/ref/{mnesia,log,home}
    cp /etc/hosts /etc/resolv.conf "$root/etc/"
    cat >"$root/ref/rabbitmq.conf" <<CONF
listeners.tcp.1 = 127.0.0.1:$port
management.tcp.ip = 127.0.0.1
management.tcp.port = $((port + 10000))
prometheus.tcp.ip = 127.0.0.1
prometheus.tcp.port = $((port + 10020))
stream.listeners.tcp.1 = 127.0.0.1:$((port + 1))
stream.advertised_host = localhost
stream.advertised_port = $((port + 1))
loopback_users = none
disk_free_limit.absolute = 1GB
vm_memory_high_watermark.absolute = 2400MiB
CONF
    echo '[rabbitmq_management,rabbitmq_stream,rabbitmq_stream_management,rabbitmq_prometheus,rabbitmq_consistent_hash_exchange].' >"$root/ref/enabled_plugins"
    cat >"$root/ref/env.sh" <<'ENV'
export HOME=/ref/home LANG=C.UTF-8 RABBITMQ_NODENAME=ref@localhost RABBITMQ_MNESIA_BASE=/ref/mnesia RABBITMQ_LOG_BASE=/ref/log
export RABBITMQ_CONFIG_FILE=/ref/rabbitmq.conf RABBITMQ_CONF_ENV_FILE=/ref/none RABBITMQ_ENABLED_PLUGINS_FILE=/ref/enabled_plugins
export ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_DIST_PORT=25672
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"
export PATH=/usr/lib/rabbitmq/lib/rabbitmq_server-4.0.5/sbin:$PATH
ENV
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }

case "$verb" in
start)
    prepare
    nohup setsid chroot "$root" bash -c '. /ref/env.sh; exec rabbitmq-server' >"$root/ref/out" 2>&1 &
    for _ in $(seq 120); do
        listening && { echo "RabbitMQ 4.0.5 listens on 127.0.0.1:$port"; exit 0; }
        read -r -t 1 <> <(:) || true
    done
    echo "the reference broker did not listen on 127.0.0.1:$port within two minutes: see $root/ref/out" >&2
    exit 75 ;;
stop)
    inside 'rabbitmqctl -q stop' || true
    pid=$(pgrep -f "epmd.*-daemon" || true)
    [ -z "$pid" ] || kill $pid
    umount "$root/dev" "$root/proc" || true ;;
ctl)
    shift 2
    inside "rabbitmqctl $*" ;;
*) echo "reference_broker.sh: start, stop or ctl" >&2; exit 64 ;;
esac
