#!/usr/bin/env python3
"""What the storage does when its folder cannot do what it should: full, read only, stuck, another's,
or none at all (amnesia). Needs root for mounts; without, those points are skipped. Prints TAP.
"""
import atexit
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from storage_lib import (MIB, Storage, address, bearer, children_of, fill_disk, finish, folder, has, is_envelope,  # noqa: E402
                         make_folder, mint, path, read_all, read_head, refused, run, same, tap, true, until, weir)

mounts = []
stuck = []  # processes that may stand still


def unmount(place):
    if place in mounts:
        mounts.remove(place)
        subprocess.run(["umount", "-l", place], stderr=subprocess.DEVNULL, check=False)


def unmount_all():
    for pid in stuck:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
    for place in reversed(list(mounts)):
        subprocess.run(["fsfreeze", "-u", place], stderr=subprocess.DEVNULL, check=False)
        unmount(place)


atexit.register(unmount_all)


def mount(*words):
    """False where that is not allowed."""
    if os.getuid() != 0 or run("mount", *words)[0] != 0:
        return False
    mounts.append(words[-1])
    return True


def put_until(status, content=lambda: os.urandom(MIB // 2)):
    """Uploads until an answer has this status; how many had another, and it."""
    for count in range(2000):
        answer = storage.put(content())
        if answer.status == status:
            return count, answer
        assert answer.status == 201, answer
    raise RuntimeError("never")


# --- a disk that is full ---

small = make_folder("small")
if mount("-t", "tmpfs", "-o", "size=16m", "none", small):
    data = os.path.join(small, "data")
    storage = Storage("--set", "store.segment_size=4MiB", "--set", "store.compact_rate=0", data=data)
    first = os.urandom(1000)
    storage.put(first)
    token = mint(data, "--scope", "delete")
    count, answer = put_until(507)
    true("a full disk refuses", count > 3 and is_envelope(answer, "NoSpace"), (count, answer))
    ready = storage.get("/readyz")
    same("it is told", (ready.status, ready.json["room"], ready.json["ready"]), (200, False, True))
    same("reads go on", storage.get("/o/" + address(first)).body, first)
    same("so does what is there already", storage.put(first).status, 200)
    same("health", storage.get("/healthz").status, 200)
    same("numbers tell it", storage.metrics()["store_writable"], 0)
    fill_disk(small)
    answer = storage.ask("DELETE", "/o/" + address(first), headers=bearer(token))
    same("a deletion is taken all the same", answer.status, 204)
    same("and is one", storage.get("/o/" + address(first)).status, 404)
    # More than the last page of a segment may have left.
    same("for anything else there is no room", storage.put(os.urandom(8192)).status, 507)
    os.unlink(os.path.join(small, "rest"))
    subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
    last = os.urandom(1000)
    same("when there is room again, it is used", storage.put(last).status, 201)
    same("and told", (storage.get("/readyz").json["room"], storage.metrics()["store_writable"]), (True, 1))
    same("the end", storage.stop(), 0)
    storage = Storage(data=data)
    same("nothing was lost", (storage.get("/o/" + address(first)).status, storage.get("/o/" + address(last)).body),
         (404, last))
    storage.stop()
    unmount(small)
else:
    tap.skip("a disk that is full", "no mounts")

# --- a folder that cannot be written ---

data = path("data")
storage = Storage(data=data)
content = os.urandom(100_000)
storage.put(content)
token = mint(data, "--scope", "delete")
result, said = refused(data=data)
same("a second process is refused", (result, said.count("\n")), (3, 1))
has("and says why", said, re.escape(data))
same("the first goes on", storage.get("/o/" + address(content)).status, 200)
same("the end of it", storage.stop(), 0)


def read_only(what, **options):
    global storage
    storage = Storage(**options)
    has(f"{what}: it is said", storage.log(), "cannot be written")
    same(f"{what}: reads work", storage.get("/o/" + address(content)).body, content)
    answer = storage.put(b"new")
    same(f"{what}: writes do not", (answer.status, is_envelope(answer, "ReadOnly"), answer["Retry-After"]), (503, True, "1"))
    same(f"{what}: what is there is there", storage.put(content).status, 200)
    ready = storage.get("/readyz").json
    same(f"{what}: and told", (ready["ready"], ready["writable"]), (True, False))
    same(f"{what}: the end", storage.stop(), 0)


shown = make_folder("shown")
if mount("--bind", data, shown):
    subprocess.run(["mount", "-o", "remount,ro,bind", shown], check=True)
    read_only("a mount", data=shown)
    unmount(shown)
else:
    tap.skip("a mount that is read only", "no mounts")
if os.getuid() == 0 and shutil.which("setpriv"):
    os.chmod(folder, 0o755)
    for place, _, names in os.walk(data):
        os.chmod(place, 0o755)
        for name in names:
            os.chmod(os.path.join(place, name), 0o644)
    os.chmod(os.path.join(data, "keys"), 0o700)
    read_only("another user", data=data, before=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    result, said = refused(data="/proc/1/nowhere")
    true("a folder that cannot be made", result in (2, 3) and said.count("\n") == 1, said)
make_folder("other")
with open(path("other/file"), "w", encoding="ascii") as file:
    file.write("not ours")
result, said = refused(data=path("other"))
true("a folder of something else is left alone", result in (2, 3) and os.listdir(path("other")) == ["file"],
     (result, said, os.listdir(path("other"))))

# --- a disk that does not come back ---

place = make_folder("stuck")
if (os.getuid() == 0 and shutil.which("fsfreeze") and run("truncate", "-s", "64M", path("image"))[0] == 0
        and run("mkfs.ext4", "-q", "-F", path("image"))[0] == 0 and mount("-o", "loop", path("image"), place)):
    data = os.path.join(place, "data")
    # In the index, and in no table of what was read.
    storage = Storage("--set", "store.segment_size=4MiB", data=data)
    cold = [os.urandom(MIB // 2) for _ in range(12)]
    for piece in cold:
        storage.put(piece)
    storage.stop()
    storage = Storage("--set", "store.pending_bytes=2MiB", "--set", "queues.work=4", data=data)
    storage.put(content)
    token = mint(data, "--scope", "delete")
    subprocess.run(["fsfreeze", "-f", place], check=True)
    found = [storage.get("/o/" + address(piece)).body == piece for piece in cold]
    true("what was not read before is found meanwhile", all(found), found)
    same("so is what is not there", storage.get("/o/" + address(b"nothing")).status, 404)
    late = os.urandom(1000)
    answer = storage.put(late, {"X-Deadline-Ms": "100"})
    same("a deadline that passes", (answer.status, is_envelope(answer, "Timeout")), (504, True))
    true("is counted", storage.metrics()["work_timeouts_total"] >= 1)
    answer = storage.ask("DELETE", "/o/" + address(cold[0]), None,
                         {"Authorization": "Bearer " + token, "X-Deadline-Ms": "100"})
    same("a deletion that is late", answer.status, 504)
    answer = storage.put(cold[0], {"If-None-Match": "*"})
    same("meanwhile nobody says that it is there", (answer.status, is_envelope(answer, "Transient")), (503, True))
    same("health answers meanwhile", [storage.get("/" + name).status for name in ("healthz", "readyz", "version")],
         [200] * 3)
    same("what is in memory is read", storage.get("/o/" + address(content)).body, content)
    statuses = {storage.put(os.urandom(MIB // 2), {"X-Deadline-Ms": "50"}).status for _ in range(16)}
    same("uploads are late or refused, none hangs", statuses, {504, 429})
    same("health answers still", storage.get("/healthz").status, 200)
    answer = until(lambda: (lambda answer: answer if answer.status == 503 else None)(storage.get("/readyz")), "the news")
    same("after a while it is not ready, for its disk", (answer.json["ready"], answer.json["disk"]), (False, False))
    same("numbers agree", storage.metrics()["store_writable"], 0)
    storage.wait_for_log("a write takes more than 10 s: the disk with the data does not answer")
    same("what is in memory is read all the same", storage.get("/o/" + address(content)).body, content)
    subprocess.run(["fsfreeze", "-u", place], check=True)
    until(lambda: storage.put(b"after").status in (200, 201), "the disk")
    same("when it comes back, all is well", storage.get("/o/" + address(b"after")).body, b"after")
    ready = until(lambda: (lambda answer: answer if answer.status == 200 else None)(storage.get("/readyz")), "the news")
    same("which is told", (ready.json["disk"], storage.metrics()["store_writable"]), (True, 1))
    same("it was said once", storage.log().count("does not answer"), 1)
    answer = storage.get("/o/" + address(late))
    true("what was late is there whole, or not at all", answer.status == 404 or answer.body == late, answer)
    subprocess.run(["fsfreeze", "-f", place], check=True)
    storage.put(os.urandom(1000), {"X-Deadline-Ms": "50"})
    storage.kill(signal.SIGTERM)
    storage.wait_for_log("not all was done in time|drained in")
    subprocess.run(["fsfreeze", "-u", place], check=True)
    true("a drain does not wait for it for ever", storage.wait() in (0, 3))
    storage = Storage(data=data)
    same("nothing that was told to last is lost", storage.get("/o/" + address(content)).body, content)
    same("the end of that", storage.stop(), 0)
    unmount(place)
else:
    tap.skip("a disk that is stuck", "no mounts")

# --- one that is not there for reading either: its file system is a process that stands still ---

place, behind = make_folder("front"), make_folder("behind")
CHUNKS = os.environ["CHUNKS"]
front = None
if os.getuid() == 0 and os.path.exists("/dev/fuse") and shutil.which("bindfs"):
    front = subprocess.Popen(["bindfs", "-f", behind, place], stderr=subprocess.DEVNULL)
    mounts.append(place)
    until(lambda: os.path.ismount(place) or front.poll() is not None, "the mount")
if front and front.poll() is None:
    server = front.pid
    stuck.append(server)
    data = os.path.join(place, "data")
    storage = Storage("--set", "drain_deadline=2s", data=data)
    content = os.urandom(1024 * 65536)
    with open(path("file"), "wb") as file:
        file.write(content)
    there = make_folder("file.chunks")
    root = run(CHUNKS, path("file"), there, "65536")[1].decode().split()[0]
    for name in os.listdir(there):
        with open(os.path.join(there, name), "rb") as file:
            storage.put(file.read(), name=name)
    same("a file system in front of the disk", storage.get("/f/" + root).body == content, True)
    same("its end", storage.stop(), 0)
    storage = Storage("--set", "drain_deadline=2s", data=data)
    with storage.socket() as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        end.sendall(f"GET /f/{root} HTTP/1.1\r\nHost: localhost\r\nX-Deadline-Ms: 3000\r\n\r\n".encode())
        head, rest = read_head(end)
        has("a long answer begins", head.decode(), "^HTTP/1.1 200 ")
        os.kill(server, signal.SIGSTOP)
        body = rest + read_all(end).removesuffix(b"(reset)")
    true("and is cut when the disk stands still", len(body) < len(content) and content.startswith(body), len(body))
    same("health answers", storage.get("/healthz").status, 200)
    os.kill(server, signal.SIGCONT)
    same("the disk goes on, and all is there", storage.get("/f/" + root).body == content, True)
    until(lambda: storage.metrics()['budget_in_use{budget="inflight"}'] == 0, "the end of what hung")
    os.kill(server, signal.SIGSTOP)
    same("an upload is late", storage.put(b"late", {"X-Deadline-Ms": "100"}).status, 504)
    storage.kill(signal.SIGTERM)
    storage.wait_for_log("the disk does not answer")
    os.kill(server, signal.SIGCONT)  # the kernel lets nobody go who waits for what was written
    same("a drain does not wait for the disk for ever, and says so", storage.wait(), 3)
    storage = Storage("--set", "drain_deadline=1s", data=data)
    with storage.socket() as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        end.sendall(f"GET /f/{root} HTTP/1.1\r\nHost: localhost\r\nX-Deadline-Ms: 60000\r\n\r\n".encode())
        read_head(end)
        os.kill(server, signal.SIGSTOP)
        threading.Thread(target=read_all, args=(end,), daemon=True).start()
        until(lambda: storage.metrics()['budget_in_use{budget="inflight"}'] == 1, "the one that hangs")
        storage.kill(signal.SIGTERM)

        def is_refused():
            try:
                storage.socket().close()
            except ConnectionRefusedError:
                return True
            return False

        true("who comes after the deadline is refused, and does not hang", until(is_refused, "a refusal"))
        true("though the service is there still", storage.process.poll() is None)
        os.kill(server, signal.SIGCONT)
    true("its end", storage.wait() in (0, 3))
    storage = Storage(data=data)
    same("nothing is lost by that", storage.get("/f/" + root).body == content, True)
    same("the end of this disk", storage.stop(), 0)
    unmount(place)
    front.wait(60)
else:
    tap.tell(True, "a disk that stands still # SKIP no FUSE")

# --- amnesia ---

empty = make_folder("empty")
keys = make_folder("ring") + "/keys"
weir("token", "rotate", "--data", path("ring"))
trace = path("trace")
before = ("strace", "-f", "-qq", "-e", "trace=openat,open,creat,mkdir,mkdirat,rename,renameat2,unlink,unlinkat,symlink,link",
          "-o", trace)
is_traced = shutil.which("strace") and run("strace", "-qq", "-o", path("probe"), "true")[0] == 0 and \
    os.environ.get("SANITIZED", "none") == "none"
storage = Storage("--amnesia", "--set", "amnesia.max_bytes=16MiB", "--set", f"tokens.keys={keys}", "--set",
                  "tokens.required=never", "--set", "store.compact_rate=0",
                  before=before if is_traced else (), env={"HOME": empty, "XDG_DATA_HOME": empty, "TMPDIR": empty})
pieces = {}


def keep():
    made = os.urandom(MIB // 2)
    pieces[address(made)] = made
    return made


count, answer = put_until(507, keep)
true("memory is full at its limit", 8 <= count <= 32 and is_envelope(answer, "NoSpace"), (count, answer))
same("and not the disk", answer.json["message"], "the memory of amnesia.max_bytes is used up")
storage.wait_for_log("PUT /o/\\S+ failed: the memory of amnesia.max_bytes is used up ")
true("in the log, too", "the disk is full" not in storage.log(), storage.log())
pieces.pop(next(reversed(pieces)))
same("which is told", storage.get("/readyz").json["room"], False)
true("all that went in can be read", all(storage.get("/o/" + name).body == made for name, made in pieces.items()))
token = bearer(mint(path("ring"), "--scope", "delete"))
for name in list(pieces)[:len(pieces) * 3 // 4]:
    assert storage.ask("DELETE", "/o/" + name, headers=token).status == 204
    del pieces[name]
fresh = os.urandom(MIB // 2)
until(lambda: storage.put(fresh).status in (200, 201), "room that deletions make")
same("what was deleted makes room", storage.get("/o/" + address(fresh)).body, fresh)
true("and the rest stays", all(storage.get("/o/" + name).body == made for name, made in pieces.items()))
pid = children_of(storage.pid)[0] if is_traced else storage.pid
held = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
files = [name for name in held if name.startswith("/") and not name.startswith(("/dev/", "/memfd:"))
         and os.path.basename(storage.log_name) not in name]
same("no file is open", files, [])
os.kill(pid, signal.SIGTERM)
same("the end of it all", storage.wait(), 0)
same("nothing was written where it could be", os.listdir(empty), [])
if is_traced:
    with open(trace, encoding="utf-8", errors="replace") as file:
        calls = file.read().splitlines()
    wrote = [line for line in calls if re.search(r"O_(WRONLY|RDWR|CREAT)|creat\(|mkdir|rename|unlink|link\(", line)
             and "/dev/null" not in line and " = -1 " not in line and "readlink" not in line]
    same("nothing was opened to be written", wrote, [])
storage = Storage("--amnesia")
same("and nothing is remembered", storage.get("/o/" + address(fresh)).status, 404)
same("the end of all", storage.stop(), 0)
finish()
