#!/usr/bin/env python3
"""weir index: who may do what, how much at once, and how it ends and changes. Prints TAP."""
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
from index_service import Index, Keys, Sibling, took
from storage_lib import (bearer, finish, has, is_envelope, make_file, mint, path, same, true, until,
                         weir)

keys = Keys()
name = keys.name("photos", 1)
target = "/names/" + name


def busy(answer):
    return answer.status == 429 and is_envelope(answer, "Busy") and int(answer["Retry-After"]) >= 1


# --- tokens ---
data = path("tokens")
weir("token", "mint", "--data", data)
index = Index(f"tokens.keys={data}/keys", data=data)
same("without a token nothing is read", index.resolve(name).status, 401)
same("nor published", index.publish(target, keys.of_name("photos", 1, 1)).status, 401)
reads, writes = bearer(mint(data, "--scope", "read")), bearer(mint(data, "--scope", "write"))
same("a token for reading reads", index.ask("GET", "/resolve/" + name, headers=reads).status, 404)
same("and does not write", index.publish(target, keys.of_name("photos", 1, 1), headers=reads).status, 403)
same("a token for writing writes", index.publish(target, keys.of_name("photos", 1, 1), headers=writes).status, 201)
same("what was read with a token is for its reader alone",
     index.ask("GET", "/resolve/" + name, headers=reads)["Cache-Control"].split(",")[0], "private")
same("a name is deleted by who may write: the record is signed",
     index.publish(target, keys.record("removal photos 1 2 3600"), method="DELETE", headers=writes).status, 200)
same("administration needs its own scope", index.ask("POST", "/admin/reindex", headers=writes).status, 403)
narrow = bearer(mint(data, "--scope", "read", "--path", "/names"))
same("a token may be for one path", (index.ask("GET", "/names", headers=narrow).status,
                                     index.ask("GET", "/resolve/" + name, headers=narrow).status), (200, 403))
same("health needs none", [index.get(page).status for page in ("/healthz", "/readyz", "/version", "/metrics")], [200] * 4)
index.stop()

# --- quotas ---
index = Index(f"tokens.keys={data}/keys", "quotas.objects_per_token=2", data=data)
got = [index.publish("/names/" + keys.name(f"q{i}", 1), keys.of_name(f"q{i}", 1, 1), headers=writes).status
       for i in range(3)]
same("a token publishes as much as it may", got, [201, 201, 403])
q0 = "/names/" + keys.name("q0", 1)
same("a change of what is there costs nothing more",
     index.publish(q0, keys.of_name("q0", 1, 2), headers=writes).status, 200)
same("nor does its removal",
     index.publish(q0, keys.record("removal q0 1 3 3600"), method="DELETE", headers=writes).status, 200)
same("but what is not there does, also to remove it",
     index.publish("/names/" + keys.name("q9", 1), keys.record("removal q9 1 1 3600"), method="DELETE",
                   headers=writes).status, 403)
true("who is refused is told why",
     is_envelope(index.publish(q0, keys.of_name("q0", 1, 4), headers=writes), "Forbidden"), "")
same("which is counted", index.metrics()['quota_refused_total{reason="objects"}'], 3)
chunk, fresh = "b3:" + "12" * 32, bearer(mint(data, "--scope", "write"))
got = [index.publish("/providers/" + chunk, keys.of_provider(chunk, seed, sequence, "http://192.0.2.1:8470"),
                     headers=fresh).status
       for seed, sequence in ((1, 1), (2, 1), (3, 1), (2, 2))]
same("what is provided is renewed without costs, too", got, [201, 201, 403, 200])
index.stop()

# --- events ---
index = Index("audit.enabled=true", f"audit.file={path('audit')}")
index.publish(target, keys.of_name("photos", 1, 1))
index.publish(target, keys.of_name("photos", 1, 1)[:-4] + "AAAA")
index.publish(target, keys.record("removal photos 1 2 3600"), method="DELETE")
index.stop()
with open(path("audit"), encoding="utf-8") as file:
    lines = file.read()
has("who changes what is written down", lines, f"put.*{name}")
has("also what was refused", lines, "put[^\n]*Forbidden")
has("and removals", lines, f"delete.*{name}")

# --- rates and numbers at once ---
index = Index("ratelimit.rps_per_ip=1", "ratelimit.burst_per_ip=3")
answers = [index.resolve(name) for _ in range(6)]
same("an address that asks too often is told", [a.status for a in answers].count(429) >= 2, True)
true("with the time to wait", busy(next(a for a in answers if a.status == 429)), answers[-1])
same("which is counted", index.metrics()['busy_rejections_total{route="resolve"}'] >= 2, True)
same("health does not count", [index.get("/healthz").status for _ in range(10)], [200] * 10)
index.stop()

index = Index("server.connection_limit_per_ip=2")
ends = [index.connect() for _ in range(4)]
for end in ends:
    end.connect()
statuses = []
for end in ends:
    try:
        end.request("GET", "/names")
        statuses.append(end.getresponse().status)
    except OSError:
        statuses.append(0)
same("connections of one address are limited", (statuses.count(200), statuses.count(429)), (2, 2))
for end in ends:
    end.close()
index.stop()

slow = Sibling(delay=1.0)
index = Index(f"siblings.nodes={slow.url}", "index.workers=1", "queues.work=2", "dht.deadline_ms=3000")
answers = []


def resolve(number):
    answers.append(index.resolve(f"n{number}@" + keys_id))


keys_id = keys.id(1)
threads = [threading.Thread(target=resolve, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
refused_ones = [a for a in answers if a.status == 429]
true("a full line refuses", len(refused_ones) >= 4 and all(busy(a) for a in refused_ones), [a.status for a in answers])
same("which is counted", index.metrics()['queue_dropped_total{queue="turns"}'], len(refused_ones))
index.stop()

# Whose turn it is: that of the address behind a proxy.
index = Index(f"siblings.nodes={slow.url}", "index.workers=1", "dht.deadline_ms=3000",
              "server.trusted_proxies=127.0.0.1")
asking = [threading.Thread(target=index.resolve, args=(f"of-one{number}@" + keys_id,),
                           kwargs={"X_Forwarded_For": "192.0.2.1"}) for number in range(3)]
for thread in asking:
    thread.start()
until(lambda: index.metrics()['queue_depth{queue="turns"}'] == 2, "that two wait for the first")
other = threading.Thread(target=index.resolve, args=("of-another@" + keys_id,),
                         kwargs={"X_Forwarded_For": "192.0.2.2"})
other.start()
until(lambda: slow.count("/resolve/of-another@" + keys_id) == 1, "the lookup of another address")
same("who comes from another address does not wait for them",
     sum(slow.count(f"/resolve/of-one{number}@" + keys_id) for number in range(3)), 1)
for thread in asking + [other]:
    thread.join()
same("and they had their turns", [slow.count(f"/resolve/of-one{number}@" + keys_id) for number in range(3)], [1] * 3)
index.stop()

index = Index(f"siblings.nodes={slow.url}", "index.resolve_max=1", "dht.deadline_ms=3000")
first = threading.Thread(target=resolve, args=(100,))
first.start()
until(lambda: slow.count(f"/resolve/n100@{keys_id}") == 1, "the first lookup")
answer = index.resolve("other@" + keys_id)
true("a route has its own limit", busy(answer), answer)
same("that is of no concern to others", index.get("/names").status, 200)
first.join()
index.stop()

# --- deadlines ---
silent = Sibling(delay=30)
index = Index(f"siblings.nodes={silent.url}")
# The machine may be busy with something else for a while, so it is measured some times.
measured = [took(lambda: index.resolve(name)) for _ in range(4)]
answer, seconds = min(measured, key=lambda one: one[1])
true("a lookup ends with its budget: 504", answer.status == 504 and is_envelope(answer, "Timeout"), answer)
true("of 1200 ms, give or take 50", 1.15 <= seconds <= 1.25, measured)
measured = [took(lambda: index.resolve(name, X_Deadline_Ms="300")) for _ in range(4)]
answer, seconds = min(measured, key=lambda one: one[1])
true("or with what its client says", answer.status == 504 and 0.25 <= seconds <= 0.35, measured)
same("which has a limit", [index.resolve(name, X_Deadline_Ms=t).status for t in ("0", "60001", "x")], [400] * 3)
true("and is counted", index.metrics()["resolve_deadline_hit_total"] >= 2)

# --- drain ---
held = []
thread = threading.Thread(target=lambda: held.append(took(lambda: index.resolve("held@" + keys_id))))
before = silent.count()
thread.start()
until(lambda: silent.count() > before, "a lookup under way")
began = time.monotonic()
index.kill(signal.SIGTERM)
index.wait_for_log("draining, for SIGTERM")
answer = index.get("/readyz")
same("while it drains it is not ready", (answer.status, answer.json["accepting"]), (503, False))
same("but alive", index.get("/healthz").status, 200)
for place in ("/resolve/" + name, "/names", "/providers/b3:" + "0" * 64):
    answer = index.get(place)
    true(f"{place.split('/')[1]}: who comes is told", answer.status == 503 and is_envelope(answer, "Draining")
         and answer["Connection"] == "close", answer)
status = index.wait()
lasted = time.monotonic() - began
thread.join()
true("it ends within the smaller of budget and drain_deadline, and the time of its threads", lasted < 4, lasted)
true("who waited was answered", held and held[0][0].status in (503, 504), held)
true("and it says how it ended", status in (0, 3), index.log())
silent.close()

# --- reload ---
config = make_file("index.toml", "[cache]\nttl = \"10s\"\n[index]\nresolve_max = 5\n")
index = Index(words=["--config", config])
assert index.publish(target, keys.of_name("photos", 1, 1)).status == 201
same("an answer is fresh for its time", index.resolve(name)["Cache-Control"], "public, max-age=9")
make_file("index.toml", "[cache]\nttl = \"100s\"\n[index]\nresolve_max = 7\nworkers = 9\n")
log = index.reload()
has("what can change is changed", log, r"cache.ttl is \S*100s|cache.ttl is \S*1m40s")
has("and what cannot is told", log, "index.workers stays")
assert index.publish(target, keys.of_name("photos", 1, 2)).status == 200
same("from the next lookup on", index.resolve(name)["Cache-Control"], "public, max-age=99")
same("limits, too", index.metrics()['weir_budget_capacity{budget="resolve"}'], 7)
make_file("index.toml", "[cache]\nttl = \"nonsense\"\n")
has("what is wrong is refused as a whole", index.reload(), "stays as it was")
make_file("index.toml", "[server]\nget_workers = 3\n")
has("and so is what only a storage has", index.reload(), "server.get_workers.*(stays as it was)?")
same("it serves on", index.resolve(name).status, 200)

# A reader sees one snapshot or the other, never parts of both.
make_file("index.toml", "[cache]\nttl = \"20s\"\nnegative_ttl = \"20s\"\n")
index.reload()
odd = []


def look(stop):
    while not stop.is_set():
        a = index.resolve("absent" + str(time.monotonic_ns()) + "@" + keys_id)["Cache-Control"]
        if a not in ("public, max-age=19", "public, max-age=29", "public, max-age=20", "public, max-age=30"):
            odd.append(a)


stop = threading.Event()
readers = [threading.Thread(target=look, args=(stop,)) for _ in range(3)]
for reader in readers:
    reader.start()
for turn in range(6):
    seconds = 30 if turn % 2 == 0 else 20
    make_file("index.toml", f"[cache]\nttl = \"{seconds}s\"\nnegative_ttl = \"{seconds}s\"\n")
    index.reload()
stop.set()
for reader in readers:
    reader.join()
same("readers see the old or the new one, whole", odd[:3], [])
index.stop()
slow.close()
finish()
