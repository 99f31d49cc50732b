#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Starts a broker of its own on a free loopback port, runs a command against it, stops the broker by pid.

with_broker.py BINARY [--own-network] [--set KEY=VALUE]... COMMAND...   With --own-network (root only) both run in a network namespace that
has nothing but loopback, and the broker has the ports that are built into a suite: 5672 on 127.0.0.1 and ::1. The command finds MILLRACE_TEST_PORT, AMQP_URL and MILLRACE_TEST_PID in its environment and its exit code is
returned (77 = skipped). A broker that died meanwhile, or that reports a broken invariant, fails the run.
"""
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_ready(broker, seconds=30):
    """The ready line on standard output says that listeners accept."""
    deadline = time.monotonic() + seconds
    seen = b""
    while time.monotonic() < deadline:
        readable, _, _ = select.select([broker.stdout], [], [], 0.5)
        if readable:
            chunk = os.read(broker.stdout.fileno(), 4096)
            if not chunk:
                break
            seen += chunk
            if b"ready" in seen:
                return
    raise SystemExit(f"the broker was not ready within {seconds} s; it said: {seen.decode(errors='replace')}")


def enter_own_network():
    """Starts this program again in a new network namespace, or returns there."""
    if os.environ.get("MILLRACE_OWN_NETWORK"):
        subprocess.check_call(["ip", "link", "set", "lo", "up"])
        return
    if os.geteuid() != 0 or subprocess.call(["unshare", "--net", "ip", "link"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) != 0:
        print("SKIPPED: a network namespace cannot be made here (not root, or no unshare and ip)")
        sys.exit(77)
    os.environ["MILLRACE_OWN_NETWORK"] = "1"
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])


def main():
    binary, settings, command = sys.argv[1], [], sys.argv[2:]
    port = None
    if command[0] == "--own-network":
        enter_own_network()
        port, command = 5672, command[1:]
        settings = ["--listen", f"[::1]:{port}"]
    while command[0] == "--set":
        settings, command = settings + command[:2], command[2:]
    port = port or free_port()
    data = tempfile.mkdtemp(prefix="millrace-interop-")
    log = open(os.path.join(data, "broker.log"), "wb")
    broker = subprocess.Popen(
        [binary, "serve", "--data", os.path.join(data, "data"), "--listen", f"127.0.0.1:{port}"] + settings,
        stdout=subprocess.PIPE, stderr=log)
    code = 1
    try:
        wait_for_ready(broker)
        environment = dict(os.environ, MILLRACE_TEST_PORT=str(port), MILLRACE_TEST_PID=str(broker.pid),
                           AMQP_URL=f"amqp://guest:guest@127.0.0.1:{port}/")
        code = subprocess.call(command, env=environment)
        if broker.poll() is not None:
            print(f"the broker ended during the run with {broker.returncode}")
            code = 1
    finally:
        if broker.poll() is None:
            broker.send_signal(signal.SIGTERM)
            try:
                if broker.wait(30) != 0:
                    print(f"the broker did not stop in order: exit code {broker.returncode}")
                    code = 1
            except subprocess.TimeoutExpired:
                broker.kill()
                broker.wait()
                print("the broker did not stop within 30 s of SIGTERM")
                code = 1
        log.close()
        if code not in (0, 77):
            with open(log.name, "rb") as text:
                sys.stdout.write("--- the broker's log (end)\n" + text.read()[-4000:].decode(errors="replace"))
        shutil.rmtree(data, ignore_errors=True)
    return code


sys.exit(main())
