#!/usr/bin/env python3
"""weir index: how it asks others. One lookup for all who ask the same; others after a while, and who
lost is hung up on; who fails is left alone; when nobody answers, what was known before. Prints TAP."""
import socket
import sys
import threading
import time

sys.dont_write_bytecode = True
from index_service import Index, Keys, Sibling, knows, took
from storage_lib import address, finish, is_envelope, same, true, until

keys = Keys()
name = keys.name("site", 1)
target = "/resolve/" + name
record = keys.of_name("site", 1, 5)


def many(count, question):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(question())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def dead_url():
    """Where nobody listens."""
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{end.getsockname()[1]}"


# --- one flight ---
sibling = Sibling(delay=0.4, answers={target: knows(record)})
index = Index(f"siblings.nodes={sibling.url}")
answers = many(40, lambda: index.resolve(name))
same("forty who ask at once are answered", [a.status for a in answers].count(200), 40)
same("by one lookup", sibling.count(target), 1)
same("who was asked as a sibling is", sibling.hops, {"1"})
same("it says who knew it", answers[0].json["source"].split()[0], "sibling")
until(lambda: index.metrics()["index_cache_entries"] >= 1, "that the janitor has put it in")
same("and it is in the cache now", (index.resolve(name).status, sibling.count(target)), (200, 1))
numbers = index.metrics()
same("which is counted", (numbers['index_flights_total{part="joined"}'] >= 30), True)
missing = keys.name("missing", 1)
same("what nobody knows is not there", index.resolve(missing).status, 404)
until(lambda: index.metrics()["index_cache_entries"] >= 2, "that the janitor has put it in")
count = sibling.count()
same("and that is remembered", (index.resolve(missing).status, sibling.count()), (404, count))
same("a sibling that asks is told what is here, and nobody is asked for it",
     (index.resolve(keys.name("other", 1), X_Weir_Hops="1").status, sibling.count()), (404, count))
same("nor what came from another sibling", index.resolve(name, X_Weir_Hops="1").status, 404)

# --- others are slow, this node is not ---
slow = Sibling(delay=0.9)
busy = Index(f"siblings.nodes={slow.url}", "index.workers=2")
asking = [threading.Thread(target=busy.resolve, args=(keys.name(f"nobody{i}", 1),)) for i in range(12)]
for thread in asking:
    thread.start()
until(lambda: busy.metrics()['queue_depth{queue="turns"}'] >= 5, "that lookups are in line")
began = time.monotonic()
same("a name is put while lookups wait for others", busy.publish("/names/" + name, record).status, 201)
same("names are listed", busy.get("/names").status, 200)
same("and a sibling is told what is here", busy.resolve(name, X_Weir_Hops="1").status, 200)
true("before any of those in line has had its turn", busy.metrics()['queue_depth{queue="turns"}'] >= 1 or
     time.monotonic() - began < 0.9, time.monotonic() - began)
for thread in asking:
    thread.join()
same("its end", busy.stop(), 0)

# --- traces ---
trace = index.get(target + "?trace=1").json
same("a traced lookup goes around the cache", [(s["source"].split()[0], s["result"]) for s in trace["trace"]][:2],
     [("local", "NotFound"), ("sibling", "Ok")])
index.stop()


def steps(told):
    return [(s["source"].split()[0], s["result"]) for s in told.json["trace"]]


wrong = Sibling()
index = Index(f"siblings.nodes={wrong.url}", "dht.tries=1", "dht.deadline_ms=900", "breaker.calls_min=3",
              "breaker.cooldown_s=60")
answer = index.get(target + "?trace=1")
true("what is not found has a trace, too", answer.status == 404 and is_envelope(answer, "NotFound", ["trace"]), answer)
same("with those who do not know it", steps(answer), [("local", "NotFound"), ("sibling", "NotFound")])
wrong.status = 507
answer = index.get(target + "?trace=1")
true("so has what failed", answer.status == 503 and is_envelope(answer, "Transient", ["trace"]), answer)
same("with what each of them said", steps(answer), [("local", "NotFound"), ("sibling", "NoSpace")])
true("and when", 0 <= answer.json["trace"][1]["began_ms"] <= answer.json["trace"][1]["ended_ms"] < 900, answer)
wrong.delay = 30
answer = index.get(target + "?trace=1")
true("and what took too long", answer.status == 504 and is_envelope(answer, "Timeout", ["trace"]), answer)
same("with who did not answer in time", steps(answer), [("local", "NotFound"), ("sibling", "Timeout")])
index.get(target + "?trace=1")
answer = index.get(target + "?trace=1")
true("and what nobody can be asked for", answer.status == 503 and is_envelope(answer, "BreakerOpen", ["trace"]), answer)
same("with who is left alone", steps(answer), [("local", "NotFound"), ("sibling", "BreakerOpen")])
same("without being asked for it there is none", "trace" in index.resolve(name).json, False)
index.stop()
wrong.close()

# --- what a sibling says is not believed ---
stolen = keys.of_name("site", 2, 99)
liar = Sibling(answers={target: knows(stolen), "/resolve/" + keys.name("old", 1): knows(keys.of_name("old", 1, 1, -5))})
index = Index(f"siblings.nodes={liar.url}")
same("a record of somebody else is not served", index.resolve(name).status, 404)
same("nor one that has expired", index.resolve(keys.name("old", 1)).status, 404)
numbers = index.metrics()
same("both are counted", sum(v for k, v in numbers.items() if k.startswith("index_source_records_total")
                             and 'verdict="good"' not in k), 2)
index.stop()
liar.close()

# --- nothing older than what was seen ---
data_sibling = Sibling(answers={target: knows(keys.of_name("site", 1, 9))})
index = Index(f"siblings.nodes={data_sibling.url}", "cache.ttl=100ms", "cache.stale_ttl=1s")
same("the ninth is seen", index.resolve(name).json["sequence"], 9)
data_sibling.answers[target] = knows(keys.of_name("site", 1, 8))
time.sleep(0.2)
answer = until(lambda: (lambda a: a if a.status != 200 or a.json["stale"] else None)(index.resolve(name)), "an end")
true("the eighth is not served as fresh after that", answer.status != 200 or answer.json["stale"], answer)
index.stop()
data_sibling.close()

# --- hedges ---
# What the name means is provided by somebody, too: a lookup has two stages.
means = address(b"5")
provided = {"address": means, "providers": [{"record": keys.of_provider(means, 9, 1, "http://192.0.2.9:8470")}]}
slow, quick = Sibling(), Sibling(answers={target: knows(record), "/providers/" + means: provided})
index = Index(f"siblings.nodes={slow.url},{quick.url}", "dht.alpha=1", "dht.beta=1", "dht.hedge_ms=150",
              "dht.hedge_ratio=1.0")
# Lookups that need none of their budget leave it to this one, which hedges twice.
for i in range(4):
    index.resolve(keys.name(f"quick{i}", 1))
slow.delay = 20
answer, seconds = took(lambda: index.resolve(name))
same("when the first takes too long another is asked", answer.status, 200)
true("after the delay, in each of its two stages", 0.26 <= seconds <= 1.1, seconds)
until(lambda: slow.left == 2, "that the loser is hung up on")
true("and the loser's connection is closed", True)
numbers = index.metrics()
same("which is counted", (numbers["index_hedges_total"] >= 1, numbers["index_hedges_won_total"] >= 1), (True, True))
index.stop()
index = Index(f"siblings.nodes={dead_url()},{quick.url}", "dht.alpha=1", "dht.beta=1", "dht.hedge_ms=900")
answer, seconds = took(lambda: index.resolve(name))
true("when the first has failed another is asked at once", answer.status == 200 and seconds < 0.9, (answer, seconds))
index.stop()

# --- what is no record is counted, also when there was nothing else ---
junk = Sibling(answers={target: knows("A" * 1000)})
index = Index(f"siblings.nodes={junk.url}")
same("an oversized record is none", index.resolve(name).status, 404)
label = f'target="sibling {junk.url[7:]}"'
counted = {key: value for key, value in index.metrics().items() if "source_records_total" in key and label in key}
same("and is counted as such", [sum(value for key, value in counted.items() if verdict in key)
                                for verdict in ("oversized", "malformed")], [1, 0])
index.stop()
junk.close()

# --- what a source says to this node is not for its clients ---
refusing = Sibling()
index = Index(f"siblings.nodes={refusing.url}", "dht.tries=1", "breaker.calls_min=100")
for status in (400, 401, 403, 413, 429, 500, 507):
    refusing.status = status
    answer = index.resolve(keys.name(f"refused{status}", 1))
    same(f"a source that says {status} is one that failed", (answer.status, answer.json["error"]), (503, "Transient"))
index.stop()
refusing.close()

# --- breakers ---
failing = Sibling(status=500)
index = Index(f"siblings.nodes={failing.url}", "breaker.calls_min=3", "breaker.cooldown_s=1", "dht.tries=1",
              "breaker.half_open_probes=1", "cache.negative_ttl=1ms")
label = f'target="sibling {failing.url[7:]}"'


def state():
    numbers = index.metrics()
    return next(s for s in ("closed", "open", "half_open") if numbers['breaker_state{state="%s",%s}' % (s, label)])


same("at first its breaker is closed", state(), "closed")
statuses = [index.resolve(keys.name(f"b{i}", 1)).status for i in range(4)]
same("failures are told", set(statuses), {503})
same("then it is left alone", state(), "open")
count = failing.count()
answer, seconds = took(lambda: index.resolve(keys.name("left", 1)))
same("nobody asks it", (answer.status, failing.count()), (503, count))
true("and the answer comes at once", seconds < 1 and is_envelope(answer, "BreakerOpen"), (answer, seconds))
same("which is counted", index.metrics()["breaker_open_total{%s}" % label], 1)
same("readiness tells sources beside what is vital", index.get("/readyz").status, 200)
failing.status = 200
failing.answers[target] = knows(record)
until(lambda: state() != "open", "half open")
answer = until(lambda: (lambda a: a if a.status == 200 else None)(index.resolve(name)), "an answer")
same("after a while it is asked again, and closed", (answer.status, state()), (200, "closed"))
index.stop()
failing.close()

# --- stale ---
sibling.delay = 0
index = Index(f"siblings.nodes={sibling.url}", "cache.ttl=200ms", "cache.prefetch=false", "dht.deadline_ms=600",
              "dht.tries=1")
same("it is found", index.resolve(name).json["stale"], False)
sibling.status = 500
answer = until(lambda: (lambda a: a if a.json.get("stale") else None)(index.resolve(name)), "a stale answer")
same("when no source answers what was known is told", (answer.status, answer.json["record"]), (200, record))
true("and marked", answer["Warning"].startswith("110 ") and answer["Age"] != "" and answer["ETag"] == "", answer)
same("for the right reason", index.metrics()["index_stale_answers_total"] >= 1, True)
sibling.status, sibling.delay = 200, 30
answer, seconds = took(lambda: index.resolve(name))
same("also when they hang", (answer.status, answer.json["stale"]), (200, True))
true("within the budget, or little more on a busy machine", seconds < 2, seconds)
sibling.delay = 0
answer = until(lambda: (lambda a: a if not a.json["stale"] else None)(index.resolve(name)), "a fresh answer")
same("and fresh again when they are back", answer.json["sequence"], 5)
index.stop()
index = Index(f"siblings.nodes={sibling.url}", "cache.ttl=1ms", "cache.serve_stale=false", "dht.tries=1")
assert index.resolve(name).status == 200
sibling.status = 500
answer = until(lambda: (lambda a: a if a.status >= 500 else None)(index.resolve(name)), "an error")
true("unless that is switched off", is_envelope(answer), answer)
index.stop()
sibling.status = 200

# --- who comes late to a lookup that fails ---
sibling.status, sibling.delay = 200, 30
index = Index(f"siblings.nodes={sibling.url}", "dht.deadline_ms=800", "dht.tries=1")
fifth = keys.name("late", 1)
sibling.answers["/resolve/" + fifth] = knows(keys.of_name("late", 1, 2))
early = []
thread = threading.Thread(target=lambda: early.append(index.resolve(fifth)))
thread.start()
until(lambda: sibling.count("/resolve/" + fifth) == 1, "a lookup under way")
second = []
other = threading.Thread(target=lambda: second.append(index.resolve(fifth, X_Deadline_Ms="5000")))
other.start()
until(lambda: index.metrics()['index_flights_total{part="joined"}'] == 1, "that the second has joined")
sibling.delay = 0
thread.join()
other.join()
same("who led it is told that its time is over", early[0].status, 504)
same("who joined it and has time left is looked up for again", (second[0].status, second[0].json.get("sequence")), (200, 2))
same("which is counted", index.metrics()["index_sent_again_total"], 1)
hasty = keys.name("hasty", 1)
sibling.answers["/resolve/" + hasty] = knows(keys.of_name("hasty", 1, 4))
sibling.delay = 0.4
thread = threading.Thread(target=lambda: early.append(index.resolve(hasty, X_Deadline_Ms="50")))
thread.start()
until(lambda: sibling.count("/resolve/" + hasty) == 1, "a lookup under way")
same("a hasty client spoils nothing for who waits longer", index.resolve(hasty).json.get("sequence"), 4)
thread.join()
same("and is answered in its own time", early[1].status, 504)
index.stop()
sibling.delay = 0

# --- before somebody asks ---
sibling.asked.clear()
index = Index(f"siblings.nodes={sibling.url}", f"cache.warmup_keys={name}")
until(lambda: index.metrics()["index_cache_entries"] == 1, "the warm-up")
same("what is to be warm is looked up at the start", sibling.count(target), 1)
same("and answered without another lookup", (index.resolve(name).status, sibling.count(target)), (200, 1))
index.stop()
index = Index(f"siblings.nodes={sibling.url}", "cache.ttl=2s")
assert index.resolve(name).status == 200
until(lambda: index.resolve(name).status == 200 and index.metrics()["index_prefetched_total"] >= 1, "a prefetch")
true("what is asked for near its end is looked up before", True)
index.stop()

# --- a change that meets a lookup ---
sibling.answers[target] = knows(keys.of_name("site", 1, 1))
sibling.delay = 0.6
index = Index(f"siblings.nodes={sibling.url}")
early = []
thread = threading.Thread(target=lambda: early.append(index.resolve(name)))
count = sibling.count(target)
thread.start()
until(lambda: sibling.count(target) > count, "a lookup under way")
assert index.publish("/names/" + name, keys.of_name("site", 1, 7)).status == 201
answer = index.resolve(name)
same("who asks after a change sees it, although an older lookup is under way", answer.json["sequence"], 7)
thread.join()
same("and goes on seeing it when that has ended", index.resolve(name).json["sequence"], 7)
index.stop()

# --- a provider that meets the name of its address ---
sibling.delay = 0
index = Index(f"siblings.nodes={sibling.url}", "providers.probe=false")
assert index.publish("/names/" + name, keys.of_name("site", 1, 7)).status == 201
answer = index.resolve(name)
manifest = answer.json["manifest"]
same("nobody provides what a name means", answer.json["providers"], [])


def urls():
    return sorted(provider["url"] for provider in index.resolve(name).json["providers"])


def announce(seed):
    url = f"http://192.0.2.{seed}:8470"
    assert index.publish("/providers/" + manifest, keys.of_provider(manifest, seed, 1, url)).status == 201
    return url


first_url = announce(31)
same("who asks for the name after somebody does sees it", urls(), [first_url])
until(lambda: urls() == [first_url] and index.metrics()['index_cache_found_total{state="fresh"}'] > 0, "a hit")
true("from the cache, then", True)
sibling.delay = 0.6
announce(32)
count = sibling.count("/providers/" + manifest)
early = []
thread = threading.Thread(target=lambda: early.append(urls()))
thread.start()
until(lambda: sibling.count("/providers/" + manifest) > count, "a lookup under way")
announce(33)
same("and who comes while an older lookup is under way", len(urls()), 3)
thread.join()
same("which has ended", len(early[0]), 2)
same("and goes on seeing it", len(urls()), 3)
index.stop()
sibling.close()
slow.close()
quick.close()

# --- a provider that speaks for a short time ---
index = Index("cache.ttl=100s", "providers.probe=false")
assert index.publish("/names/" + name, keys.of_name("site", 1, 7)).status == 201
manifest = index.resolve(name).json["manifest"]
places = ("/resolve/" + name, "/providers/" + manifest)
for seed, life in ((41, 3600), (42, 4)):
    text = keys.of_provider(manifest, seed, 1, f"http://192.0.2.{seed}:8470", life)
    assert index.publish("/providers/" + manifest, text).status == 201
answers = [index.get(place) for place in places]
ends = time.time() + 5
same("both are told", [len(a.json["providers"]) for a in answers], [2, 2])
true("what others keep ends with the first", all(int(a["Cache-Control"].split("=")[1]) <= 4 for a in answers), answers)
lookups = index.metrics()["index_dht_lookup_seconds_count"]
until(lambda: time.time() > ends, "the end of one")
answers = [index.get(place) for place in places]
same("what has expired is told no more", [[p["url"] for p in a.json["providers"]] for a in answers],
     [["http://192.0.2.41:8470"]] * 2)
same("what is known is counted without it", [a.json["providers_known"] for a in answers], [1, 1])
same("and nothing had to be looked up again", index.metrics()["index_dht_lookup_seconds_count"], lookups)
true("for the rest of the time", all(50 < int(a["Cache-Control"].split("=")[1]) < 96 for a in answers), answers)
true("by what the next one finds in the cache", [index.get(place)["ETag"] for place in places] == [a["ETag"] for a in answers])
index.stop()

# --- how fast providers are ---
provider = Sibling()
chunk = address(b"probed")
text = keys.of_provider(chunk, 30, 1, provider.url)
index = Index("providers.networks=127.0.0.0/8", "cache.ttl=1ms")
assert index.publish("/providers/" + chunk, text).status == 201
answer = until(lambda: (lambda a: a if "latency_ms" in a.json["providers"][0] else None)(index.get("/providers/" + chunk)),
               "a latency")
true("a provider is measured", 0 < answer.json["providers"][0]["latency_ms"] < 2000, answer)
same("by one request for its health", [target for _, target in provider.asked], ["/healthz"])
index.stop()
provider.asked.clear()
index = Index("cache.ttl=1ms")
assert index.publish("/providers/" + chunk, text).status == 201
assert index.get("/providers/" + chunk).status == 200
until(lambda: index.metrics()["index_probes_failed_total"] == 1, "a probe")
same("on this machine only if a network is named", provider.asked, [])
index.stop()
provider.close()
finish()
