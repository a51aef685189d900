#!/usr/bin/env python3
"""Reloads of the storage that go wrong: keys that are gone, files that are none, a disk that does
not answer. What was there stays, signals are heard, and the manager of the system is told. Prints
TAP.
"""
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from storage_lib import (HANG_S, Storage, address, bearer, finish, has, make_file, make_folder, mint,  # noqa: E402
                         path, refused, run, same, started, tap, true, until, weir)

data = path("data")
keys = os.path.join(data, "keys")
chunk = "/o/" + address(b"chunk")


def deletes(token):
    """Whether the token is known: what it deletes is not there."""
    return storage.ask("DELETE", chunk, headers=bearer(token)).status


# --- keys that are gone ---

storage = Storage(data=data)
true("a folder that is new gets a key without a word", "key" not in storage.log(), storage.log())
token = mint(data, "--scope", "delete")
same("its tokens are known", deletes(token), 404)
os.rename(keys, path("away"))
said = storage.reload()
has("a folder that is gone is told, and leaves all as it was", said,
    "stays as it was: '.*keys': there is no such folder: the keys of before are kept\n$")
true("none is made", not os.path.exists(keys))
same("tokens are known as before", deletes(token), 404)
os.mkdir(keys, 0o700)
has("so is one that is empty", storage.reload(), "stays as it was: '.*keys': there is no key in it: the keys of before")
same("in which none is made", os.listdir(keys), [])
same("tokens are known as ever", deletes(token), 404)
os.rmdir(keys)
os.rename(path("away"), keys)
has("when they are back it is reloaded", storage.reload(), "reloaded: 0 keys changed")
same("nobody else may ask for it", storage.ask("POST", "/admin/reload", headers=bearer(token)).status, 403)
admin = bearer(mint(data, "--scope", "admin"))
answer = storage.ask("POST", "/admin/reload", headers=admin)
same("a request does the same", (answer.status, answer.json), (200, {"status": "reloaded"}))
os.rename(keys, path("away"))
answer = storage.ask("POST", "/admin/reload", headers=admin)
same("and is told what is wrong", (answer.status, "there is no such folder" in answer.json["message"]), (422, True))
os.rename(path("away"), keys)
same("the end", storage.stop(), 0)
os.rename(keys, path("away"))
storage = Storage(data=data)
same("a start makes a key where there was a store", len(os.listdir(keys)), 1)
same("and says so in a line", sum("there was no key in '" + keys in line for line in storage.log().splitlines()), 1)
same("tokens of the old ones are not known", deletes(token), 401)
same("the end of that", storage.stop(), 0)
shutil.rmtree(keys)
os.rename(path("away"), keys)

# --- files that are none ---

status, _, err = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-days", "2", "-subj", "/CN=localhost", "-keyout", path("key"), "-out", path("cert"))
assert status == 0, err
file = make_file("weir.toml", "")
os.mkfifo(path("pipe"))
words = ("--config", file, "--set", "tls.cert=" + path("cert"), "--set", "tls.key=" + path("key"))
storage = Storage(*words, data=data)
for name in ("cert", "key", "weir.toml"):
    os.rename(path(name), path("kept"))
    os.symlink(path("pipe"), path(name))
    has(f"a pipe for {name} is refused, and nobody waits for it", storage.reload(), "not a regular file.*stays as it was|"
        "stays as it was: .*not a regular file")
    os.rename(path("kept"), path(name))
make_file("weir.toml", 'drain_deadline = "9s"\n[server]\nbacklog = 8192\n')
os.rename(path("cert"), path("kept"))
make_file("cert", "none")
said = storage.reload()
has("a certificate that is none leaves the rest as it was, too", said, "the configuration stays as it was: ")
same("and nothing else is told", said.count("\n"), 1)
os.rename(path("kept"), path("cert"))
has("with the certificate the rest counts", storage.reload(),
    'drain_deadline is "9s" now, and was "5s"\n.*server.backlog stays 4096 until a restart.*reloaded: 1 keys')
make_file("weir.toml", "")
only = os.path.join(keys, os.listdir(keys)[0])
os.rename(only, path("kept"))
os.mkfifo(only)
has("so is one for a key", storage.reload(), "stays as it was: .*not a file")
os.remove(only)
os.rename(path("kept"), only)
has("then all is well", storage.reload(), "reloaded")
same("the end of these", storage.stop(), 0)
for name in ("cert", "key"):
    result, said = refused("--set", "tls.cert=" + path("cert"), "--set", "tls.key=" + path("key"),
                           "--set", f"tls.{name}=" + path("pipe"), data=data)
    same(f"with a pipe for the {name} it does not start", (result, "not a regular file" in said), (2, True))
os.mkfifo(os.path.join(data, "quotas"))
result, said = refused(data=data)
same("nor with one for its quotas", (result, said.count("\n")), (2, 1))
has("which is told", said, "'quotas' in '.*data' is not a file: take it away")
os.remove(os.path.join(data, "quotas"))

# --- a disk that does not answer ---


class Manager:
    """What systemd would hear."""

    def __init__(self):
        self.end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.end.bind(path("notify"))
        self.end.settimeout(HANG_S)
        self.env = {"NOTIFY_SOCKET": path("notify"), "WATCHDOG_USEC": "1000000"}

    def wait_for(self, word):
        while word not in self.end.recv(4096).decode():
            pass


place, behind = make_folder("front"), make_folder("behind")
front = None
if os.getuid() == 0 and os.path.exists("/dev/fuse") and shutil.which("bindfs"):
    front = subprocess.Popen(["bindfs", "-f", behind, place], stderr=subprocess.DEVNULL)
    started.append(front)
    until(lambda: os.path.ismount(place) or front.poll() is not None, "the mount")
if front and front.poll() is None:
    try:
        manager = Manager()
        file = make_file("behind/weir.toml", "[server]\nmax_inflight = 100\n")
        storage = Storage("--config", os.path.join(place, "weir.toml"), "--set", "drain_deadline=1s", data=data,
                          env=manager.env)
        manager.wait_for("READY=1")
        os.kill(front.pid, signal.SIGSTOP)
        storage.kill(signal.SIGHUP)
        manager.wait_for("RELOADING=1")
        storage.wait_for_log("a reload takes more than 5 s: the disk .* does not answer")
        manager.wait_for("WATCHDOG=1")
        true("a reload that hangs is told, and the watchdog is fed", True)
        same("requests are served", storage.put(b"meanwhile").status, 201)
        make_file("behind/weir.toml", "[server]\nmax_inflight = 200\n")
        for _ in range(3):
            storage.kill(signal.SIGHUP)
            until(lambda: not int(next(line.split()[1] for line in open(f"/proc/{storage.pid}/status", encoding="ascii")
                                       if line.startswith("ShdPnd")), 16), "the signal to be taken")
        os.kill(front.pid, signal.SIGCONT)
        storage.wait_for_log("reloaded: ", 2)
        same("those that came meanwhile are one more", storage.reload().count("reloaded: "), 1)
        same("and no other", storage.log().count("reloaded: "), 3)
        same("it is told once", storage.log().count("a reload takes"), 1)
        admin = bearer(mint(data, "--scope", "admin"))
        os.kill(front.pid, signal.SIGSTOP)
        answer = storage.ask("POST", "/admin/reload", headers={**admin, "X-Deadline-Ms": "300"})
        same("a request waits for as long as its client does", answer.status, 504)
        storage.wait_for_log("a reload takes", 2)
        storage.kill(signal.SIGTERM)
        storage.wait_for_log("the disk does not answer: leaving without what waits for it")
        os.kill(front.pid, signal.SIGCONT)
        same("SIGTERM ends it all the same, and the status tells", storage.wait(), 3)
        has("so does the log", storage.log(), "1 threads aborted, 1 of them left behind")
        storage = Storage(data=data)
        same("nothing is lost by that", storage.get("/o/" + address(b"meanwhile")).body, b"meanwhile")
        same("the end of all", storage.stop(), 0)
    finally:
        os.kill(front.pid, signal.SIGCONT)
        subprocess.run(["umount", "-l", place], stderr=subprocess.DEVNULL, check=False)
else:
    tap.skip("a disk that does not answer", "no FUSE")
finish()
