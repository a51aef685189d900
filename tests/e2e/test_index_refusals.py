#!/usr/bin/env python3
"""What is refused: queries that changes have none of, keys that come twice, bodies that are too large,
and when to come back. Prints TAP."""
import gzip
import http.client
import json
import sys

sys.dont_write_bytecode = True
from index_service import Index, Keys, Sibling
from storage_lib import bearer, exchange, finish, has, make_folder, mint, path, same, true, until

keys = Keys()
name = keys.name("photos", 1)
data = make_folder("data")
index = Index(data=data)
token = mint(data, "--scope", "admin")
admin = bearer(token)
record = json.dumps({"record": keys.of_name("photos", 1, 1)})
pin = json.dumps({"key": name})

# --- queries ---
for method, target, body in (("PUT", f"/names/{name}", record), ("DELETE", f"/names/{name}", record),
                             ("PUT", "/providers/b3:" + "0" * 64, record), ("POST", "/admin/pin", pin),
                             ("POST", "/admin/unpin", pin), ("POST", "/admin/reindex", None), ("POST", "/admin/reload", None)):
    answer = index.ask(method, target + "?x=1", body, admin if method == "POST" else {})
    same(f"{method} {target.split('/')[1]}/{target.split('/')[2][:6]} has no query", (answer.status, answer.json.get("error")), (400, "Invalid"))
numbers = index.metrics()
same("and nothing was done", (numbers['index_records{kind="names"}'], numbers['index_records{kind="pins"}']), (0, 0))

# --- a key that comes twice ---
connection = http.client.HTTPConnection("127.0.0.1", index.port)
connection.putrequest("POST", "/admin/pin")
for header, value in {**admin, "Content-Length": str(len(pin))}.items():
    connection.putheader(header, value)
connection.putheader("Idempotency-Key", "one")
connection.putheader("Idempotency-Key", "two")
connection.endheaders(pin.encode())
answer = connection.getresponse()
has("two Idempotency-Keys are none", f"{answer.status} {answer.read().decode()}", "^400 .*Idempotency-Key came twice")
connection.close()

# --- when to come back ---
connection = index.connect()
told = {exchange(connection, "POST", "/admin/unpin", pin, {**admin, "Idempotency-Key": f"k{number}"}).status
        for number in range(1024)}
same("1024 keys are remembered", told, {200})
answer = exchange(connection, "POST", "/admin/unpin", pin, {**admin, "Idempotency-Key": "more"})
same("and no more", (answer.status, answer.json["error"]), (429, "Busy"))
true("until the first is forgotten", 500 <= int(answer["Retry-After"]) <= 600, answer["Retry-After"])
connection.close()

# --- too large ---
answer = index.ask("PUT", f"/names/{name}", "x" * 8193)
has("the limit is named", f"{answer.status} {answer.json['message']}", "^413 .*larger than the 8192 bytes")
answer = index.ask("PUT", f"/names/{name}", iter([b"x" * 8193]))
has("also in chunks", f"{answer.status} {answer.json['message']}", "^413 .*larger than the 8192 bytes")
small = bearer(mint(data, "--scope", "write", "--body", "100"))
answer = index.ask("PUT", f"/names/{name}", iter([b"x" * 101]), small)
has("that of a token, too", f"{answer.status} {answer.json['message']}", "^413 .*larger than the 100 bytes")
packed = {"Content-Encoding": "gzip"}
answer = index.ask("PUT", f"/names/{name}", gzip.compress(b"x" * 8000), packed)
has("what unpacks to ten times its size", f"{answer.status} {answer.json['message']}", "^413 .*more than ten times its size")
varied = b"".join(b"%x" % (number * 2654435761 % 2**32) for number in range(1200))
answer = index.ask("PUT", f"/names/{name}", gzip.compress(varied), packed)
has("or to more than is taken", f"{answer.status} {answer.json['message']}", "^413 .*more than 8 KiB")
index.stop()

# --- sources that are left alone ---
sibling = Sibling(status=500)
index = Index(f"siblings.nodes={sibling.url}", "breaker.cooldown_s=60", "breaker.calls_min=1", "dht.tries=1", "dht.quorum=2")


def is_open():
    answer = index.resolve(name)
    return answer if answer.json["error"] == "BreakerOpen" else None


answer = until(is_open, "an open breaker")
true("one that is left alone is asked again then", 40 <= int(answer["Retry-After"]) <= 60, answer["Retry-After"])
index.stop()
finish()
