#!/usr/bin/env python3
"""nginx in front of the storage, on the port and on a Unix socket: everything works through it, and
limits for one address see the client behind it, where the proxy is trusted. Prints TAP.
"""
import http.client
import os
import random
import shutil
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from storage_lib import (HANG_S, MIB, Storage, address, bearer, exchange, finish, has, is_envelope,  # noqa: E402
                         make_folder, mint, parts_of, path, run, same, started, true, until)

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
if not os.path.exists(NGINX):
    print("1..0 # SKIP there is no nginx")
    raise SystemExit(0)

CONFIG = """
daemon off;
worker_processes 1;
pid %(folder)s/pid;
error_log %(folder)s/error.log;
events { worker_connections 64; }
http {
    access_log off;
    client_max_body_size 2m;
    client_body_temp_path %(folder)s/body;
    proxy_temp_path %(folder)s/proxy;
    fastcgi_temp_path %(folder)s/f; uwsgi_temp_path %(folder)s/u; scgi_temp_path %(folder)s/s;
    upstream storage { server %(upstream)s; keepalive 4; }
    server {
        listen unix:%(folder)s/front.sock;
        listen 127.0.0.1:%(port)d;
        location / {
            proxy_pass http://storage;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host localhost;
            proxy_set_header X-Forwarded-For $http_x_test_client;
            proxy_request_buffering %(buffering)s;
        }
    }
}
"""
chance = random.Random(3)
data = path("data")


def free_port():
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return end.getsockname()[1]


class Front:
    def __init__(self, name, upstream, buffering="on"):
        self.folder = make_folder(name)
        os.chmod(self.folder, 0o755)
        os.chmod(os.path.dirname(self.folder), 0o755)
        for _ in range(5):  # somebody may take the port before nginx does
            self.port = free_port()
            with open(self.folder + "/conf", "w", encoding="ascii") as file:
                file.write(CONFIG % {"folder": self.folder, "upstream": upstream, "port": self.port,
                                     "buffering": buffering})
            self.process = subprocess.Popen([NGINX, "-e", self.folder + "/error.log", "-p", self.folder,
                                             "-c", self.folder + "/conf"], stderr=subprocess.DEVNULL)
            started.append(self.process)
            if until(lambda: self.answers() or self.process.poll() is not None) is True and self.answers():
                return
        raise RuntimeError("nginx does not start")

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def ask(self, method, target, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_S)
        try:
            return exchange(connection, method, target, body, headers)
        finally:
            connection.close()

    def stop(self):
        self.process.terminate()
        self.process.wait(HANG_S)


def contract(front, what):
    content = chance.randbytes(MIB)
    target = "/o/" + address(content)
    same(f"{what}: PUT", front.ask("PUT", target, content).status, 201)
    answer = front.ask("GET", target)
    same(f"{what}: GET", (answer.status, answer.body == content, answer["ETag"]), (200, True, f'"{target[3:]}"'))
    same(f"{what}: HEAD", front.ask("HEAD", target)["Content-Length"], str(MIB))
    same(f"{what}: a range", front.ask("GET", target, headers={"Range": "bytes=1000-1999"}).body, content[1000:2000])
    answer = front.ask("GET", target, headers={"Range": "bytes=0-9,500000-500009"})
    same(f"{what}: two", [part for _, part in parts_of(answer)], [content[:10], content[500_000:500_010]])
    same(f"{what}: 416", front.ask("GET", target, headers={"Range": f"bytes={MIB}-"}).status, 416)
    same(f"{what}: 304", front.ask("GET", target, headers={"If-None-Match": answer["ETag"]}).status, 304)
    pieces = [chance.randbytes(5000) for _ in range(100)]
    answer = front.ask("POST", "/o", iter(pieces))
    same(f"{what}: in chunks", (answer.status, answer.json["address"]), (201, address(b"".join(pieces))))
    answer = front.ask("PUT", target, bytes(MIB + 1))
    same(f"{what}: too large", (answer.status, is_envelope(answer, "TooLarge")), (413, True))
    answer = front.ask("PUT", "/o/" + address(b"a"), b"b")
    same(f"{what}: 409", (answer.status, is_envelope(answer, "Mismatch")), (409, True))
    answer = front.ask("DELETE", target)
    same(f"{what}: 401", (answer.status, answer["WWW-Authenticate"]), (401, "Bearer"))
    same(f"{what}: DELETE", front.ask("DELETE", target, headers=bearer(mint(data, "--scope", "delete"))).status, 204)
    status, out, _ = run("curl", "-sSf", f"http://127.0.0.1:{front.port}/o/" + address(b"".join(pieces)))
    same(f"{what}: curl", (status, out == b"".join(pieces)), (0, True))


storage = Storage("--set", "server.trusted_proxies=127.0.0.1", "--set", "ratelimit.rps_per_ip=1", "--set",
                  "ratelimit.burst_per_ip=5", "--set", "log.requests=true", data=data,
                  listen=("127.0.0.1:0", "unix:" + path("sock")))
os.chmod(path("sock"), 0o666)
front = Front("front", f"127.0.0.1:{storage.port}")


def asked(client, target="/o/" + address(b"none")):
    return front.ask("GET", target, headers={"X-Test-Client": client})


answers = [asked("192.0.2.1").status for _ in range(12)]
same("one client may send five at once", answers[:5], [404] * 5)
true("and is told then", 429 in answers[5:], answers)
answer = next(answer for answer in (asked("192.0.2.1") for _ in range(50)) if answer.status == 429)
true("when to come back", int(answer["Retry-After"]) >= 1 and is_envelope(answer, "Busy"), answer)
same("another client is not he", asked("192.0.2.2").status, 404)
same("nor is one of the other kind", asked("2001:db8::1").status, 404)
has("the log has the client", until(lambda: " 192.0.2.2 GET " in storage.log() and storage.log()), " 192.0.2.2 GET ")
token = mint(data, "--client", "192.0.2.3")
same("a capability sees him", front.ask("GET", "/o/" + address(b"none"), headers={
    "X-Test-Client": "192.0.2.3", **bearer(token)}).status, 404)
same("and who is not", front.ask("GET", "/o/" + address(b"none"), headers={
    "X-Test-Client": "192.0.2.4", **bearer(token)}).status, 403)
same("what a client says of itself is not what the proxy says",
     front.ask("GET", "/o/" + address(b"none"),
               headers={"X-Test-Client": "192.0.2.3, 192.0.2.5", **bearer(token)}).status, 403)
front.stop()
same("the end", storage.stop(), 0)

storage = Storage("--set", "ratelimit.rps_per_ip=1", "--set", "ratelimit.burst_per_ip=5", data=data)
front = Front("front2", f"127.0.0.1:{storage.port}")
answers = [asked(f"192.0.2.{i}").status for i in range(20)]
true("who is not trusted is one client, whatever it says", 429 in answers, answers)
front.stop()
storage.stop()

storage = Storage("--set", "server.trusted_proxies=127.0.0.1", data=data, listen=("127.0.0.1:0", "unix:" + path("sock")))
os.chmod(path("sock"), 0o666)
for what, where, buffering in (("the port", f"127.0.0.1:{storage.port}", "on"),
                               ("a socket, without buffers", "unix:" + path("sock"), "off")):
    front = Front("front-" + buffering, where, buffering)
    contract(front, what)
    front.stop()
same("the end of all", storage.stop(), 0)
finish()
