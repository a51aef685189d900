#!/usr/bin/env python3
"""The source of the index that asks another node, with one at its end that may be honest or not."""
import base64
import http.server
import json
import ssl
import subprocess
import threading
import time

from index_lib import DelayProxy, Source
from storage_lib import address, finish, path, same, true, until

TOKEN = "a-token"
kept = {}
seen = []
answers = {}


def url64(text):
    return base64.urlsafe_b64encode(base64.b64decode(text)).decode().rstrip("=")


class Node(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def answer(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_request(self):
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size)
        seen.append((self.command, self.path, self.headers.get("X-Weir-Hops"),
                     self.headers.get("Authorization"), body))
        if self.path in answers:
            self.answer(*answers[self.path])
        elif self.command in ("PUT", "DELETE"):
            kept.setdefault(self.path, []).append(json.loads(body)["record"])
            self.answer(201, b"{}")
        elif self.path.startswith("/resolve/") and "/names/" + self.path[9:] in kept:
            self.answer(200, json.dumps({"record": kept["/names/" + self.path[9:]][-1], "stale": False,
                                         "providers": [{"record": "x"}]}).encode())
        elif self.path in kept:
            self.answer(200, json.dumps({"providers": [{"record": r, "url": "http://x/"} for r in kept[self.path]],
                                         "more": {"of": ["what", "nobody", "asked", "for"]}}).encode())
        else:
            self.answer(404, b'{"error": "NotFound"}')

    do_GET = do_PUT = do_DELETE = do_POST = handle_request


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def serve(context=None):
    server = Server(("127.0.0.1", 0), Node)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


port = serve()
source = Source("sibling", f"http://127.0.0.1:{port}/", TOKEN)
name = source.name_of("team/site", 1)
things = address(b"things")

# --- honest ---
same("what it does not have", source.ask(name).error, "NotFound")
same("it was asked not to ask on", seen[-1][:4], ("GET", "/resolve/" + name, "1", "Bearer " + TOKEN))
same("a name is told", source.tell("name team/site 1 5 3600")[0], "Ok")
same("as its users tell it", (seen[-1][0], seen[-1][1], seen[-1][2]), ("PUT", "/names/" + name, "1"))
same("in one field", list(json.loads(seen[-1][4])), ["record"])
same("and asked", source.ask(name).records, [("good", "5", "")])
for seed in range(3):
    source.tell(f"provider {things} {seed} 1 3600 http://192.0.2.1/{seed}")
same("providers are told and asked", source.ask(things).count("good"), 3)
answers["/names/" + name] = (409, b'{"error": "Conflict"}')
same("what is older is a conflict", source.tell("name team/site 1 4 3600")[0], "Conflict")
answers["/names/" + name] = (401, b"{}")
same("a token that is not taken", source.tell("name team/site 1 6 3600")[0], "Unauthorized")

# --- not honest ---
good = url64(source.say("record name team/site 1 5 3600"))
stolen = url64(source.say("record name team/site 2 5 3600"))
LIES = {
    "no JSON": (b"<html>", "Corrupt"),
    "nothing": (b"", "Corrupt"),
    "a list": (b"[]", "Corrupt"),
    "cut": (b'{"record": "', "Corrupt"),
    "something behind it": (b'{"record": "%s"} x' % good.encode(), "Corrupt"),
    "a key twice": (b'{"record": "%s", "record": "%s"}' % (good.encode(), good.encode()), "Corrupt"),
    "a record that is a number": (b'{"record": 7}', "NotFound"),
    "one that is too long": (b'{"record": "%s"}' % (b"A" * 900), "NotFound"),
    "one with padding": (b'{"record": "%s="}' % good.encode(), "NotFound"),
    "none": (b"{}", "NotFound"),
    "very deep": (b'{"record": ' + b"[" * 5000 + b"]" * 5000 + b"}", "Corrupt"),
    "too much": (b'{"x": "' + b"a" * (1 << 20) + b'"}', "TooLarge"),
    "NUL in a text": (b'{"record": "\\u0000"}', "Corrupt"),
}
for what, (body, wanted) in LIES.items():
    answers["/resolve/" + name] = (200, body)
    same(f"its answer has {what}", source.ask(name).error, wanted)
answers["/resolve/" + name] = (200, b'{"record": "%s"}' % stolen.encode())
same("a record of another name is handed out and judged", source.ask(name).records[0][0], "foreign")
answers["/providers/" + things] = (200, json.dumps(
    {"providers": [7, None, {"record": 1}, {"record": good}] + [{"record": "AAAA"}] * 5000}).encode())
got = source.ask(things)
same("what is no record among providers is dropped and counted", (got.error, len(got.records), got.dropped),
     ("Ok", 2, 3))
answers["/providers/" + things] = (200, json.dumps(
    {"providers": [{"record": base64.urlsafe_b64encode(b"%09d" % i).decode()} for i in range(300)]}).encode())
got = source.ask(things)
same("256 at most", (len(got.records), got.dropped), (256, 44))
for status, wanted in ((500, "Internal"), (503, "Transient"), (429, "Busy"), (504, "Timeout"), (204, "Corrupt")):
    answers["/resolve/" + name] = (status, b"")
    same(f"status {status}", source.ask(name).error, wanted)
answers["/resolve/" + name] = (302, b"")
same("a redirect is not followed", source.ask(name).error, "Corrupt")
del answers["/resolve/" + name]

# --- a network that is bad ---
proxy = DelayProxy([f"127.0.0.1:{port}"])
bad = Source("sibling", f"http://127.0.0.1:{proxy.ports[0]}")
same("by way of the proxy", bad.ask(name).error, "Ok")
same("no token, no header", seen[-1][3], None)
before = proxy.stats(0)["closed_by_client"]
proxy.stall(0)
began = time.monotonic()
same("nothing passes", bad.ask(name, ms=250).error, "Timeout")
true("its deadline is kept", time.monotonic() - began < 2, time.monotonic() - began)
until(lambda: proxy.stats(0)["closed_by_client"] > before, "the end of the connection")
true("who gives up has closed its connection", True)
proxy.heal(0)
proxy.refuse(0)
same("refused", bad.ask(name).error, "Transient")

# --- certificates ---
subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path("key.pem"), "-out",
                path("cert.pem"), "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(path("cert.pem"), path("key.pem"))
private = Source("sibling", f"https://localhost:{serve(tls)}")
same("a certificate that nobody has signed is not taken", private.ask(name).error, "Denied")

for one in (source, bad, private):
    same("it ends well", one.close(), 0)
proxy.close()
finish()
