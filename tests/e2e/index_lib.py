"""Real ends for the sources of the index: nodes of OpenDHT, members of an etcd, sources at work.

All of them listen on free ports of the loopback and die with the process that started them, stopped
or not. Waiting is by until() of storage_lib; nothing sleeps for a result.

    dht = Dht(8)                    dht.proxies[0] is a URL; dht.put(), dht.get() speak with it by hand
    dht.signal(3, signal.SIGSTOP)   dht.kill(3)   dht.start(3)
    etcd = Etcd(3)                  etcd.urls; etcd.leader(); etcd.kill(0); etcd.start(0)
    source = Source("dht", url)     source.say("ask 1200 NAME") and so on, as index_source.c has it
    DelayProxy([...])               of tests/tools/delay_proxy.py
"""
import base64
import ctypes
import http.client
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))

from delay_proxy import DelayProxy  # noqa: E402 pylint: disable=wrong-import-position,unused-import
from storage_lib import HANG_S, make_folder, path, started, until  # noqa: E402

INDEX_SOURCE = os.environ.get("INDEX_SOURCE", "index-source")
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)


def has_dht():
    return shutil.which("dhtnode") is not None


def has_etcd():
    return shutil.which("etcd") is not None


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def spawn(words, log, **options):
    with open(path(log), "ab") as file:
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=file, preexec_fn=die_with_parent, **options)
    started.append(process)
    return process


def free_ports(count):
    """Ports that nobody had just now, for TCP and UDP, all different."""
    ends, ports = [], []
    while len(ports) < count:
        tcp = socket.socket()
        tcp.bind(("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        ends += [tcp, udp]
        try:
            udp.bind(("127.0.0.1", tcp.getsockname()[1]))
            ports.append(tcp.getsockname()[1])
        except OSError:
            pass
    for end in ends:
        end.close()
    return ports


def ask(url, method, target, body=None, timeout=HANG_S):
    """(status, body), or (0, why) when there was no answer."""
    place = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=timeout)
    try:
        connection.request(method, target, body=body)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException) as why:
        return 0, str(why).encode()
    finally:
        connection.close()


class Many:
    """Processes that are started, stopped, killed and started again by their number."""

    def __init__(self):
        self.processes = {}

    def signal(self, number, what):
        os.kill(self.processes[number].pid, what)

    def kill(self, number):
        process = self.processes.pop(number)
        process.kill()
        process.wait(HANG_S)

    def close(self):
        for number in list(self.processes):
            self.kill(number)


class Dht(Many):
    """count nodes of OpenDHT; the first proxies_count of them have a REST proxy. place: words before
    the command, as ip netns exec NAME."""

    def __init__(self, count=8, proxies_count=3, is_awaited=True, place=()):
        super().__init__()
        ports = free_ports(count + proxies_count)
        self.ports, proxy_ports = ports[:count], ports[count:]
        self.proxy_ports = proxy_ports
        self.proxies = [f"http://127.0.0.1:{port}" for port in proxy_ports]
        self.place = list(place)
        for number in range(count):
            self.start(number)
        if is_awaited:
            self.wait()

    def start(self, number):
        words = [*self.place, "dhtnode", "-p", self.ports[number], "-s"]
        if number > 0 or 1 in self.processes:
            words += ["-b", f"127.0.0.1:{self.ports[1 if number == 0 else 0]}"]
        if number < len(self.proxy_ports):
            words += ["--proxyserver", self.proxy_ports[number]]
        self.processes[number] = spawn(words, f"dht-{number}.log")

    def wait(self):
        """Until each proxy has put something, which it cannot alone, and the last one finds all."""
        for number, _ in enumerate(self.proxies):
            key = f"{number + 1:040x}"
            until(lambda: self.put(number, key, b"there")[0] == 200, f"proxy {number} of the DHT")
            until(lambda: self.get(-1, key), "a value in the DHT")

    def put(self, number, key, content, **more):
        """A value by hand, of any kind."""
        text = json.dumps({"data": base64.b64encode(content).decode(), **more})
        return ask(self.proxies[number], "POST", "/key/" + key, text)

    def get(self, number, key):
        """All values, as objects."""
        status, body = ask(self.proxies[number], "GET", "/key/" + key)
        return [json.loads(line) for line in body.splitlines()] if status == 200 else []


class Etcd(Many):
    """count members, each with a folder of its own, which start() finds again after kill()."""

    def __init__(self, count=3, is_awaited=True):
        super().__init__()
        ports = free_ports(2 * count)
        self.clients, self.peers = ports[:count], ports[count:]
        self.urls = [f"http://127.0.0.1:{port}" for port in self.clients]
        self.count = count
        for number in range(count):
            self.start(number)
        if is_awaited:
            self.wait()

    def start(self, number):
        cluster = ",".join(f"m{i}=http://127.0.0.1:{port}" for i, port in enumerate(self.peers))
        words = ["etcd", "--name", f"m{number}", "--data-dir", make_folder(f"etcd-{self.peers[0]}-{number}"),
                 "--listen-client-urls", self.urls[number], "--advertise-client-urls", self.urls[number],
                 "--listen-peer-urls", f"http://127.0.0.1:{self.peers[number]}",
                 "--initial-advertise-peer-urls", f"http://127.0.0.1:{self.peers[number]}",
                 "--initial-cluster", cluster, "--initial-cluster-state", "new",
                 "--initial-cluster-token", f"weir-{self.peers[0]}", "--heartbeat-interval", "100",
                 "--election-timeout", "1000", "--log-level", "error"]
        self.processes[number] = spawn(words, f"etcd-{number}.log",
                                       env={**os.environ, "ETCD_UNSUPPORTED_ARCH": "", "ETCDCTL_API": "3"})

    def wait(self):
        for number in self.processes:
            until(lambda: b"true" in ask(self.urls[number], "GET", "/health", timeout=5)[1],
                  f"member {number} of etcd")

    def leader(self):
        """The number of the member that leads; None while there is none."""
        for number in self.processes:
            status, body = ask(self.urls[number], "POST", "/v3/maintenance/status", "{}", timeout=5)
            said = json.loads(body) if status == 200 else {}
            if said.get("leader") and said["leader"] == said["header"]["member_id"]:
                return number
        return None

    def call(self, number, what, **fields):
        """/v3/WHAT with texts as base64."""
        status, body = ask(self.urls[number], "POST", "/v3/" + what, json.dumps(fields), timeout=10)
        return json.loads(body) if status == 200 else {}

    def set(self, number, key, content):
        return self.call(number, "kv/put", key=text64(key), value=text64(content))


def text64(content):
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


class Source:
    """A process with one source of the index, told what to do line by line."""

    def __init__(self, *words):
        self.process = subprocess.Popen([INDEX_SOURCE, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=die_with_parent, bufsize=0)
        started.append(self.process)
        self.lines = queue.Queue()
        self.changes = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            text = line.decode().rstrip("\n")
            if text.startswith("changed "):
                self.changes.append(text[8:])
            else:
                self.lines.put(text)
        self.lines.put(None)

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        said = self.lines.get(timeout=HANG_S)
        if said is None:
            raise RuntimeError(f"the source has ended: {self.process.wait(HANG_S)}")
        return said

    def name_of(self, label, seed):
        return label + "@" + self.say(f"id {seed}")

    def tell(self, line, ms=3000):
        """(name of the error, milliseconds)"""
        words = self.say(f"tell {ms} {line}").split()
        return words[0], float(words[1])

    def ask(self, what, ms=1200):
        words = self.say(f"ask {ms} {what}").split()
        return Reply(words[0], float(words[1]), int(words[2]), words[3:])

    def stats(self):
        return dict(word.split("=") for word in self.say("stats").split())

    def close(self):
        self.process.stdin.close()
        return self.process.wait(HANG_S)


class Reply:
    def __init__(self, error, ms, dropped, records):
        self.error, self.ms, self.dropped = error, ms, dropped
        self.records = [tuple(record.split(":", 2)) for record in records]

    def count(self, verdict):
        return sum(record[0] == verdict for record in self.records)

    def __repr__(self):
        return f"{self.error} {self.ms} ms, {self.dropped} dropped, {self.records}"
