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
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_PUT = do_DELETE = answer

            def log_message(self, *words):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

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

finish()
