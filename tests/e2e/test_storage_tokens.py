#!/usr/bin/env python3
"""Capabilities over HTTP: who may do what, each caveat, rotation, what is refused at the start, and
pages of browsers that were led here. Prints TAP.
"""
import base64
import hmac
import os
import sys

sys.dont_write_bytecode = True
from storage_lib import (Storage, address, bearer, finish, has, make_file, mint, path, read_head,  # noqa: E402
                         refused, same, true, until, weir)


def narrow(token, *words):
    return weir("token", "narrow", token, *words)


def status(method, target, body=None, token=None, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return storage.ask(method, target, body, {**headers, **(bearer(token) if token else {})}).status


# --- without tokens.keys: reading and writing is free, the rest is not ---

data = path("data")
storage = Storage(data=data)
same("the first key is made at the start", len(os.listdir(os.path.join(data, "keys"))), 1)
chunk = "/o/" + address(b"chunk")
same("anybody writes", status("PUT", chunk, b"chunk"), 201)
same("and reads", status("GET", chunk), 200)
for method, target in (("DELETE", chunk), ("POST", "/admin/scrub"), ("POST", "/admin/repair"),
                       ("GET", "/inventory")):
    answer = storage.ask(method, target)
    same(f"{method} {target[:14]} needs a token", (answer.status, answer["WWW-Authenticate"]), (401, "Bearer"))
for scope, method, target, good in (
        ("read", "DELETE", chunk, 403), ("write", "DELETE", chunk, 403), ("admin", "DELETE", chunk, 403),
        ("read", "POST", "/admin/scrub", 403), ("delete", "POST", "/admin/scrub", 403),
        ("admin", "POST", "/admin/scrub", 202), ("admin", "POST", "/admin/repair", 202),
        ("peer", "GET", "/inventory", 200), ("admin", "GET", "/inventory", 403),
        ("delete", "DELETE", chunk, 204)):
    same(f"{scope} for {method} {target[:14]}", status(method, target, token=mint(data, "--scope", scope)), good)
same("a token that is shown is judged, also where none is needed",
     status("GET", chunk, token=mint(data, "--scope", "write")), 403)
for field in ("Bearer", "Bearer ", "Bearer xyz", "Basic abc", "Bearer " + "A" * 5000, "Bearer a b"):
    same(f"'{field[:12]}' is none", storage.ask("GET", chunk, headers={"Authorization": field}).status in (400, 401), True)
for field, why in (("Bearer " + "A" * 5000, "longer than 4096 bytes"), ("Bearer YWJj=", "other characters than letters"),
                   ("Basic abc", "is not shown")):
    has(f"'{field[:12]}' is told what is wrong with it",
        storage.ask("GET", chunk, headers={"Authorization": field}).json["message"], why)
same("health asks for none", [status("GET", "/" + name) for name in ("healthz", "readyz", "version", "metrics")],
     [200] * 4)
same("the end", storage.stop(), 0)

# --- with them, each request needs one ---

keys = os.path.join(data, "keys")
storage = Storage("--set", f"tokens.keys={keys}", "--set", "log.requests=true", data=data)
body = b"with tokens"
chunk = "/o/" + address(body)
full = mint(data, "--scope", "read,write,delete", "--expires", "1d")
for method, content in (("PUT", body), ("GET", None), ("HEAD", None), ("DELETE", None)):
    same(f"{method} without one", status(method, chunk, content), 401)
same("also what is not there", status("GET", "/o/" + address(b"nowhere")), 401)
same("health asks for none", status("GET", "/readyz"), 200)
same("PUT with one", status("PUT", chunk, body, full), 201)
same("GET with one", status("GET", chunk, token=full), 200)
same("/have with one", status("POST", "/have", '{"addresses": []}', full), 200)
same("/have is for who writes", status("POST", "/have", '{"addresses": []}', mint(data)), 403)

# method, path, scope
token = narrow(full, "--method", "GET")
same("only GET", [status(method, chunk, body if method == "PUT" else None, token) for method in ("GET", "HEAD", "PUT", "DELETE")],
     [200, 403, 403, 403])
token = narrow(full, "--path", chunk)
same("only this path", [status("GET", target, token=token) for target in (chunk, "/o/" + address(b""), "/f/" + chunk[3:])],
     [200, 403, 403])
same("however it is written", status("GET", "/%6f/" + chunk[3:], token=token), 200)
token = narrow(full, "--path", "/f")
same("only below /f", [status("GET", "/" + letter + chunk[2:], token=token) for letter in "of"], [403, 400])
token = narrow(full, "--scope", "read")
same("only to read", [status("GET", chunk, token=token), status("PUT", chunk, body, token)], [200, 403])
token = narrow(narrow(full, "--scope", "read"), "--scope", "write")
same("all caveats hold", [status("GET", chunk, token=token), status("PUT", chunk, body, token)], [403, 403])

# client
same("this client", status("GET", chunk, token=narrow(full, "--client", "127.0.0.0/8")), 200)
same("another client", status("GET", chunk, token=narrow(full, "--client", "192.0.2.1")), 403)
same("who only says to be", status("GET", chunk, token=narrow(full, "--client", "192.0.2.1"),
                                   X_Forwarded_For="192.0.2.1"), 403)

# expiry
token = mint(data, "--expires", "1s")
until(lambda: status("GET", chunk, token=token) == 401, "a token to expire")
answer = storage.ask("GET", chunk, headers=bearer(token))
has("one that has expired says so", answer.json["message"], "expired")

# body
token = narrow(full, "--body", "5")
same("a body that is too long", status("PUT", chunk, body, token) in (403, 413), True)
same("one that fits", status("PUT", "/o/" + address(b"12345"), b"12345", token), 201)
for target in (chunk, "/have"):
    method = "PUT" if target == chunk else "POST"
    with storage.socket() as end:
        end.sendall(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n6\r\nwith t\r\n".encode())
        has(f"{method} {target[:5]} in chunks is cut at it", read_head(end)[0].decode(), "^HTTP/1.1 4(03|13) ")

# what is not known fails closed
raw = base64.urlsafe_b64decode(full + "=" * (-len(full) % 4))
for unknown in (b"colour = red", b"scope in everything", b"expires < never", b"method  in GET", b""):
    # A caveat of our own, by the rule of macaroons: HMAC of it under the signature so far.
    head, signature = raw[:-(4 + 10 + 32 + 1)], raw[-33:-1]
    caveat = b"cid " + unknown + b"\n"
    fresh = hmac.new(signature, unknown, "sha256").digest()
    made = head + b"%04x" % (len(caveat) + 4) + caveat + b"002fsignature " + fresh + b"\n"
    text = base64.urlsafe_b64encode(made).decode().rstrip("=")
    true(f"'{unknown.decode()}' allows nothing", status("GET", chunk, token=text) in (401, 403))
known = b"method in GET"
caveat = b"cid " + known + b"\n"
made = (raw[:-47] + b"%04x" % (len(caveat) + 4) + caveat + b"002fsignature "
        + hmac.new(raw[-33:-1], known, "sha256").digest() + b"\n")
text = base64.urlsafe_b64encode(made).decode().rstrip("=")
same("one that is known, made the same way, does", status("GET", chunk, token=text), 200)
same("and a signature that is wrong not", status("GET", chunk, token=base64.urlsafe_b64encode(
    raw[:-2] + bytes([raw[-2] ^ 1]) + b"\n").decode().rstrip("=")), 401)

# --- rotation ---

old = os.listdir(keys)[0]
weir("token", "rotate", "--data", data)
fresh = mint(data, "--scope", "read")
same("a new key is not known yet", status("GET", chunk, token=fresh), 401)
has("it is loaded", storage.reload(), "reloaded")
same("then it is", status("GET", chunk, token=fresh), 200)
same("the old one, too", status("GET", chunk, token=full), 200)
os.remove(os.path.join(keys, old))
storage.reload()
same("until it is removed", status("GET", chunk, token=full), 401)
same("which the new one outlives", status("GET", chunk, token=fresh), 200)
make_file("data/keys/notes", b"x")
has("a folder that is wrong changes nothing", storage.reload(), "stays as it was.*notes")
same("and the keys go on", status("GET", chunk, token=fresh), 200)
os.remove(os.path.join(keys, "notes"))
said = storage.log()
true("no token is ever in the log", full[:60] not in said and fresh[-40:] not in said and full[-40:] not in said)
same("the end of these", storage.stop(), 0)

# --- tokens.required ---

result, said = refused("--amnesia", "--set", "tokens.required=always")
same("always wants keys", (result, said.count("\n")), (2, 1))
has("and says so", said, "tokens.keys")
storage = Storage("--set", "tokens.required=always", data=data)
same("those of the folder will do", (status("GET", chunk), status("GET", chunk, token=fresh)), (401, 200))
storage.stop()
storage = Storage("--set", "tokens.required=always", "--set", f"tokens.keys={keys}", data=data)
same("with them", (status("GET", chunk), status("GET", chunk, token=fresh)), (401, 200))
storage.stop()
storage = Storage("--set", "tokens.required=never", "--set", f"tokens.keys={keys}", data=data)
same("never", (status("GET", chunk), status("DELETE", chunk)), (200, 401))
storage.stop()
result, said = refused("--set", f"tokens.keys={path('nowhere')}", data=data)
same("keys that are not there", (result, said.count("\n")), (2, 1))

# --- what others can reach ---

for words in ((), ("--set", f"tokens.keys={keys}")):
    result, said = refused(*words, data=data, listen=("0.0.0.0:0",))
    same(f"0.0.0.0 {'with keys ' if words else ''}is refused", result, 2)
    has("and says what to do", said, "tokens.keys.*tls|tls.*--open|server.open")
result, said = refused(data=data, listen=("[::]:0",))
same("so is [::]", result, 2)
result, said = refused(data=data, listen=("127.0.0.1:0", "0.0.0.0:0"))
same("also beside one that is not", result, 2)
storage = Storage("--open", data=data, listen=("0.0.0.0:0",))
same("with --open it listens", status("GET", "/healthz"), 200)
storage.stop()

# --- pages that lead browsers here ---

storage = Storage("--set", "server.hosts=store.example", "--set", "server.origins=https://app.example", data=data)
target = "/o/" + address(b"")
storage.put(b"")
for host, good in (("localhost", 200), (f"localhost:{storage.port}", 200), ("127.0.0.1", 200), ("[::1]:80", 200),
                   ("store.example", 200), ("STORE.example:99", 200), ("evil.example", 403),
                   ("store.example.evil.example", 403), ("127.0.0.1.evil.example", 403), ("localhost.", 403),
                   ("xlocalhost", 403), ("localhost:", 200), ("localhost:65535", 200), ("localhost:65536", 403),
                   ("[::1].evil.example", 403), ("[::1]evil.example:80", 403), ("[::1]:evil", 403), ("[::1", 403),
                   ("127.0.0.1:evil", 403), ("localhost:80:evil.example", 403), ("localhost:8470.evil.example", 403),
                   ("store.example:1e1", 403), (":evil", 403)):
    same(f"Host: {host}", status("GET", target, Host=host), good)
same("health, by any name", status("GET", "/healthz", Host="evil.example"), 200)
same("nor by one that only looks right", status("GET", "/metrics", Host="[::1].evil.example"), 403)
same("but not the metrics", [status("GET", "/metrics", Host=host) for host in ("evil.example", "store.example")], [403, 200])
token = mint(data, "--scope", "read")
for fields, wanted in ((bearer(token), "private"), ({}, "public")):
    has(f"what was asked for {'with' if fields else 'without'} a token", storage.ask("GET", target, headers=fields)[
        "Cache-Control"], f"^{wanted}, ")
own = f"http://127.0.0.1:{storage.port}"
for origin, good in ((own, 200), ("https://app.example", 200), ("https://evil.example", 403), ("null", 403),
                     ("http://app.example", 403), ("https://app.example.evil.example", 403),
                     (f"https://127.0.0.1:{storage.port}", 403)):
    same(f"Origin: {origin[:28]}", status("POST", "/o", b"", Origin=origin), good)
same("a form of another site", status("POST", "/o", b"", Sec_Fetch_Site="cross-site"), 403)
same("a page of this one", status("POST", "/o", b"", Sec_Fetch_Site="same-origin"), 200)
same("a link from another site", status("GET", target, Sec_Fetch_Site="cross-site"), 200)
asked = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization"}
answer = storage.ask("OPTIONS", target, headers={"Origin": "https://app.example", **asked})
same("a browser may ask before", (answer.status, answer.body, answer["Access-Control-Allow-Origin"],
                                  answer["Access-Control-Allow-Methods"]),
     (204, b"", "https://app.example", "GET, HEAD, PUT, DELETE, OPTIONS"))
has("and show a token then", answer["Access-Control-Allow-Headers"], "Authorization")
for known, wanted in (("https://app.example", (404, "https://app.example")), ("https://evil.example", (403, ""))):
    answer = storage.ask("GET", "/o/b3:" + 64 * "0", headers={"Origin": known})
    same(f"whether {known} can read what it is told", (answer.status, answer["Access-Control-Allow-Origin"]), wanted)
answer = storage.ask("OPTIONS", target, headers={"Origin": "https://evil.example", **asked})
same("not for another page", (answer.status, answer["Access-Control-Allow-Origin"]), (403, ""))
answer = storage.ask("OPTIONS", "/o")
same("OPTIONS without a page", (answer.status, answer["Allow"], answer["Access-Control-Allow-Origin"]),
     (204, "POST, OPTIONS", ""))
same("of no path", status("OPTIONS", "/nowhere"), 404)
numbers = storage.metrics()
true("they are counted", numbers['access_denied_total{reason="cross_site"}'] >= 9, numbers)
same("the end of all", storage.stop(), 0)
finish()
