#!/usr/bin/env python3
"""What the storage tells about itself: metrics, judged by promtool and scraped by Prometheus; a line
for each request; the audit log. Prints TAP.
"""
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request

sys.dont_write_bytecode = True
from storage_lib import (HANG_S, Storage, address, bearer, finish, has, make_file, make_folder,  # noqa: E402
                         mint, path, read_all, refused, run, same, started, tap, true, until)

data = path("data")

# --- metrics ---

storage = Storage(data=data)
content = os.urandom(1000)
target = "/o/" + address(content)
storage.put(content)
storage.get(target)
storage.get("/o/" + address(b"none"))
answer = storage.get("/metrics")
has("the text is what Prometheus reads", answer["Content-Type"], r"^text/plain; version=0\.0\.4")
text = answer.body.decode()
if shutil.which("promtool"):
    done = subprocess.run(["promtool", "check", "metrics"], input=answer.body, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    same("promtool has nothing to say", (done.returncode, done.stdout.decode()), (0, ""))
else:
    tap.skip("promtool", "it is not there")
for name, kind in {
        'queue_depth{queue="work"}': "gauge", 'queue_depth{queue="repair"}': "gauge",
        'queue_dropped_total{queue="work"}': "counter", 'queue_dropped_total{queue="events"}': "counter",
        'busy_rejections_total{endpoint="GET"}': "counter", 'busy_rejections_total{endpoint="PUT"}': "counter",
        'tasks_spawned_total{kind="get"}': "counter", 'tasks_aborted_total{kind="put"}': "counter",
        'io_timeouts_total{op="read"}': "counter", 'io_timeouts_total{op="write"}': "counter",
        'repair_wait_seconds_count': "histogram", 'bus_lagged_total{topic="events"}': "counter",
        'tasks_canceled_total{kind="get"}': "counter", 'repair_skipped_total{reason="full"}': "counter"}.items():
    family = re.sub(r"\{.*|_count$", "", name)
    true(f"{name} is there", re.search(rf"^{re.escape(name)} \d", text, re.M)
         and f"# TYPE {family} {kind}\n" in text, name)
with open(os.path.join(os.path.dirname(__file__), "../../docs/storage.md"), encoding="utf-8") as file:
    table = set(re.findall(r"`(\w+)[`{]", re.search(r"^\| metric \|.*?\n\n", file.read(), re.M | re.S).group()))
names = {name for name in re.findall(r"^# TYPE (\S+)", text, re.M) if not name.startswith("weir_")}
same("the page has every one of its own, and no other", sorted(names ^ table), [])
true("each has its help", all(f"# HELP {name} " in text for name in re.findall(r"^# TYPE (\S+)", text, re.M)))
numbers = storage.metrics()
cores = len(os.sched_getaffinity(0))
same("there are as many threads as cores say", [numbers[f'tasks_spawned_total{{kind="{kind}"}}']
                                                for kind in ("loop", "get", "put", "commit", "scrub")],
     [min(cores, 64), max(2 * cores, 4), max(cores, 2), 1, 1])
tables = run(os.environ["WEIR"], "storage", "--topology")[1].decode()
parts = re.findall(r"^\| `([a-z-]+)` \| (queue|bus|watch|budget|rate|admit) \|", tables, re.M)
parts += [(name, "crew") for name in set(re.findall(r"^\| ([a-z-]+) \| `[a-z]+` \| \d", tables, re.M))]
silent = [(name, kind) for name, kind in parts
          if not re.search(rf'^weir_{kind}_\w+{{{"topic" if kind == "bus" else kind}="{name}"', text, re.M)]
same("every part of the tables tells of itself, but for a rate that may be none", (len(parts) > 20, silent),
     (True, [("requests", "rate")]))
same("and chunks", numbers["store_puts_total"], 1)
before = numbers['http_responses_total{class="4xx"}']
storage.get("/nowhere")
true("and answers", until(lambda: storage.metrics()['http_responses_total{class="4xx"}'] == before + 1))
true("counters never fall", all(value <= storage.metrics().get(name, 0) for name, value in numbers.items()
                                if re.match(r"\w+_total", name)))


def free_port():
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return end.getsockname()[1]


def query(what):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{what}", timeout=HANG_S) as reply:
            return json.load(reply)["data"]
    except OSError:
        return None


def is_up():
    if prometheus.poll() is not None:
        raise RuntimeError("Prometheus has ended")
    targets = (query("targets") or {}).get("activeTargets", [])
    return targets if targets and targets[0]["health"] != "unknown" else None


if shutil.which("prometheus"):
    make_file("prometheus.yml", "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: weir\n"
              f"  static_configs: [{{targets: ['127.0.0.1:{storage.port}']}}]\n")
    port = free_port()
    prometheus = subprocess.Popen(["prometheus", "--config.file=" + path("prometheus.yml"),
                                   "--storage.tsdb.path=" + make_folder("tsdb"), f"--web.listen-address=127.0.0.1:{port}"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started.append(prometheus)
    targets = until(is_up, "Prometheus")
    same("Prometheus scrapes it", (targets[0]["health"], targets[0]["lastError"]), ("up", ""))
    result = until(lambda: (query("query?query=store_puts_total") or {}).get("result"), "the number")
    same("and has its numbers", result[0]["value"][1], "1")
    prometheus.terminate()
    prometheus.wait(HANG_S)
else:
    tap.skip("Prometheus", "it is not there")

# --- the rest of health ---

version = storage.get("/version").json
same("the version", version["name"], "weir storage")
has("is that of the program", run(os.environ["WEIR"], "version")[1].decode(), re.escape(version["version"]))
same("alive", storage.get("/healthz").json, {"alive": True})
same("ready", storage.get("/readyz").json["ready"], True)
same("not to be kept", storage.get("/readyz")["Cache-Control"], "no-store")
same("HEAD", storage.ask("HEAD", "/readyz").status, 200)
same("the end", storage.stop(), 0)
same("nothing is said about requests unless that is wanted", storage.log().count("GET"), 0)

# --- a line for each request ---

secret = b"what nobody may read in a log"
for form in ("text", "json"):
    storage = Storage("--set", "log.requests=true", "--set", "log.format=" + form, data=data)
    token = mint(data, "--scope", "read,write,delete")
    kept = "/o/" + address(secret)
    storage.ask("PUT", kept, secret, {**bearer(token), "X-Corr-ID": "one"})
    storage.ask("GET", kept + "?password=hunter2", headers={"X-Corr-ID": "two"})
    storage.ask("GET", "/o/%22%0a%1b[31m", headers={"X-Corr-ID": "three"})
    storage.ask("GET", "/no%20such%22thing", headers={"X-Corr-ID": "four"})
    storage.ask("DELETE", kept, headers={**bearer(token[:-9] + "AAAAAAAAA"), "X-Corr-ID": "five"})
    storage.ask("DELETE", kept, headers={**bearer(mint(data)), "X-Corr-ID": "reader"})
    storage.ask("DELETE", kept, headers={"X-Corr-ID": "nobody"})
    storage.raw(b"GET /o/../x y HTTP/1.1\r\nHost: localhost\r\n\r\n")
    storage.ask("DELETE", kept, headers={**bearer(token), "X-Corr-ID": "six"})
    storage.wait_for_log("\\bsix\\b")
    same(f"{form}: the end", storage.stop(), 0)
    said = storage.log()
    lines = [line for line in said.splitlines() if re.search(r"\b(one|two|three|four|five|six)\b", line)]
    true(f"{form}: no secret", token[:50] not in said and token[-30:] not in said and "hunter2" not in said
         and secret.decode() not in said and "\x1b" not in said, said)
    if form == "text":
        same("text: one line each, of what got that far", [re.split(" ", line)[1] for line in lines],
             [word for word in ("one", "two", "three", "four", "five", "six") if f" {word} " in said])
        true("text: all but what is no path", len(lines) >= 5, lines)
        has("text: what it was", lines[0], rf'^\d{{4}}-\d\d-\d\dT\S+Z one 127\.0\.0\.1\S* PUT "{kept}" 201 '
            r"in=\d+ out=\d+ us=\d+ token=[0-9a-f]{16}$")
        has("text: without a token", lines[1], r" GET .* 200 .* token=-$")
        true("text: how long it took", all(re.search(r" us=[1-9]", line) for line in lines), lines)
        has("text: a token that does not allow it", said, r"(?m)^\S+ reader \S+ DELETE [^\n]* 403 [^\n]* token=[0-9a-f]{16}$")
        has("text: one that was not made here", said, r"(?m)^\S+ five \S+ DELETE [^\n]* 401 [^\n]* token=-$")
        has("text: none", said, r"(?m)^\S+ nobody \S+ DELETE [^\n]* 401 [^\n]* token=-$")
        has("text: also what is no request", said, r'(?m)^\S+ [0-9a-f]{32} 127\.0\.0\.1\S* - "-" 400 in=\d+ out=\d+ ')
    else:
        records = [json.loads(line) for line in lines]
        by_id = {record["corr_id"]: record for record in records}
        same("json: each is an object", len(by_id), len(lines))
        same("json: what it was", (by_id["one"]["method"], by_id["one"]["path"], by_id["one"]["status"]),
             ("PUT", kept, 201))
        same("json: and how it ended", (by_id["five"]["status"], by_id["six"]["status"]), (401, 204))
        true("json: all other lines, too", all(line.startswith("{") and json.loads(line) for line in said.splitlines()), said)

# --- the audit log ---

log = path("audit.log")
storage = Storage("--set", "audit.enabled=true", "--set", "audit.file=" + log, data=data)


def events():
    with open(log, encoding="utf-8") as file:
        return [json.loads(line) for line in file.read().splitlines()]


token = mint(data, "--scope", "read,write,delete,admin")
storage.put(secret, bearer(token))
storage.get(kept)
storage.ask("DELETE", kept, headers={**bearer(mint(data)), "X-Corr-ID": "refused"})
storage.ask("DELETE", kept)
storage.ask("GET", kept, headers={"Host": "elsewhere.example"})
storage.ask("DELETE", kept, headers=bearer(token))
storage.ask("POST", "/admin/scrub", headers=bearer(token))
storage.reload()
same("the end of the audit", storage.stop(), 0)
said = events()
same("what happened, in order", [event["event"] for event in said],
     ["start", "put", "denied", "denied", "denied", "delete", "admin", "reload", "stop"])
same("how it ended", [event["result"] for event in said],
     ["Ok", "Ok", "Forbidden", "Unauthorized", "Forbidden", "Ok", "Ok", "Ok", "Ok"])
same("to what", (said[1]["address"], said[5]["address"]), (kept[3:], kept[3:]))
true("by whom", re.match(r"127\.0\.0\.1", said[1]["client"]) and re.match(r"[0-9a-f]{16}$", said[1]["token"]), said[1])
same("and with what", said[1]["token"], said[5]["token"])
has("with which token also when that does not allow it", said[2].get("token", ""), "^[0-9a-f]{16}$")
true("which is another one", said[2].get("token") != said[1]["token"], said)
same("in which request", said[2].get("corr_id"), "refused")
true("as each has one, and what is of none has none",
     [bool(event.get("corr_id")) for event in said] == [False, True, True, True, True, True, True, False, False], said)
with open(log, encoding="utf-8") as file:
    text = file.read()
true("no token, no content", token[:50] not in text and secret.decode() not in text)
true("others cannot write it", os.stat(log).st_mode & 0o022 == 0)
storage = Storage("--set", "audit.enabled=true", "--set", "audit.file=" + log, data=data)
storage.stop()
same("it is appended to", [event["event"] for event in events()[-3:]], ["stop", "start", "stop"])

# One that cannot keep up: many refusals at once, and a bus that holds two.
storage = Storage("--set", "audit.enabled=true", "--set", "audit.file=" + log, "--set", "queues.events=2",
                  "--set", "server.acceptors=1", data=data)


def lagged():
    with storage.socket() as end:
        end.sendall(f"DELETE {kept} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 200
                    + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        read_all(end)
    return storage.metrics()['bus_lagged_total{topic="events"}']


true("who cannot keep up misses events, which is counted", until(lagged, "events that are missed"))
storage.wait_for_log("the audit log has missed [1-9][0-9]* events")
before = storage.metrics()['bus_lagged_total{topic="events"}']
until(lambda: lagged() > before, "more of them, too early to be told")
numbers = storage.metrics()
true("as dropped, too", numbers['queue_dropped_total{queue="events"}'] >= 1)
same("and everybody was served all the same", storage.stop(), 0)
same("the newest is there", events()[-1]["event"], "stop")
told = [int(count) for count in re.findall("the audit log has missed ([0-9]+) events", storage.log())]
true("the end tells what was not told before", len(told) >= 2 and sum(told) >= numbers['bus_lagged_total{topic="events"}'],
     (told, numbers['bus_lagged_total{topic="events"}']))


def gaps_of(said):
    """Why events are missing, and how many."""
    gaps = [event for event in said if event["event"] == "lost"]
    return {gap["result"] for gap in gaps}, sum(int(re.match("([0-9]+) events$", gap["what"]).group(1)) for gap in gaps)


same("the log itself says where they are missing, and why", gaps_of(events()), ({"Lagging"}, sum(told)))

# One that cannot be written.
storage = Storage("--set", "audit.enabled=true", "--set", "audit.file=/dev/full", data=data)
for _ in range(300):
    storage.ask("DELETE", kept)
until(lambda: storage.metrics()["audit_lost_total"] == 301, "the events to be lost")
same("the end of a full disk", storage.stop(), 0)
told = re.findall("cannot write ([0-9]+) events to the audit log: no space left on device\n", storage.log())
true("is told now and then", 2 <= len(told) < 100, told)
same("of all that are lost", sum(int(count) for count in told), 302)

# One that could not be written for a while: a pipe that is full, and has room then.
os.mkfifo(path("pipe"))
pipe = os.open(path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
storage = Storage("--set", "audit.enabled=true", "--set", "audit.file=" + path("pipe"), data=data)
for _ in range(100):
    storage.ask("DELETE", kept)
until(lambda: storage.metrics()["audit_lost_total"] >= 10, "the events to be lost")
fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 17)
storage.ask("DELETE", kept)
same("the end of the pipe", storage.stop(), 0)
said = [json.loads(line) for line in os.read(pipe, 1 << 17).splitlines()]
os.close(pipe)
lost = sum(int(count) for count in re.findall("cannot write ([0-9]+) events to the audit log", storage.log()))
same("where events are missing in the file, it says so", gaps_of(said), ({"Transient"}, lost))
same("so that all are there, or counted", sum(event["event"] != "lost" for event in said) + lost, 103)
storage = Storage("--set", "audit.enabled=true", data=data)
storage.put(b"seen")
storage.wait_for_log('"event": ?"put"')
same("without a file it goes to the log", storage.stop(), 0)
storage = Storage("--set", "audit.enabled=true", "--set", "audit.file=" + log, data=data)
storage.put(b"before")
until(lambda: events()[-1]["event"] == "put", "the event")
os.rename(log, log + ".1")
storage.put(b"meanwhile")
storage.reload()
storage.put(b"after")
until(lambda: os.path.exists(log) and len(events()) >= 2, "the new file")
same("the end of the rotation", storage.stop(), 0)
same("a log that was moved away is begun anew", [event["event"] for event in events()], ["reload", "put", "stop"])
log += ".1"
same("and what was before is in the old one", [event["event"] for event in events()[-3:]], ["start", "put", "put"])
status, said = refused("--set", "audit.enabled=true", "--set", "audit.file=" + path("no/such/folder"), data=data)
same("a file that cannot be is refused", (status, said.count("\n")), (2, 1))
has("by its name, and that of its key", said, "audit.file: cannot open '.*no/such/folder': no such file")
finish()
