#!/usr/bin/env python3
"""Keys of the index that no other test sees at work: each is given two values, and the service does two
different things. What needs a restart is told by a reload. Prints TAP.
"""
import base64
import http.server
import json
import os
import shutil
import socket
import socketserver
import sys
import threading
import time

sys.dont_write_bytecode = True
from index_lib import Etcd, has_etcd, text64  # noqa: E402
from index_service import Index, Keys, Sibling  # noqa: E402
from storage_lib import (HANG_S, Storage, address, bearer, finish, has, is_envelope, make_file, mint,  # noqa: E402
                         path, read_all, run, same, tap, true, until, weir)

keys = Keys()
PATIENT = ("dht.tries=1", "dht.deadline_ms=60000")


def names(word, count, first=0):
    """(path, record) of each."""
    key = keys.id(1)
    return [(f"/names/{word}{i}@{key}", keys.of_name(f"{word}{i}", 1, 1)) for i in range(first, first + count)]


def wait_for(seconds):
    """For what is about time itself."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end, "the time")


# --- breakers ---

def breaker(index, source):
    numbers = index.metrics()
    label = f'target="sibling {source.url[7:]}"'
    return next(s for s in ("closed", "open", "half_open") if numbers['breaker_state{state="%s",%s}' % (s, label)])


def look_up(index, source, statuses, word):
    """A lookup for each of these answers of the source, of names that nobody has asked for."""
    for number, status in enumerate(statuses):
        source.status = status
        index.resolve(keys.name(f"{word}{number}", 1))


source = Sibling()
for share, wanted in (("0.3", "open"), ("0.7", "closed")):
    index = Index(f"siblings.nodes={source.url}", f"breaker.trip_threshold={share}", "breaker.calls_min=10",
                  "breaker.cooldown_s=3600", "breaker.error_window_s=3600", *PATIENT)
    look_up(index, source, [200] * 5 + [500] * 4, "early")
    same("nothing is decided below calls_min", breaker(index, source), "closed")
    look_up(index, source, [500], "last")
    same(f"when half of the calls fail, and trip_threshold is {share}", breaker(index, source), wanted)
    index.stop()

brief, long = (Index(f"siblings.nodes={source.url}", f"breaker.error_window_s={window}", "breaker.calls_min=4",
                     "breaker.cooldown_s=3600", *PATIENT) for window in (1, 3600))
for index in (brief, long):
    look_up(index, source, [500] * 3, "first")
same("three failures are too few", (breaker(brief, source), breaker(long, source)), ("closed", "closed"))
wait_for(2)
for index in (brief, long):
    look_up(index, source, [500], "fourth")
same("the fourth counts with those of error_window_s", (breaker(brief, source), breaker(long, source)),
     ("closed", "open"))
brief.stop()
long.stop()
source.close()


# --- what is told to the DHT ---

class Proxy:
    """The REST proxy of a DHT that forgets at once: when what was put where."""

    def __init__(self):
        self.puts, self.lock = [], threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.tell(b"")

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with outer.lock:
                    outer.puts.append((time.monotonic(), self.path))
                self.tell(body)

            def tell(self, body):
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def places(self):
        with self.lock:
            return {place for _, place in self.puts}


def publish(index, word, count):
    for place, record in names(word, count):
        assert index.publish(place, record).status == 201


proxy = Proxy()
file = make_file("rate.toml", "[dht]\npublish_rate = 1\n")
index = Index(f"dht.proxies={proxy.url}", words=["--config", file])
before = time.monotonic()
publish(index, "paced", 3)
until(lambda: len(proxy.puts) >= 3, "what is told to the DHT")
seconds = [round(at - before, 2) for at, _ in proxy.puts[:3]]
true("publish_rate: of one a second the third waits for two", seconds[1] >= 0.95 and seconds[2] >= 1.95, seconds)
publish(index, "many", 100)
make_file("rate.toml", "[dht]\npublish_rate = 1000\n")
has("it can change", index.reload(), "dht.publish_rate is 1000 now")
until(lambda: len(proxy.places()) >= 103, "what would have taken 100 seconds")
true("and counts for those in line", True)
index.stop()

proxy.puts.clear()
index = Index(f"dht.proxies={proxy.url}", "dht.publish=false")
publish(index, "kept", 3)
same("without dht.publish nobody tells", index.metrics().get('tasks_spawned_total{kind="publish"}', 0), 0)
index.stop()
same("and nothing is told", proxy.puts, [])

if has_etcd():
    etcd = Etcd(1)

    def in_etcd(prefix):
        """Keys there, without the prefix."""
        found = etcd.call(0, "kv/range", key=text64(prefix), range_end=text64(prefix[:-1] + "0"), keys_only=True)
        return sorted(base64.b64decode(one["key"]).decode()[len(prefix):] for one in found.get("kvs", []))

    etcd_words = f"etcd.endpoints={etcd.urls[0]}"
    index = Index(f"dht.proxies={proxy.url}", "dht.publish=false", etcd_words, "etcd.prefix=mine/")
    publish(index, "told", 2)
    wanted = [f"n/told{i}@{keys.id(1)}" for i in range(2)]
    until(lambda: in_etcd("mine/") == wanted, "the names in etcd")
    true("etcd.prefix is what keys there begin with", True)
    same("and no other", in_etcd("weir/"), [])
    same("without dht.publish etcd alone is told", proxy.puts, [])
    index.stop()
    same("who has another prefix does not find them", [
        (lambda node: (node.resolve("told0@" + keys.id(1)).status, node.stop())[0])(
            Index(etcd_words, f"etcd.prefix={prefix}", *PATIENT)) for prefix in ("mine/", "other/")], [200, 404])
    etcd.close()
else:
    tap.skip("etcd.prefix", "etcd is not installed")
for prefix in ("", "a b/", "x" * 65):
    made = make_file("prefix.toml", f"[etcd]\nprefix = \"{prefix}\"\n")
    status, _, err = run(os.environ["WEIR"], "config", "check", "--service", "index", made)
    true(f"a prefix of {len(prefix)} bytes that is none is refused with its place", status == 2 and
         "prefix.toml:2: etcd.prefix" in err, err)


# --- requests at once ---

def busy(answer):
    return answer.status == 429 and is_envelope(answer, "Busy") and int(answer["Retry-After"]) >= 1


def in_use(index, budget):
    return index.metrics()['weir_budget_in_use{budget="%s"}' % budget]


def at_once(index, publications):
    """All of them are published by clients that begin together; the answers."""
    answers, barrier = [], threading.Barrier(len(publications))

    def work(place, record):
        barrier.wait(HANG_S)
        answers.append(index.publish(place, record))

    threads = [threading.Thread(target=work, args=one) for one in publications]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)
    return answers


def brought(turn, is_name):
    """Sixteen things to publish, of which each waits for the disk."""
    if is_name:
        return names(f"turn{turn}-", 16)
    return [("/providers/" + chunk, keys.of_provider(chunk, turn, i + 1, "http://192.0.2.1:8470"))
            for i in range(16) for chunk in ["b3:%064x" % (turn * 16 + i)]]


file = make_file("publish.toml", "[index]\npublish_max = 1\n")
index = Index(words=["--config", file], data=path("publish"))
turn = 0
for is_name, what in ((True, "a name"), (False, "a provider")):
    answers = []
    while not any(answer.status == 429 for answer in answers) and turn < 500:
        turn += 1
        answers = at_once(index, brought(turn, is_name))
    refused = [answer for answer in answers if answer.status != 201]
    true(f"publish_max: {what} that comes beside another is refused", refused and all(map(busy, refused)), answers)
    same("and others are not", len(refused) < len(answers), True)
true("which is counted", index.metrics()['busy_rejections_total{route="publish"}'] >= 1, index.metrics())
same("who reads has other limits", (index.get("/names").status, index.resolve("x@" + keys.id(1)).status), (200, 404))
make_file("publish.toml", "[index]\npublish_max = 64\n")
has("it can change", index.reload(), "index.publish_max is 64 now")
statuses = [answer.status for i in range(10) for answer in at_once(index, brought(turn + 1 + i, i % 2 == 0))]
same("then there is room for all of them", set(statuses), {201})
index.stop()

file = make_file("list.toml", "[index]\nlist_max = 1\n")
index = Index("write_timeout=10m", "server.min_rate=0", words=["--config", file])
connection, key = index.connect(), keys.id(1)
for number in range(1000):
    label = f"{'long-' * 24}{number}"
    connection.request("PUT", f"/names/{label}@{key}", json.dumps({"record": keys.of_name(label, 1, 1)}))
    response = connection.getresponse()
    assert response.status == 201, response.read()
    response.read()
connection.close()


def hold_list(index):
    """A list that nobody takes: it is longer than what the system keeps for such a connection."""
    end = socket.socket()
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    end.settimeout(HANG_S)
    end.connect(("127.0.0.1", index.port))
    end.sendall(b"GET /names?limit=1000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert end.recv(12) == b"HTTP/1.1 200"
    return end


end = hold_list(index)
same("a list that is not taken is at work", in_use(index, "list"), 1)
answer = index.get("/names")
true("list_max: one more is refused", busy(answer), answer)
same("who publishes is not", index.publish(*names("beside", 1)[0]).status, 201)
make_file("list.toml", "[index]\nlist_max = 2\n")
has("it can change", index.reload(), "index.list_max is 2 now")
same("with two there is room", index.get("/names").status, 200)
read_all(end)
end.close()
until(lambda: in_use(index, "list") == 0, "the end of the list")
index.stop()

# --- room for records ---
data = path("full")
status, _, err = run(os.environ["RECORDS_WRITER"], data, "--fill")
assert status == 0, err
for size, wanted in (("16MiB", 507), ("32MiB", 201)):
    index = Index(f"index.map_bytes={size}", data=data)
    answer = index.publish(*names("more", 1)[0])
    same(f"what is full with 16MiB has with {size}", answer.status, wanted)
    if wanted == 507:
        true("which is told", is_envelope(answer, "NoSpace") and "index.map_bytes" in answer.json["message"], answer)
    same("as it is told to who scrapes", index.metrics()["index_records_room_bytes"], int(size[:-3]) << 20)
    index.stop()

# --- quotas in bytes ---
data = path("quota")
weir("token", "mint", "--data", data)
publications = names("q", 4)
size = len(publications[0][1]) * 3 // 4
file = make_file("quota.toml", f"[quotas]\nbytes_per_token = {2 * size + 1}\n")
index = Index(f"tokens.keys={data}/keys", words=["--config", file], data=data)
writes, others = bearer(mint(data, "--scope", "write")), bearer(mint(data, "--scope", "write"))
got = [index.publish(*one, headers=writes) for one in publications[:3]]
same("bytes_per_token: as many as fit", [one.status for one in got], [201, 201, 403])
true("with the numbers", is_envelope(got[2], "Forbidden") and f"{2 * size} of {2 * size + 1} bytes" in
     got[2].json["message"], got[2])
same("which is counted", index.metrics()['quota_refused_total{reason="bytes"}'], 1)
same("what takes the place of a record costs nothing",
     index.publish(publications[0][0], keys.of_name("q0", 1, 2), headers=writes).status, 200)
same("another token has its own", index.publish(*publications[2], headers=others).status, 201)
index.stop()
index = Index(f"tokens.keys={data}/keys", words=["--config", file], data=data)
same("it is kept over a restart", index.publish(*publications[3], headers=writes).status, 403)
make_file("quota.toml", f"[quotas]\nbytes_per_token = {3 * size}\n")
has("it can change", index.reload(), 'quotas.bytes_per_token is "[0-9]+B" now')
same("from the next record on", index.publish(*publications[3], headers=writes).status, 201)
index.stop()

# --- where providers may be ---
provider, chunk = Sibling(), address(b"elsewhere")
file = make_file("networks.toml", "[providers]\nnetworks = []\n")
index = Index("cache.ttl=1ms", words=["--config", file])
assert index.publish("/providers/" + chunk, keys.of_provider(chunk, 1, 1, provider.url)).status == 201
until(lambda: index.get("/providers/" + chunk).status == 200 and index.metrics()["index_probes_failed_total"] == 1,
      "a probe")
same("a provider on this machine is not connected to", provider.asked, [])
networks = json.dumps([f"10.{i}.0.0/16" for i in range(63)] + ["127.0.0.0/8"])
make_file("networks.toml", f"[providers]\nnetworks = {networks}\n")
has("providers.networks can change", index.reload(), "providers.networks is .*127.0.0.0/8.* now")
until(lambda: index.get("/providers/" + chunk).status == 200 and index.metrics()["index_probes_total"] == 1,
      "a probe that is answered")
same("then it is, though its network is the last of 64", [target for _, target in provider.asked], ["/healthz"])
index.stop()
provider.close()

# --- what needs a restart ---
# Of each such key another value than its default.
RESTART = f"""
listen = ["127.0.0.1:1"]
data = "{path('elsewhere')}"
[server]
max_conns = 100
acceptors = 3
backlog = 5000
body_max = "512KiB"
body_memory = "32MiB"
head_max = "8KiB"
trusted_proxies = ["10.0.0.0/8"]
unix_mode = "0600"
open = true
[tls]
cert = "{path('cert')}"
key = "{path('key')}"
[tokens]
required = "never"
keys = "{path('token-keys')}"
[queues]
work = 100
events = 100
[ratelimit]
table = 1024
[audit]
enabled = true
file = "{path('audit')}"
[index]
workers = 9
map_bytes = "1GiB"
[dht]
proxies = ["http://127.0.0.1:2"]
publish = false
[siblings]
nodes = ["http://127.0.0.1:3"]
token_file = "{path('token')}"
ca_file = "{path('ca')}"
[etcd]
endpoints = ["http://127.0.0.1:4"]
prefix = "mine/"
ca_file = "{path('ca')}"
[breaker]
error_window_s = 31
trip_threshold = 0.6
cooldown_s = 11
half_open_probes = 4
calls_min = 11
[cache]
warmup_keys = ["team/site"]
[names]
prefixes = ["team={keys.id(1)}"]
[amnesia]
enabled = true
max_bytes = "32MiB"
"""


class Plain(Index):
    """With nothing but a file."""

    def __init__(self, file):
        Storage.__init__(self, "--config", file, listen=(), activated=1)


# Files are looked at as a start would, so they are there.
status, _, err = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-days", "2", "-subj", "/CN=localhost", "-keyout", path("key"), "-out", path("cert"))
assert status == 0, err
shutil.copy(path("cert"), path("ca"))
make_file("token", weir("token", "mint", "--keys", path("token-keys")))
plain = f"listen = [\"127.0.0.1:0\"]\ndata = \"{path('plain')}\"\n"
file = make_file("restart.toml", plain)
index = Plain(file)
make_file("restart.toml", RESTART)
log = index.reload()
rows = json.loads(run(os.environ["WEIR"], "config", "keys", "--service", "index", "--json")[1])
wanted = [row["key"] for row in rows if not row["reload"]]
same("every key that needs a restart is told, with what stays and what the file says",
     [key for key in wanted if not any(f"{key} stays " in line and " until a restart; the file says " in line
                                       for line in log.splitlines())], [])
has("none of them has changed", log, "reloaded: 0 keys changed")
same("nor is any other told so", log.count(" until a restart"), len(wanted))
same("it serves on", (index.get("/names").status, index.metrics()['weir_queue_capacity{queue="work"}']), (200, 512))
make_file("restart.toml", plain)
true("and says nothing when the file is as it was", "until a restart" not in index.reload())
index.stop()
finish()
