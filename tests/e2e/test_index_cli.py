#!/usr/bin/env python3
"""weir resolve, providers, name and key when something fails: what they say to people and to programs,
how often they ask, and with which status they end. The service is a real one whose sources fail, or one
that says what it was told to say. Prints TAP."""
import http.server
import json
import os
import re
import socketserver
import sys
import threading

sys.dont_write_bytecode = True
from index_service import Index, Keys, Sibling
from storage_lib import WEIR, finish, has, make_folder, run, same, true

keys = Keys()
name = keys.name("site", 1)
address = "b3:" + "11" * 32
folder = make_folder("cli")
own = os.path.join(folder, "key")
home = {"XDG_CONFIG_HOME": folder}


class Service:
    """Says what it was told to say: rules are called with (method, path, body), and give (status, body, headers)."""

    def __init__(self):
        self.rule, self.asked = None, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.asked.append((self.command, self.path, body))
                said = outer.rule(self.command, self.path, body)
                status, text, headers = (*said, {})[:3]
                text = text if isinstance(text, bytes) else json.dumps(text).encode()
                self.send_response(status)
                for key, value in {"Content-Length": str(len(text)), **headers}.items():
                    self.send_header(key, value)
                try:
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:  # who asked has seen enough
                    self.close_connection = True

            do_GET = do_PUT = do_DELETE = answer

            def log_message(self, *words):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, *words):
                """Who asked has gone."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def says(self, status, body, headers=None):
        self.rule = lambda *request: (status, body, headers or {})
        self.asked.clear()


def weir(*words, server=None):
    status, out, err = run(WEIR, *words, *(["--server", server] if server else []), env={**os.environ, **home})
    return status, out.decode(), err


def fails(what, words, server, status=3, error=None, message=None, told=None):
    """By --json there is one object on standard output; returned."""
    code, out, err = weir(*words, "--json", server=server)
    try:
        got = json.loads(out)
    except ValueError:
        got = {}
    same(f"{what}: the status", code, status)
    true(f"{what}: one object of JSON", isinstance(got, dict) and {"error", "message"} <= set(got), out + err)
    if error:
        same(f"{what}: the error", got.get("error"), error)
    if message:
        has(f"{what}: the message", got.get("message", ""), re.escape(message))
    has(f"{what}: one line for people", err, re.escape(told or message or ""))
    same(f"{what}: and only one", err.count("\n"), 1)
    return got


same("a key", weir("key", "make", own)[0], 0)

# --- sources fail ---
broken = Sibling(status=500)
index = Index(f"siblings.nodes={broken.url}", "breaker.calls_min=1000", "dht.tries=1")
for words in (["resolve", name], ["providers", address]):
    got = fails(f"{words[0]}, 503", [*words, "--trace"], index.url, error="Transient", message=None, told="(status 503)")
    same(f"{words[0]}, 503: the trace has who failed",
         [step["source"].split()[0] for step in got.get("trace", []) if step["result"] not in ("Ok", "NotFound")], ["sibling"])
    status, out, err = weir(*words, "--trace", server=index.url)
    true(f"{words[0]}, 503: for people, too", status == 3 and "asked at" in out and "sibling" in out, out + err)
    message = index.get("/resolve/" + words[1]).json["message"]
    has(f"{words[0]}, 503: in the words of the service", weir(*words, server=index.url)[2], re.escape(message))
slow = Sibling(delay=30)
late = Index(f"siblings.nodes={slow.url}", "dht.deadline_ms=300")
got = fails("resolve, 504", ["resolve", name, "--trace"], late.url, error="Timeout", told="(status 504)")
true("resolve, 504: a trace", bool(got.get("trace")), str(got))

# --- how often it asks ---
service = Service()
for status, error, headers, wanted in ((503, "Transient", {"Retry-After": "1"}, 1), (504, "Timeout", {"Retry-After": "1"}, 1),
                                       (503, "BreakerOpen", {"Retry-After": "10"}, 1), (503, "ReadOnly", {}, 1),
                                       (429, "Busy", {"Retry-After": "0"}, 3), (503, "Draining", {"Retry-After": "0"}, 3),
                                       (429, "Busy", {"Retry-After": "3600"}, 1)):
    service.says(status, {"error": error, "message": "so it is", "corr_id": "0"}, headers)
    fails(f"{status} {error} {headers}", ["resolve", name], service.url, error=error, message="so it is")
    same(f"{status} {error} {headers}: times asked", len(service.asked), wanted)
service.says(503, b"<html>")
fails("a gateway's 503", ["resolve", name], service.url, error="Transient", told="status 503")
same("a gateway's 503: times asked", len(service.asked), 3)

# --- every command, whatever goes wrong ---
service.says(404, {"error": "NotFound", "message": "there is none", "corr_id": "0"})
fails("404", ["resolve", name], service.url, error="NotFound", message="there is none")
fails("404 of providers", ["providers", address], service.url, error="NotFound", message="there is none")
service.says(200, {"record": "AAAA", "providers": []})
fails("forged", ["resolve", name], service.url, error="Forbidden", message="malformed")
service.says(403, {"error": "Forbidden", "message": "not yours", "corr_id": "0"})
everything = (["resolve", name], ["providers", address], ["providers", "--announce", "http://x.example", "--key", own, address],
              ["name", "put", "--key", own, "x", address], ["name", "delete", "--key", own, "x"], ["name", "list"])
for words in everything:
    fails(f"403 of {words[:2]}", words, service.url, error="Forbidden", message="not yours")
for words in everything:
    fails(f"nobody there, {words[:2]}", words, "http://127.0.0.1:9")
absent = os.path.join(folder, "absent")
for words in (["name", "put", "--key", absent, "x", address], ["providers", "--announce", "http://x.example", "--key", absent, address]):
    fails(f"no key, {words[:2]}", words, service.url, error="NotFound", message="absent")
fails("no key to show", ["key", "show", absent], None, error="NotFound", message="absent")
fails("a key that is there", ["key", "make", own], None, error="Exists", message="key")

# --- the command line is right, and the rest is not ---
early = "the record was issued in the future: a clock is wrong, here or where it was signed"
service.rule = lambda method, *request: (
    (404, {"error": "NotFound", "message": "none", "corr_id": "0"}) if method == "GET" else
    (400, {"error": "Invalid", "message": early, "corr_id": "0"}))
for words in everything[2:4]:
    fails(f"what the service finds wrong with a record, {words[:2]}", words, service.url, error="Invalid", message=early)
service.says(200, b" " * (3 << 20) + b"{}")
fails("too large an answer", ["resolve", name], service.url, error="Corrupt", message="what the server says is larger than 2 MiB")
for body in ({}, {"names": "x"}):
    service.says(200, body)
    fails(f"no list: {body}", ["name", "list"], service.url, error="Corrupt", message="has no list of names in it")
service.says(200, {"names": []})
same("an empty list is one", weir("name", "list", server=service.url), (0, "", ""))
bare = keys.record("bare team/site 1 5 3600")
service.says(200, {"record": bare, "providers": []})
fails("nobody is trusted", ["resolve", "team/site"], service.url, error="Forbidden", message="give --trust PREFIX=KEYID")
fails("somebody else is", ["resolve", "--trust", "team=" + keys.id(2), "team/site"], service.url, error="Forbidden",
      message="another key has signed than those that are trusted for it")
same("the right one is", weir("resolve", "--trust", "team=" + keys.id(1), "team/site", server=service.url)[0], 0)

# --- what is there cannot be learned, and what was there is known to the service alone ---


def key_file(seed):
    """That of the tool which makes records."""
    place = os.path.join(folder, f"key-{seed}")
    with open(place, "w", encoding="ascii") as file:
        file.write("weir-key-v1 " + f"seed {seed}".encode().ljust(32, b"\0").hex() + "\n")
    os.chmod(place, 0o600)
    return place


def puts(what, label, server, word="put", seed=1):
    words = ["name", word, "--key", key_file(seed), label, *([address] if word == "put" else []), "--json"]
    status, out, err = weir(*words, server=server)
    same(f"{what}: the status", (status, err), (0, ""))
    return json.loads(out).get("sequence", 0) if out else 0


alone = Index(f"siblings.nodes={broken.url}", "breaker.calls_min=1000", "dht.tries=1", "cache.ttl=1ms", "cache.stale_ttl=1s")
first = puts("a new name while sources fail", "new", alone.url)
true("a new name while sources fail: its sequence is the time", first > 1_700_000_000, first)
true("once more: the next", puts("once more", "new", alone.url) > first)
far = 10 ** 13
same("one is put far ahead", alone.publish("/names/" + keys.name("ahead", 1), keys.of_name("ahead", 1, far)).status, 201)
same("the one behind it is above it", puts("what is far ahead", "ahead", alone.url), far + 1)
same("and its removal", puts("the removal", "ahead", alone.url, word="delete"), far + 2)
same("and what is put again", puts("again", "ahead", alone.url), far + 3)
puts("a removal of what nobody can tell of", "unheard", alone.url, word="delete")
announced = ["providers", "--announce", "http://x.example", "--key", key_file(1), address, "--json"]
status, out, err = weir(*announced, server=alone.url)
same("an announcement while sources fail", (status, err), (0, ""))
alone.publish("/providers/" + address, keys.of_provider(address, 1, far, "http://y.example"))
status, out, err = weir(*announced, server=alone.url)
same("and above one that is far ahead", (status, json.loads(out or "{}").get("sequence")), (0, far + 1))

well = Index()
target = "/names/" + keys.name("gone", 1)
same("a name far ahead", well.publish(target, keys.of_name("gone", 1, far)).status, 201)
same("is removed", well.publish(target, keys.record(f"removal gone 1 {far + 1} 3600"), method="DELETE").status, 200)
same("and put again above that", puts("what was removed far ahead", "gone", well.url), far + 2)
last = 2 ** 63 - 1
assert well.publish("/names/" + keys.name("last", 1), keys.of_name("last", 1, last)).status == 201
for words in (["put", "last", address], ["delete", "last"]):
    fails(f"above the last sequence, {words[0]}", ["name", words[0], "--key", key_file(1), *words[1:]], well.url, error="Conflict",
          message=f"the sequence there is {last}, and there is no higher one: use another name, or another key")
target = "/names/" + keys.name("over", 1)
assert well.publish(target, keys.record(f"removal over 1 {last} 3600"), method="DELETE").status == 200
fails("above the last sequence of what was removed", ["name", "put", "--key", key_file(1), "over", address], well.url,
      error="Conflict", message="there is no higher one")

shared = Index(f"names.prefixes=team={keys.id(1)}+{keys.id(2)}")
for seed in (1, 2, 1):
    words = ["name", "put", "--bare", "--key", key_file(seed), "team/site", address]
    same(f"keys of one prefix take turns: {seed}", weir(*words, server=shared.url), (0, "team/site\n", ""))
words = ["name", "put", "--bare", "--key", key_file(3), "team/site", address]
fails("a key that is none of them", words, shared.url, error="Forbidden", message="may not speak for that name")

# Who was faster is not overtaken.
service.rule = lambda method, *request: (
    (404, {"error": "NotFound", "message": "none", "corr_id": "0"}) if method == "GET" else
    (409, {"error": "Conflict", "message": "the sequence there is 7, and 'previous' is 0", "corr_id": "0"}))
service.asked.clear()
fails("somebody was faster", ["name", "put", "--key", own, "x", address], service.url, error="Conflict", message="the sequence there is 7")
same("somebody was faster: one try", [request[0] for request in service.asked], ["GET", "PUT"])
# One that says so for ever is not asked for ever.
service.rule = lambda method, path, body: (
    (404, {"error": "NotFound", "message": "none", "corr_id": "0"}) if method == "GET" else
    (409, {"error": "Conflict", "message": f"the sequence there is {far + len(service.asked)}, and that is lower", "corr_id": "0"}))
service.asked.clear()
fails("a conflict without end", ["name", "put", "--key", own, "x", address], service.url, error="Conflict", message="the sequence there is")
same("a conflict without end: four tries", len(service.asked), 5)

finish()
