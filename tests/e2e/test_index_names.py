#!/usr/bin/env python3
"""weir index: names and providers are put, found, changed by compare-and-set, removed and listed; what
is wrong is refused with a reason; what was acknowledged outlives the process. Prints TAP."""
import base64
import gzip
import json
import os
import shutil
import signal
import sys

sys.dont_write_bytecode = True
from index_service import Index, Keys, promtool, refused
from storage_lib import (address, bearer, finish, has, is_envelope, make_folder, mint, path, same, tap,
                         true, until)

keys = Keys()
data = path("data")
index = Index("providers.probe=false", data=data)
name = keys.name("photos/2024", 1)
target = "/names/" + name

# --- an empty folder ---
same("there is nothing yet", index.resolve(name).status, 404)
true("which is told", is_envelope(index.resolve(name), "NotFound"), index.resolve(name))
same("nothing is listed", index.get("/names").json, {"names": []})
ready = index.get("/readyz").json
same("it is ready", ready, {**ready, "ready": True, "records": True, "writable": True, "sources": True})
same("and has a name", index.get("/version").json["name"], "weir index")

# --- put, resolve ---
first = keys.of_name("photos/2024", 1, 5)
answer = index.publish(target, first)
same("a name is put", (answer.status, answer.json["sequence"], answer.json["name"]), (201, 5, name))
answer = index.resolve(name)
same("and resolved at once, although it was known not to be there",
     (answer.status, answer.json["record"], answer.json["sequence"], answer.json["stale"]),
     (200, first, 5, False))
same("what it means is in it", answer.json["manifest"][:3], "b3:")
same("putting it again changes nothing", index.publish(target, first).status, 200)

# --- heads ---
head = index.ask("HEAD", "/resolve/" + name)
same("HEAD has no body", (head.status, head.body, head["Content-Length"]),
     (200, b"", answer["Content-Length"]))
true("it may be kept for a while", "public, max-age=" in answer["Cache-Control"], answer)
same("who has it is told so", index.resolve(name, If_None_Match=answer["ETag"]).status, 304)
same("who has something else is not", index.resolve(name, If_None_Match='"x"').status, 200)
until(lambda: index.resolve(name).status == 200 and index.metrics()["answered_from_memory_total"] > 0, "a hit")
true("answers of the cache are sent by the loop", True)

# --- compare and set ---
second, third = keys.of_name("photos/2024", 1, 6), keys.of_name("photos/2024", 1, 7)
answer = index.publish(target, second, previous=4)
same("from what is not there nothing changes", (answer.status, answer.json["error"]), (409, "Conflict"))
has("and the sequence is told", answer.json["message"], r"the sequence there is 5\b")
same("from what is there it does", index.publish(target, second, previous=5).status, 200)
same("and is seen", index.resolve(name).json["sequence"], 6)
answer = index.publish(target, first)
same("an older one is refused", answer.status, 409)
has("with the reason", answer.json["message"], "the sequence there is 6")
same("what nobody believes to be there is refused, too", index.publish(target, third, previous=0).status, 409)

# --- what is wrong ---
other = keys.name("photos/2024", 2)
for what, place, body, status in (
        ("a field that is not known", target, {"record": third, "more": 1}, 400),
        ("no record", target, {}, 400),
        ("another type", target, {"record": 1}, 400),
        ("previous as a text", target, {"record": third, "previous": "6"}, 400),
        ("previous below 0", target, {"record": third, "previous": -1}, 400),
        ("a list", target, [third], 400),
        ("no base64", target, {"record": "?"}, 400),
        ("the record of another name", target, {"record": keys.of_name("photos/2025", 1, 9)}, 400),
        ("the key of somebody else", "/names/" + other, {"record": keys.record(
            "name photos/2024 1 9 3600")}, 400),
        ("a label without a key", "/names/photos", {"record": third}, 400),
        ("no name", "/names/Photos", {"record": third}, 400),
        ("what has expired", target, {"record": keys.of_name("photos/2024", 1, 9, -10)}, 400),
):
    answer = index.ask("PUT", place, json.dumps(body))
    true(f"{what}: {status}", answer.status == status and is_envelope(answer), answer)
forged = third[:-4] + ("AAAA" if third[-4:] != "AAAA" else "BBBB")
answer = index.publish(target, forged)
true("forged: 403", answer.status == 403 and is_envelope(answer, "Forbidden"), answer)
same("a field twice", index.ask("PUT", target, '{"record": "%s", "record": "%s"}' % (third, third)).status, 400)
same("something behind it", index.ask("PUT", target, '{"record": "%s"} x' % third).status, 400)
same("too deep", index.ask("PUT", target, "[" * 8000).status, 400)
same("too long", index.ask("PUT", target, b"x" * (1 << 20)).status, 413)
packed = gzip.compress(json.dumps({"record": third}).encode())
same("packed ones are unpacked", index.ask("PUT", target, packed, {"Content-Encoding": "gzip"}).status, 200)
bomb = gzip.compress(b" " * (1 << 20))
same("but not bombs", index.ask("PUT", target, bomb, {"Content-Encoding": "gzip"}).status, 413)
same("what is wrong is counted", index.metrics()['index_brought_records_total{verdict="forged"}'], 1)
same("all of that has changed nothing else", index.resolve(name).json["sequence"], 7)
same("other methods are refused", (index.ask("POST", target, "{}").status, index.ask("GET", target).status), (405, 405))
same("and so are queries that nobody knows", index.get("/resolve/" + name + "?x=1").status, 400)

# --- remove ---
gone = keys.record("removal photos/2024 1 8 3600")
same("a removal is not put", index.publish(target, gone).status, 400)
same("a name is not deleted by one that means something",
     index.publish(target, keys.of_name("photos/2024", 1, 8), method="DELETE").status, 400)
answer = index.publish(target, gone, previous=7, method="DELETE")
same("it is deleted by a removal", (answer.status, answer.json.get("removed")), (200, True))
same("and gone at once", index.resolve(name).status, 404)
same("nothing older comes back", index.publish(target, third).status, 409)
same("a newer one does", index.publish(target, keys.of_name("photos/2024", 1, 9), previous=0).status in (200, 201), True)
same("and is resolved", index.resolve(name).json["sequence"], 9)

# --- providers ---
chunk = address(b"chunk")
place = "/providers/" + chunk
same("nobody provides it", index.get(place).status, 404)
for seed in range(10, 15):
    text = keys.of_provider(chunk, seed, 1, f"http://192.0.2.{seed}:8470")
    assert index.publish(place, text).status == 201
answer = index.get(place)
same("five do now", (answer.status, len(answer.json["providers"]), answer.json["address"]), (200, 5, chunk))
true("each with its record", all(p["record"] and p["url"] for p in answer.json["providers"]), answer)
same("as for who asks to resolve it", index.resolve(chunk).json["providers"], answer.json["providers"])
text = keys.of_provider(chunk, 10, 2, "http://192.0.2.99:8470")
same("a newer one of the same key takes its place", index.publish(place, text).status, 200)
urls = {p["url"] for p in index.get(place).json["providers"]}
same("and is seen", ("http://192.0.2.99:8470" in urls, len(urls)), (True, 5))
same("one for longer than is allowed is refused",
     index.publish(place, keys.of_provider(chunk, 20, 1, "http://192.0.2.1/", 8 * 86400)).status, 400)
same("and one of another address", index.publish("/providers/" + address(b"x"), text).status, 400)

# --- more providers than are told ---
crowd = address(b"crowd")
texts = {}
for seed in range(100, 400):
    url = f"http://192.0.2.{seed % 251}:{7000 + (seed * 37) % 300}"
    texts[url] = keys.of_provider(crowd, seed, 1, url)
    assert index.publish("/providers/" + crowd, texts[url]).status == 201


def issued(text):
    return int.from_bytes(base64.urlsafe_b64decode(text + "==")[44:52], "big")


best = sorted(texts, key=lambda url: (-issued(texts[url]), url))
answer = index.get("/providers/" + crowd).json
same("of many the best are told, not the first by their keys", [p["url"] for p in answer["providers"]], best[:256])
same("and how many there are", answer["providers_known"], 300)

# --- list ---
for number in range(25):
    label = f"many/{number:02}"
    assert index.publish("/names/" + keys.name(label, 1), keys.of_name(label, 1, 1)).status == 201
first_page = index.get("/names?prefix=many/&limit=10").json
same("names are listed, so many at a time", [n["name"].split("@")[0] for n in first_page["names"]],
     [f"many/{number:02}" for number in range(10)])
seen, after = [], ""
while True:
    page = index.get(f"/names?limit=7&prefix=many/&after={after}" if after else "/names?limit=7&prefix=many/").json
    seen += [n["name"].split("@")[0] for n in page["names"]]
    if "next" not in page:
        break
    after = page["next"]
same("all of them, page by page", seen, [f"many/{number:02}" for number in range(25)])
same("wrong queries are refused", [index.get("/names?" + q).status for q in ("limit=0", "limit=1001", "x=1", "prefix=A")],
     [400] * 4)

# --- administration ---
admin = bearer(mint(data, "--scope", "admin"))
same("administration needs a token", index.ask("POST", "/admin/pin", '{"key": "x"}').status, 401)
once = {**admin, "Idempotency-Key": "k1"}
body = json.dumps({"key": name})
answer = index.ask("POST", "/admin/pin", body, once)
same("a name is pinned", (answer.status, answer.json), (200, {"status": "pinned", "key": name}))
again = index.ask("POST", "/admin/pin", body, once)
same("the same key gives the same answer", (again.status, again.body), (answer.status, answer.body))
other_body = json.dumps({"key": chunk})
same("with another body it is refused", index.ask("POST", "/admin/pin", other_body, once).status, 422)
same("another key is another request", index.ask("POST", "/admin/pin", other_body, {**admin, "Idempotency-Key": "k2"}).status, 200)
same("as the same key for another path", index.ask("POST", "/admin/unpin", other_body, once).status, 200)
same("a key that is none is refused", index.ask("POST", "/admin/pin", body, {**admin, "Idempotency-Key": "x" * 256}).status, 400)
same("and a body that is none", index.ask("POST", "/admin/pin", '{"key": "?"}', admin).status, 400)
until(lambda: index.metrics()["index_cache_pinned"] == 1, "that the last is not pinned any more")
same("two are remembered, one is pinned", (index.metrics()["index_idempotency_keys"], index.metrics()["index_cache_pinned"]), (3, 1))
answer = index.ask("POST", "/admin/reindex", None, admin)
same("reindexing is accepted", (answer.status, answer.json), (202, {"status": "accepted"}))
until(lambda: index.metrics()["index_cache_entries"] == 0, "an empty cache")
true("and empties the cache", True)
same("but nothing else", index.resolve(name).json["sequence"], 9)

# --- numbers ---
if shutil.which("promtool"):
    same("promtool is content", promtool(index), "")
else:
    tap.skip("promtool is content", "promtool is not installed")
numbers = index.metrics()
for wanted in ('queue_depth{queue="work"}', 'queue_dropped_total{queue="work"}', 'busy_rejections_total{route="resolve"}',
               'bus_lagged_total{topic="events"}', 'tasks_spawned_total{kind="resolve"}',
               'tasks_aborted_total{kind="cache"}', 'tasks_canceled_total{kind="breaker"}',
               "resolve_latency_seconds_count", "index_dht_lookup_seconds_count",
               'backoff_retries_total{op="local"}', 'breaker_state{state="closed",target="local"}',
               'breaker_open_total{target="local"}', 'io_timeouts_total{op="resolve"}', "resolve_deadline_hit_total"):
    true(f"there is {wanted}", wanted in numbers, sorted(numbers)[:5])

# --- it lasts ---
index.process.kill()
index.wait()
index = Index(data=data)
same("what was acknowledged outlives a sudden end", index.resolve(name).json["sequence"], 9)
same("names", len(index.get("/names?limit=1000").json["names"]), 26)
same("providers", len(index.get(place).json["providers"]), 5)
until(lambda: index.metrics()["index_cache_pinned"] == 1, "the pin")
true("and pins", True)
same("what was removed stays removed", index.publish(target, third).status, 409)

# --- one folder, one process; one that cannot be written ---
status, log = refused(data=data)
same("a second one does not start", status, 3)
has("and says why", log, "another process has it open")
same("a clean end", index.stop(), 0)
same("a port that is taken is told", refused("siblings.nodes=ftp://x", data=data)[0], 2)

# --- amnesia ---
place_of = make_folder("nowhere")
index = Index("amnesia.purge_interval_ms=300", env={"HOME": place_of, "XDG_DATA_HOME": place_of})
assert index.publish(target, first).status == 201
until(lambda: index.resolve(name).status == 404, "that it is forgotten")
true("what is kept in memory is forgotten in time", True)
true("which is counted", index.metrics()["index_cache_purges_total"] >= 1)
index.stop()
same("nothing was written", os.listdir(place_of), [])
if shutil.which("strace"):
    trace = path("strace.txt")
    index = Index(before=["strace", "-f", "-qq", "-e", "trace=openat,creat,mkdir,mkdirat,rename,renameat,renameat2",
                          "-o", trace])
    assert index.publish(target, first).status == 201
    index.resolve(name)
    os.kill(int(open(f"/proc/{index.pid}/task/{index.pid}/children").read().split()[0]), signal.SIGTERM)
    index.wait()
    with open(trace, encoding="utf-8", errors="replace") as file:
        wrote = [line for line in file if ("O_WRONLY" in line or "O_RDWR" in line or "O_CREAT" in line
                                           or "mkdir" in line or "rename" in line)
                 and "/dev/" not in line and "/proc/" not in line and "= -1" not in line]
    same("and the system was asked to write nothing", wrote, [])
else:
    tap.skip("and the system was asked to write nothing", "strace is not installed")

# --- a prefix with keys ---
index = Index(f"names.prefixes=team={keys.id(3)}+{keys.id(4)}")
same("keys of a prefix may speak for its names", index.publish("/names/team/site", keys.record(
    "bare team/site 3 1 3600")).status, 201)
same("each of them", index.publish("/names/team/site", keys.record("bare team/site 4 2 3600")).status, 200)
answer = index.publish("/names/team/site", keys.record("bare team/site 5 3 3600"))
same("and nobody else", (answer.status, answer.json["error"]), (403, "Forbidden"))
same("nor for names without keys", index.publish("/names/other", keys.record("bare other 3 1 3600")).status, 403)
index.stop()
finish()
