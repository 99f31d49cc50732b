#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Answers as much of Docker's HTTP API as client suites use, with brokers of ours as the containers; runs a command with DOCKER_HOST set to it.

docker_stand_in.py BINARY COMMAND...   A container is a `millrace serve` on free loopback ports with a data directory of its own. kill is SIGKILL,
stop is SIGTERM, start again finds the same data and the same port; exec knows `rabbitmqctl stop_app` and `start_app`. A number instead of
BINARY is the port of a broker that runs already (a reference, say): it is every container, and is never stopped. Only 5672/tcp is served: the
other ports are given numbers at which nobody listens. The command's exit code is returned (77 = skipped).
"""
import http.server
import json
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Container:
    """One broker; start and stop may be repeated, the data stay until remove."""

    def __init__(self, binary, folder, ports):
        self.binary, self.folder, self.process = binary, folder, None
        fixed = int(binary) if binary.isdigit() else None
        self.ports = {port: fixed if fixed and port == "5672/tcp" else free_port() for port in ports}
        self.own = fixed is None

    def start(self):
        if not self.own or self.process:
            return
        with open(os.path.join(self.folder, "broker.log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--data", os.path.join(self.folder, "data"), "--listen", f"127.0.0.1:{self.ports['5672/tcp']}",
                 "--set", "max_message_size=134217728"], stdout=subprocess.PIPE, stderr=log)
        said = b""
        while b"ready" not in said:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"the broker was not ready; it said {said!r}")
            said += line

    def end(self, sign):
        if self.process:
            self.process.send_signal(sign)
            self.process.wait(60)
            self.process.stdout.close()
            self.process = None

    def died(self):
        return self.process is not None and self.process.poll() is not None

    def describe(self):
        bound = {port: [{"HostIp": "127.0.0.1", "HostPort": str(number)}] for port, number in self.ports.items()}
        return {"Id": os.path.basename(self.folder), "State": {"Running": self.process is not None}, "NetworkSettings": {"Ports": bound}}


class Daemon(http.server.BaseHTTPRequestHandler):
    """/images/create, /containers/{create,ID/start,ID/stop,ID/kill,ID/json,ID}, /containers/ID/exec and /exec/ID/{start,json}."""

    def address_string(self):
        return "client"

    def log_message(self, *_):
        pass

    def answer(self, code, body=None):
        text = json.dumps(body).encode() if body is not None else b""
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")

    def do_POST(self):
        words = self.path.partition("?")[0].strip("/").split("/")
        body = self.body()
        if words == ["images", "create"]:
            return self.answer(200, {"status": "here"})
        if words == ["containers", "create"]:
            return self.answer(201, {"Id": self.server.create(list(body["ExposedPorts"]))})
        if words[0] == "containers" and words[2] == "exec":
            self.server.commands[words[1]] = body["Cmd"][-1]
            return self.answer(201, {"Id": words[1]})
        container = self.server.containers.get(words[1])
        if container is None:
            return self.answer(404, {"message": "no such container"})
        verb = self.server.commands.get(words[1], "") if words[0] == "exec" else words[2]
        if verb in ("start", "start_app"):
            container.start()
        elif verb in ("stop", "stop_app"):
            container.end(signal.SIGTERM)
        elif verb == "kill":
            container.end(signal.SIGKILL)
        else:
            return self.answer(501, {"message": f"{verb} is not known here"})
        return self.answer(204 if words[0] == "containers" else 200)

    def do_GET(self):
        words = self.path.strip("/").split("/")
        if words[0] == "exec":
            return self.answer(200, {"Running": False, "ExitCode": 0})
        container = self.server.containers.get(words[1]) if len(words) > 1 else None
        return self.answer(200, container.describe()) if container else self.answer(404, {"message": "no such container"})

    def do_DELETE(self):
        container = self.server.containers.pop(self.path.strip("/").split("/")[1], None)
        if container:
            self.server.leave(container)
        self.answer(204 if container else 404)


class Host(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(self, path, binary, folder):
        super().__init__(path, Daemon)
        self.binary, self.folder, self.containers, self.commands, self.deaths = binary, folder, {}, {}, []

    def handle_error(self, *_):
        pass  # a client that went without reading the answer

    def create(self, ports):
        folder = tempfile.mkdtemp(prefix="c", dir=self.folder)
        self.containers[os.path.basename(folder)] = Container(self.binary, folder, ports)
        return os.path.basename(folder)

    def leave(self, container):
        if container.died():
            with open(os.path.join(container.folder, "broker.log"), errors="replace") as log:
                self.deaths.append(f"a broker ended by itself with {container.process.returncode}:\n{log.read()[-4000:]}")
        container.end(signal.SIGKILL)
        shutil.rmtree(container.folder, ignore_errors=True)


def main():
    folder = tempfile.mkdtemp(prefix="millrace-containers-")
    host = Host(os.path.join(folder, "docker.sock"), sys.argv[1], folder)
    threading.Thread(target=host.serve_forever, daemon=True).start()
    try:
        code = subprocess.call(sys.argv[2:], env=dict(os.environ, DOCKER_HOST=f"unix://{folder}/docker.sock"))
    finally:
        for container in list(host.containers.values()):
            host.leave(container)
        host.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    for death in host.deaths:
        print(death)
    return 1 if host.deaths else code


sys.exit(main())
