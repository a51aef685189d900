#!/usr/bin/env python3
"""Where the storage listens: TLS with certificates that are changed, Unix sockets, sockets that
somebody else has opened, and what the manager of the system is told. Prints TAP.
"""
import os
import re
import signal
import socket
import ssl
import stat
import sys

sys.dont_write_bytecode = True
from storage_lib import (HANG_S, Storage, UnixConnection, address, exchange, finish, has,  # noqa: E402
                         make_file, path, refused, run, same, true)

data = path("data")

# --- TLS ---


def certify(name, subject="localhost"):
    status, _, err = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                         "-days", "2", "-subj", f"/CN={subject}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                         "-keyout", path(name + ".key"), "-out", path(name + ".pem"))
    assert status == 0, err


def serial():
    """Of the certificate that a new connection gets."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", storage.port), HANG_S) as end:
        with context.wrap_socket(end) as tls:
            return ssl.DER_cert_to_PEM_cert(tls.getpeercert(True)).strip()


def read(name):
    with open(path(name), encoding="ascii") as file:
        return file.read().strip()


for name in ("one", "two"):
    certify(name)
for name in ("cert", "key"):
    os.symlink(path("one." + {"cert": "pem", "key": "key"}[name]), path(name))
storage = Storage("--set", "tls.cert=" + path("cert"), "--set", "tls.key=" + path("key"), data=data)
has("it says that it is TLS", storage.places[0], "^https://127.0.0.1:")
url = f"https://127.0.0.1:{storage.port}"
body = os.urandom(900_000)
make_file("body", body)
target = "/o/" + address(body)
status, out, err = run("curl", "-sS", "--cacert", path("one.pem"), "-T", path("body"), "-w", "%{http_code}",
                       "-o", path("said"), url + target)
same("curl --cacert -T", (status, out), (0, b"201"))
status, out, _ = run("curl", "-sSf", "--cacert", path("one.pem"), url + target)
same("and back", (status, out == body), (0, True))
status, out, _ = run("curl", "-sSf", "--cacert", path("one.pem"), "-r", "500000-", url + target)
same("in part", (status, out == body[500_000:]), (0, True))
status, out, err = run("curl", "-sSf", url + target)
same("curl does not trust it by itself", status, 60)
status, out, _ = run("curl", "-sS", "--http0.9", "http://127.0.0.1:%d/healthz" % storage.port)
true("plain HTTP is no way in", b"alive" not in out, out)
status, out, _ = run("curl", "-sSf", "--tls-max", "1.1", "--cacert", path("one.pem"), url + target)
true("nor is TLS 1.1", status != 0, status)
same("the certificate is the first", serial(), read("one.pem"))


def point_to(cert, key):
    for name, to in (("cert", cert), ("key", key)):
        os.symlink(path(to), path("new"))
        os.rename(path("new"), path(name))


point_to("two.pem", "two.key")
has("another one is loaded", storage.reload(), "reloaded")
same("and used", serial(), read("two.pem"))
make_file("bad.pem", "nothing\n")
point_to("bad.pem", "two.key")
has("a bad one is told", storage.reload(), "stays as it was: .*bad.pem|stays as it was: .*cert")
same("and the old one stays", serial(), read("two.pem"))
point_to("one.pem", "two.key")
has("one that does not fit its key as well", storage.reload(), "stays as it was: ")
same("the old one stays", serial(), read("two.pem"))
os.remove(path("cert"))
has("one that is gone as well", storage.reload(), "stays as it was: ")
same("the old one stays still", serial(), read("two.pem"))
same("the end", storage.stop(), 0)
result, said = refused("--set", "tls.cert=" + path("bad.pem"), "--set", "tls.key=" + path("two.key"), data=data)
same("with a bad one it does not start", (result, said.count("\n")), (result or 99, 1))
has("and says what is wrong with which file", said, "bad.pem': no certificate as PEM is in it: set tls.cert")
result, said = refused("--set", "tls.cert=" + path("one.pem"), "--set", "tls.key=" + path("two.key"), data=data)
has("nor with the key of another", said, "two.key': it does not belong to the certificate '.*one.pem'")
result, said = refused("--set", "tls.cert=" + path("one.pem"), data=data)
same("with half of it neither", result, 2)
keys = os.path.join(data, "keys")
storage = Storage("--set", "tls.cert=" + path("one.pem"), "--set", "tls.key=" + path("one.key"), "--set",
                  "tokens.keys=" + keys, data=data, listen=("0.0.0.0:0",))
status, out, _ = run("curl", "-sS", "-o", path("said"), "-w", "%{http_code}", "--cacert", path("one.pem"),
                     f"https://127.0.0.1:{storage.port}{target}")
same("with TLS and keys it listens to others, and asks for tokens", (status, out), (0, b"401"))
same("the end of that", storage.stop(), 0)

# --- Unix sockets ---

name = path("sock")
storage = Storage(data=data, listen=("unix:" + name, "127.0.0.1:0"))
same("it says both", storage.places, ["unix:" + name, f"http://127.0.0.1:{storage.port}"])
same("the mode of the socket", stat.S_IMODE(os.stat(name).st_mode), 0o660)
answer = exchange(UnixConnection(name), "GET", target)
same("it answers there", (answer.status, answer.body == body), (200, True))
status, out, _ = run("curl", "-sSf", "--unix-socket", name, "http://localhost" + target)
same("curl --unix-socket", (status, out == body), (0, True))
same("and on the port", storage.get("/healthz").status, 200)
result, said = refused(data=path("other"), listen=("unix:" + name,))
same("a live one is not taken", (result, said.count("\n")), (3, 1))
has("which is said", said, "sock")
same("and goes on", exchange(UnixConnection(name), "GET", "/healthz").status, 200)
same("the end of it", storage.stop(), 0)
true("the file is gone", not os.path.exists(name))
left = socket.socket(socket.AF_UNIX)
left.bind(name)
left.close()
storage = Storage("--set", "server.unix_mode=0600", data=data, listen=("unix:" + name,))
same("one that was left is replaced", exchange(UnixConnection(name), "GET", "/healthz").status, 200)
same("with the mode that was asked for", stat.S_IMODE(os.stat(name).st_mode), 0o600)
storage.kill(signal.SIGKILL)
storage.wait()
true("after SIGKILL it is left", os.path.exists(name))
storage = Storage(data=data, listen=("unix:" + name,))
same("and replaced", exchange(UnixConnection(name), "GET", target).status, 200)
storage.stop()
make_file("plain", "kept")
result, said = refused(data=data, listen=("unix:" + path("plain"),))
true("what is no socket is not replaced", result in (2, 3) and read("plain") == "kept", (result, said))
other = socket.socket()
other.bind(("127.0.0.1", 0))
other.listen()
result, said = refused(data=data, listen=("127.0.0.1:%d" % other.getsockname()[1],))
same("a port that is taken", (result, said.count("\n")), (3, 1))
other.close()

# --- sockets that were opened before ---

LAUNCH = """import os, sys
count = int(sys.argv[1])
os.environ["LISTEN_FDS"] = str(count)
os.environ["LISTEN_PID"] = str(os.getpid())
for i in range(count):
    os.dup2(int(sys.argv[2 + i]), 3 + i)
    os.set_inheritable(3 + i, True)
os.execv(sys.argv[2 + count], sys.argv[2 + count:])
"""


def activated(ends, *words, **options):
    numbers = []
    for end in ends:  # out of the way of 3, 4, ...
        end.listen(16)
        numbers.append(os.dup2(end.fileno(), 50 + len(numbers)))
    before = [sys.executable, "-c", LAUNCH, str(len(ends)), *map(str, numbers)]
    try:
        return options.pop("how", Storage)(*words, before=before, fds=numbers, activated=len(ends), listen=(),
                                           data=data, **options)
    finally:
        for number in numbers:
            os.close(number)


tcp = socket.socket()
tcp.bind(("127.0.0.1", 0))
local = socket.socket(socket.AF_UNIX)
local.bind(path("given"))
storage = activated([tcp, local])
same("it listens where it was told", storage.places,
     ["http://127.0.0.1:%d" % tcp.getsockname()[1], "unix:" + path("given")])
same("and answers", storage.get(target).body == body, True)
same("at both", exchange(UnixConnection(path("given")), "GET", "/healthz").status, 200)
same("the end of these", storage.stop(), 0)
true("the socket of another is left", os.path.exists(path("given")))
storage = activated([tcp, local], "--set", "tls.cert=" + path("one.pem"), "--set", "tls.key=" + path("one.key"))
status, out, _ = run("curl", "-sSf", "--cacert", path("one.pem"), storage.places[0] + "/healthz")
same("with a certificate, the port is TLS", (status, b"alive" in out), (0, True))
same("and the socket is not, like one of our own",
     exchange(UnixConnection(path("given")), "GET", "/healthz").status, 200)
storage.stop()
tcp.close()
wide = socket.socket()
wide.bind(("0.0.0.0", 0))
result, said = activated([wide], how=refused)
same("one that others can reach is refused like any other", result, 2)
has("and says why", said, "others can reach")
storage = activated([wide], "--open")
same("unless it may", storage.get("/healthz").status, 200)
storage.stop()
wide.close()
storage = Storage(data=data, env={"LISTEN_FDS": "1", "LISTEN_PID": "1"})
same("sockets for another process are not ours", storage.get("/healthz").status, 200)
storage.stop()

# --- the manager ---

manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(path("notify"))
manager.settimeout(HANG_S)
storage = Storage(data=data, env={"NOTIFY_SOCKET": path("notify"), "WATCHDOG_USEC": "400000"})


def told(word):
    said = []
    while not any(word in line for line in said):
        said += manager.recv(4096).decode().splitlines()
    return said


same("ready", told("READY=1"), ["READY=1"])
for _ in range(3):
    said = told("WATCHDOG=1")
same("and alive, again and again", said, ["WATCHDOG=1"])
storage.kill(signal.SIGHUP)
said = [line for line in told("RELOADING=1") + told("READY=1") if "WATCHDOG" not in line]
true("a reload begins and ends", said[0] == "RELOADING=1" and said[-1] == "READY=1", said)
true("with its time, as the manager wants it",
     any(re.match(r"MONOTONIC_USEC=\d+$", line) for line in said), said)
storage.kill(signal.SIGTERM)
same("and the end", told("STOPPING=1")[-1], "STOPPING=1")
same("comes", storage.wait(), 0)
finish()
