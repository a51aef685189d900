"""Several nodes of the index and a network that is against them.

    network = Network()             a network namespace of its own, with a bridge in it
    place = network.host()          a namespace with an address on that bridge; place.before, place.ip
    place.cut(), place.heal()       its cable
    node = Node("dht.alpha=1", place=place)     weir index, there or on the loopback
    fake = Fake(rule)               a sibling that does as a function tells it, and counts
    keys = Keys()                   signed records, of keys that are made from a number

Whatever is started here dies with the test, however that ends: namespaces have no names, they are held
by a process, and are gone with it.
"""
import asyncio
import base64
import collections
import ctypes
import http.client
import json
import os
import random
import struct
import subprocess
import threading
import time

from index_lib import Source, die_with_parent, libc, spawn
from storage_lib import HANG_S, Answer, Storage, address, exchange, path, started, tap, until

CLONE_NEWNET = 0x40000000
IS_LONG = os.environ.get("WEIR_LONG") == "1"
SEED = int(os.environ.get("WEIR_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
chance = random.Random(SEED)
print(f"# WEIR_SEED={SEED}", flush=True)


# --- namespaces ---

def can_make_networks():
    """Whether this process may have namespaces: it must be root, and not in a sandbox."""
    if os.geteuid() != 0:
        return False
    done = subprocess.run(["unshare", "-n", "ip", "link", "add", "name", "b", "type", "bridge"], check=False,
                          capture_output=True)
    return done.returncode == 0


def ip(*words):
    subprocess.run(["ip", *[str(word) for word in words]], check=True, capture_output=True)


class Network:
    """Takes this process into a new namespace, so that nothing outside is touched or reached."""

    def __init__(self):
        ctypes.set_errno(0)
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError("unshare")
        ip("link", "set", "lo", "up")
        ip("link", "add", "name", "bridge", "type", "bridge", "stp_state", "0", "forward_delay", "0")
        ip("addr", "add", "10.77.0.1/24", "dev", "bridge")
        ip("link", "set", "bridge", "up")
        self.hosts = []

    def host(self):
        place = Host(len(self.hosts) + 2)
        self.hosts.append(place)
        return place


class Host:
    def __init__(self, number):
        self.ip = f"10.77.0.{number}"
        self.cable = f"cable{number}"
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"], preexec_fn=die_with_parent)
        started.append(self.holder)
        inside = f"/proc/{self.holder.pid}/ns/net"
        until(lambda: os.readlink(inside) != os.readlink("/proc/self/ns/net"), "a namespace")
        self.before = ["nsenter", f"--net={inside}"]
        ip("link", "add", "name", self.cable, "type", "veth", "peer", "name", "inner" + str(number))
        ip("link", "set", "inner" + str(number), "netns", self.holder.pid)
        ip("link", "set", self.cable, "master", "bridge", "up")
        for words in (("link", "set", "lo", "up"), ("link", "set", "inner" + str(number), "up"),
                      ("addr", "add", self.ip + "/24", "dev", "inner" + str(number))):
            subprocess.run([*self.before, "ip", *words], check=True, capture_output=True)

    def cut(self):
        """Nothing comes in or goes out; what runs there goes on."""
        ip("link", "set", self.cable, "down")

    def heal(self):
        ip("link", "set", self.cable, "up")


# --- nodes of the index ---

class Node(Storage):
    """weir index. settings: KEY=VALUE; place: a Host; without data it keeps all in memory."""

    service = "index"

    def __init__(self, *settings, data=None, place=None, words=(), port=0, **options):
        given = [*words]
        for setting in settings:
            given += ["--set", setting]
        if data is None:
            given.append("--amnesia")
        self.host = place.ip if place else "127.0.0.1"
        self.place = place
        if place:
            given += ["--set", "server.open=true"]
            options["before"] = place.before
        super().__init__(*given, data=data, listen=(f"{self.host}:{port}",), **options)

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    def connect(self, timeout=HANG_S):
        """From where it is, when that is a place of its own: its cable may be cut."""
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(self, method, target, body=None, headers=None):
        if self.place:
            return self.ask_there(method, target, body, headers)
        return super().ask(method, target, body, headers)

    def ask_there(self, method, target, body=None, headers=None):
        words = [*self.place.before, "curl", "-sS", "-i", "-m", str(HANG_S), "--http1.1", "-X", method,
                 f"{self.url}{target}"]
        for name, value in (headers or {}).items():
            words += ["-H", f"{name}: {value}"]
        if body is not None:
            words += ["--data-binary", "@-", "-H", "Expect:"]
        done = subprocess.run(words, input=(body or "").encode(), capture_output=True, timeout=HANG_S, check=False)
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        if done.returncode != 0 or not lines[0]:
            return Answer(0, [], done.stderr)
        fields = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]]
        return Answer(int(lines[0].split()[1]), fields, rest)

    def resolve(self, what, **headers):
        return self.get("/resolve/" + what, **headers)

    def sequence(self, name):
        """Of the record that it tells for a name; 0: it tells none."""
        answer = self.resolve(name)
        return sequence_of(answer.json["record"]) if answer.status == 200 else 0

    def publish(self, target, record, **more):
        return self.ask("PUT", target, json.dumps({"record": record, **more}),
                        {"Content-Type": "application/json"})

    def put_name(self, name, record):
        return self.publish("/names/" + name, record)

    def metrics(self):
        numbers = {}
        for line in self.get("/metrics").body.decode().splitlines():
            if line and line[0] != "#":
                name, _, value = line.rpartition(" ")
                numbers[name] = float(value)
        return numbers

    def number(self, name, **labels):
        """The sum of a metric over what the labels leave open."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        return sum(value for key, value in self.metrics().items()
                   if key.split("{")[0] == name and all(word in key for word in wanted))


# --- records ---

def url64(content):
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def bytes_of(record):
    return base64.urlsafe_b64decode(record + "=" * (-len(record) % 4))


def sequence_of(record):
    return struct.unpack(">Q", bytes_of(record)[36:44])[0]


class Keys:
    def __init__(self):
        self.tool = Source("sibling", "http://127.0.0.1:9")
        self.ids = {}

    def id(self, seed):
        if seed not in self.ids:
            self.ids[seed] = self.tool.say(f"id {seed}")
        return self.ids[seed]

    def name(self, label, seed):
        return f"{label}@{self.id(seed)}"

    def named(self, label, seed, sequence, life=3600):
        return url64(base64.b64decode(self.tool.say(f"record name {label} {seed} {sequence} {life}")))

    def bare(self, label, seed, sequence, life=3600):
        """Of a name that is a label alone."""
        return url64(base64.b64decode(self.tool.say(f"record bare {label} {seed} {sequence} {life}")))

    def provided(self, what, seed, sequence, url, life=3600):
        return url64(base64.b64decode(self.tool.say(f"record provider {what} {seed} {sequence} {life} {url}")))

    def dht_key(self, what, part=0):
        return self.tool.say(f"key {part} {what}")


def meaning_of(sequence):
    """What the name of a record of this sequence means: the tool has it so."""
    return address(str(sequence).encode())


# --- siblings that are none ---

Reply = collections.namedtuple("Reply", "body status delay", defaults=(None, 200, 0.0))
NOTHING = Reply(b'{"error":"NotFound","message":"nothing","corr_id":"0"}', 404)
NEVER = Reply(delay=float("inf"))


def knows_name(record, **more):
    return Reply(json.dumps({"record": record, "providers": []}).encode(), **more)


def knows_providers(*records, **more):
    return Reply(json.dumps({"providers": [{"record": record} for record in records]}).encode(), **more)


class Fake:
    """rule(path) is a Reply. asked: paths in their order; left: questions whose asker went before there
    was an answer."""

    def __init__(self, rule, host="127.0.0.1", port=0):
        self.rule = rule
        self.asked, self.left, self.connections = [], [], 0
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self.serve, args=(ready, host, port), daemon=True)
        self.thread.start()
        ready.wait(10)

    def serve(self, ready, host, port):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(
            asyncio.start_server(self.accept, host, port, backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        ready.set()
        self.loop.run_forever()

    async def accept(self, reader, writer):
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await self.answer(head, reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError, OSError):
            pass
        finally:
            writer.close()

    async def answer(self, head, reader, writer):
        """Its asker sends nothing behind a question, so what can be read before the answer is the end."""
        target = head.split(b" ", 2)[1].decode()
        self.asked.append(target)
        reply = self.rule(target) or NOTHING
        if reply.delay > 0:
            seconds = None if reply.delay == float("inf") else reply.delay
            try:
                await asyncio.wait_for(reader.read(1), seconds)
                self.left.append(target)
                raise ConnectionError
            except asyncio.TimeoutError:
                pass
        body = reply.body or b""
        writer.write(b"HTTP/1.1 %d Said\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                     % (reply.status, len(body), body))
        await writer.drain()

    def count(self, target):
        return self.asked.count(target)

    def close(self):
        def end():
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.loop.call_later(0.05, self.loop.stop)
        self.loop.call_soon_threadsafe(end)
        self.thread.join(10)


# --- many at once ---

def at_once(count, question, items):
    """question(item) for each, by so many threads; the answers in the order of items."""
    items = list(items)
    answers = [None] * len(items)
    numbers = iter(range(len(items)))
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            answers[number] = question(items[number])

    threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S * 4)
    return answers


def timed(question):
    """(answer, seconds)"""
    began = time.monotonic()
    answer = question()
    return answer, time.monotonic() - began


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


__all__ = ["IS_LONG", "SEED", "NEVER", "NOTHING", "Fake", "Host", "Keys", "Network", "Node", "Reply", "at_once",
           "bytes_of", "can_make_networks", "chance", "exchange", "knows_name", "knows_providers", "meaning_of",
           "path", "percentile", "sequence_of", "spawn", "tap", "timed", "url64"]
