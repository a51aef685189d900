#!/usr/bin/env python3
"""Chunks over HTTP, as clients meet them: each method, ranges, conditions, codings, limits, errors;
by hand, by curl and by wget. Prints TAP.
"""
import glob
import gzip
import os
import random
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from storage_lib import (MIB, Storage, address, bearer, exchange, finish, has, is_envelope, make_file,  # noqa: E402
                         mint, parts_of, path, read_head, run, same, true)

chance = random.Random(7)
data = path("data")
storage = Storage(data=data)
same("it says where it listens", storage.places, [f"http://127.0.0.1:{storage.port}"])
text = chance.randbytes(100_000)
name = address(text)
target = "/o/" + name

# --- PUT, POST, GET, HEAD ---

answer = storage.put(text)
same("a chunk is created", answer.status, 201)
same("under its address", answer.json, {"address": name})
same("which is where it lies", answer["Location"], target)
same("and its tag", answer["ETag"], f'"{name}"')
same("once more, it is there", storage.put(text).status, 200)
answer = storage.put(text + b"x", name=name)
same("other bytes do not fit", answer.status, 409)
true("and that is said in an envelope", is_envelope(answer, "Mismatch"), answer)
answer = storage.put(b"x", name=address(b"y"))
same("what does not match is refused", answer.status, 409)
same("and not kept", storage.get("/o/" + address(b"x")).status, 404)
same("nor under its name", storage.get("/o/" + address(b"y")).status, 404)

answer = storage.ask("POST", "/o", b"posted")
same("posted", answer.status, 201)
same("its address is told", (answer.json, answer["Location"]),
     ({"address": address(b"posted")}, "/o/" + address(b"posted")))
same("posted again", storage.ask("POST", "/o", b"posted").status, 200)

answer = storage.get(target)
same("it comes back", (answer.status, answer.body), (200, text))
for field, value in {"ETag": f'"{name}"', "Accept-Ranges": "bytes", "Vary": "Accept-Encoding",
                     "Content-Length": "100000", "Content-Type": "application/octet-stream",
                     "X-Content-Type-Options": "nosniff"}.items():
    same(f"with {field}", answer[field], value)
has("it never changes", answer["Cache-Control"], "immutable")
has("no page can be made of it", answer["Content-Security-Policy"], "sandbox")
head = storage.ask("HEAD", target)
same("HEAD has no body", (head.status, head.body, head["Content-Length"]), (200, b"", "100000"))
same("and the same fields", {key: head[key] for key, _ in answer.fields if key not in ("X-Corr-ID", "Date")},
     {key: answer[key] for key, _ in answer.fields if key not in ("X-Corr-ID", "Date")})
answer = storage.get("/o/" + address(b"nowhere"))
same("what is not there", answer.status, 404)
true("is told in an envelope", is_envelope(answer, "NotFound"), answer)
answer = storage.ask("HEAD", "/o/" + address(b"nowhere"))
same("also to HEAD, without a body", (answer.status, answer.body), (404, b""))

# --- sizes ---

for length in (0, 1, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 65536, MIB - 1, MIB):
    content = chance.randbytes(length)
    same(f"{length} bytes go in", storage.put(content).status, 201)
    same(f"{length} bytes come out", storage.get("/o/" + address(content)).body, content)
    same(f"{length} bytes are there", storage.put(content).status, 200)
answer = storage.put(bytes(MIB + 1))
same("one byte more does not fit", answer.status, 413)
true("and that is said", is_envelope(answer, "TooLarge"), answer)
same("an empty chunk by POST", storage.ask("POST", "/o", b"").status, 200)

# --- ranges ---

def ranges(wanted, **headers):
    return storage.get(target, Range=wanted, **headers)


for wanted, first, end in (("bytes=0-0", 0, 1), ("bytes=10-19", 10, 20), ("bytes=99990-", 99990, 100000),
                           ("bytes=-7", 99993, 100000), ("bytes=-200000", 0, 100000),
                           ("bytes=50000-999999999999999999999999", 50000, 100000)):
    answer = ranges(wanted)
    same(wanted, (answer.status, answer["Content-Range"], answer.body),
         (206, f"bytes {first}-{end - 1}/100000", text[first:end]))
for wanted in ("bytes=100000-", "bytes=-0", "bytes=200000-300000"):
    answer = ranges(wanted)
    same(f"{wanted} cannot be had", (answer.status, answer["Content-Range"]), (416, "bytes */100000"))
    true("and that is said", is_envelope(answer, "Range"), answer)
for wanted in ("bytes=5-1", "lines=0-1", "bytes=a-b", "bytes 0-1", "bytes=" + ",".join(["0-1"] * 17)):
    same(f"'{wanted[:20]}' is no range: all of it", (ranges(wanted).status, ranges(wanted).body), (200, text))
answer = ranges("bytes=0-9, 50-59, -10")
same("three ranges", (answer.status, parts_of(answer)),
     (206, [("bytes 0-9/100000", text[:10]), ("bytes 50-59/100000", text[50:60]),
            ("bytes 99990-99999/100000", text[-10:])]))
same("are as long as they say", int(answer["Content-Length"]), len(answer.body))
answer = ranges("bytes=0-9,5-19")
same("ranges that overlap are one", (answer.status, answer.body), (206, text[:20]))
answer = ranges("bytes=0-9,200000-")
same("of two, the one that can be had", (answer.status, answer.body), (206, text[:10]))
answer = storage.ask("HEAD", target, headers={"Range": "bytes=0-9"})
same("HEAD has no ranges", (answer.status, answer["Content-Length"]), (200, "100000"))
same("of an empty chunk there is no byte", storage.get("/o/" + address(b""), Range="bytes=0-0").status, 416)

# --- conditions ---

tag = f'"{name}"'
answer = storage.get(target, If_None_Match=tag)
same("unchanged", (answer.status, answer.body, answer["ETag"]), (304, b"", tag))
same("and says what depends on what", answer["Vary"], "Accept-Encoding")
for given, status in ((f"W/{tag}", 304), ("*", 304), (f'"a", {tag}', 304), ('"a"', 200), ("junk", 200)):
    same(f"If-None-Match {given[:8]}", storage.get(target, If_None_Match=given).status, status)
for given, status in ((tag, 200), ("*", 200), ('"a"', 412), (f"W/{tag}", 412), ("junk", 412)):
    same(f"If-Match {given[:8]}", storage.get(target, If_Match=given).status, status)
true("412 has an envelope", is_envelope(storage.get(target, If_Match='"a"')))
same("304 to HEAD", storage.ask("HEAD", target, headers={"If-None-Match": tag}).status, 304)
for given, status in ((tag, 206), (f"W/{tag}", 200), ('"a"', 200), ("Tue, 17 Nov 2026 00:00:00 GMT", 200)):
    same(f"If-Range {given[:8]}", ranges("bytes=0-9", If_Range=given).status, status)
same("what is unchanged has no range", ranges("bytes=900000-", If_None_Match=tag).status, 304)

# --- codings ---

def packed(coding, content, original, name=None):
    return storage.put(content, {"Content-Encoding": coding}, name or address(original))


def zstd(content):
    return subprocess.run(["zstd", "-q", "-c"], input=content, stdout=subprocess.PIPE, check=True).stdout


def stored(content):
    """In gzip, and not packed: blocks of 65535 bytes at most, as they are."""
    return gzip.compress(content, 0)


plain = chance.randbytes(30_000) + bytes(50_000)
same("gzip", packed("gzip", gzip.compress(plain), plain).status, 201)
same("is unpacked", storage.get("/o/" + address(plain)).body, plain)
same("x-gzip is the same", packed("x-gzip", gzip.compress(plain), plain).status, 200)
plain = chance.randbytes(30_000) + bytes(1000)
same("zstd", packed("zstd", zstd(plain), plain).status, 201)
same("is unpacked, too", storage.get("/o/" + address(plain)).body, plain)
same("identity", packed("identity", plain, plain).status, 200)
answer = storage.ask("POST", "/o", gzip.compress(b"by post"), {"Content-Encoding": "gzip"})
same("gzip by POST", (answer.status, answer.json["address"]), (201, address(b"by post")))
for coding, pack in (("gzip", gzip.compress), ("zstd", zstd)):
    answer = packed(coding, pack(bytes(200_000)), bytes(200_000))
    same(f"{coding}: more than ten times", (answer.status, answer.json["error"]), (413, "TooLarge"))
    half = chance.randbytes(MIB // 4) + bytes(MIB)
    same(f"{coding}: unpacked above 1 MiB", packed(coding, pack(half), half).status, 413)
    same(f"{coding}: also where the address is another", packed(coding, pack(half), b"").status, 413)
    most = chance.randbytes(MIB // 2) + bytes(MIB // 2)
    same(f"{coding}: unpacked to 1 MiB", packed(coding, pack(most), most).status, 201)
    answer = packed(coding, pack(text)[:-3], text)
    same(f"{coding}: cut", (answer.status, is_envelope(answer, "Invalid")), (400, True))
    blocks = stored(chance.randbytes(60_000)) if coding == "gzip" else pack(chance.randbytes(60_000))
    answer = packed(coding, blocks[:5000], text)
    same(f"{coding}: cut where it is as it was", (answer.status, is_envelope(answer, "Invalid")), (400, True))
    same(f"{coding}: none at all", packed(coding, b"no such thing", b"").status, 400)
for coding in ("br", "deflate", "gzip, gzip", "compress"):
    answer = packed(coding, b"x", b"x")
    same(f"{coding} is not understood", (answer.status, answer["Accept-Encoding"]), (415, "gzip, zstd"))
    true("and that is said", is_envelope(answer, "Unsupported"), answer)

# --- uploads in chunks ---

def chunked(pieces):
    yield from pieces


pieces = [chance.randbytes(1000) for _ in range(300)]
connection = storage.connect()
answer = exchange(connection, "PUT", "/o/" + address(b"".join(pieces)), chunked(pieces))
same("an upload in chunks", answer.status, 201)
answer = exchange(connection, "GET", "/o/" + address(b"".join(pieces)))
same("comes back, on the same connection", answer.body, b"".join(pieces))
connection.close()
with storage.socket() as end:
    end.sendall(f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {MIB + 1}\r\n\r\n".encode())
    has("413 comes before the body", read_head(end)[0].decode(), "^HTTP/1.1 413 ")
with storage.socket() as end:
    end.sendall(f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {MIB + 1}\r\n"
                "Expect: 100-continue\r\n\r\n".encode())
    has("and instead of 100", read_head(end)[0].decode(), "^HTTP/1.1 413 ")
with storage.socket() as end:
    end.sendall(f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    for _ in range(16):
        end.sendall(b"10000\r\n" + bytes(65536) + b"\r\n")
    end.sendall(b"1\r\nx\r\n")
    has("one that grows past it is stopped while it comes", read_head(end)[0].decode(), "^HTTP/1.1 413 ")
with storage.socket() as end:
    end.sendall(f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    for _ in range(16):
        end.sendall(b"10000\r\n" + bytes(65536) + b"\r\n")
    end.sendall(b"0\r\n\r\n")
    has("one of exactly 1 MiB is whole", read_head(end)[0].decode(), "^HTTP/1.1 409 ")
with storage.socket() as end:
    end.sendall(f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
                "Expect: 100-continue\r\n\r\n".encode())
    has("who asks is told to go on", read_head(end)[0].decode(), "^HTTP/1.1 100 ")
    end.sendall(text)
    has("and answered", read_head(end)[0].decode(), "^HTTP/1.1 200 ")

# --- errors ---

for method, where, status in (
        ("GET", "/", 404), ("GET", "/o", 405), ("DELETE", "/healthz", 405), ("POST", target, 405),
        ("PUT", "/o", 405), ("PUT", "/f/" + name, 405), ("GET", "/o/b3:12", 400), ("GET", "/o/", 400),
        ("GET", target.upper().replace("/O/B3", "/o/b3"), 400), ("GET", target + "0", 400),
        ("GET", target + "/x", 400), ("GET", "/nothing/here", 404), ("GET", "/admin", 404)):
    answer = storage.ask(method, where)
    same(f"{method} {where[:12]}", (answer.status, is_envelope(answer)), (status, True))
same("405 says which", storage.ask("POST", target)["Allow"], "GET, HEAD, PUT, DELETE, OPTIONS")
has("a method that is none", storage.raw(b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n").decode(), "^HTTP/1.1 [45]0[15] ")
answer = storage.ask("DELETE", target)
same("DELETE wants a token", (answer.status, answer["WWW-Authenticate"], is_envelope(answer, "Unauthorized")),
     (401, "Bearer", True))
token = bearer(mint(data, "--scope", "delete"))
same("with one it is gone", storage.ask("DELETE", target, headers=token).status, 204)
same("indeed", storage.get(target).status, 404)
same("and cannot be deleted again", storage.ask("DELETE", target, headers=token).status, 404)
same("but put", storage.put(text).status, 201)
same("and read", storage.get(target).body, text)

# --- correlation ---

same("a sane id is kept", storage.get(target, X_Corr_ID="abc-123_X")["X-Corr-ID"], "abc-123_X")
answer = storage.get("/nothing", X_Corr_ID="abc-123_X")
same("also in errors", (answer["X-Corr-ID"], answer.json["corr_id"]), ("abc-123_X", "abc-123_X"))
for odd in ("a b", 'a"b', "x" * 65, "a<b>", "a\\b"):
    answer = storage.get("/nothing", X_Corr_ID=odd)
    true(f"{odd[:6]} is replaced", answer["X-Corr-ID"] not in ("", odd) and is_envelope(answer), answer)
true("each request has its own", storage.get(target)["X-Corr-ID"] != storage.get(target)["X-Corr-ID"])

# --- /have and /inventory ---

answer = storage.ask("POST", "/have", f'{{"addresses": ["{name}", "{address(b"no")}"]}}')
same("what is there of some", (answer.status, answer.json), (200, {"have": [True, False]}))
asked = f'{{"addresses": ["{name}"]}}'.encode()
for coding, body in (("gzip", gzip.compress(asked)), ("zstd", zstd(asked)), ("identity", asked)):
    answer = storage.ask("POST", "/have", body, {"Content-Encoding": coding})
    same(f"asked in {coding}", (answer.status, answer.json), (200, {"have": [True]}))
answer = storage.ask("POST", "/have", asked, {"Content-Encoding": "br"})
same("a coding that is not understood", (answer.status, answer["Accept-Encoding"]), (415, "gzip, zstd"))
answer = storage.ask("POST", "/have", gzip.compress(asked)[:-3], {"Content-Encoding": "gzip"})
same("a coding that is cut", (answer.status, answer.json["message"]), (400, "the body cannot be unpacked"))
answer = storage.ask("POST", "/have", gzip.compress(asked + b" " * 100_000), {"Content-Encoding": "gzip"})
same("a coding that is a bomb", (answer.status, is_envelope(answer, "TooLarge")), (413, True))
same("none of none", storage.ask("POST", "/have", '{"addresses": []}').json, {"have": []})
for body in ("", "[]", "{}", '{"addresses": 1}', '{"addresses": ["b3:1"]}', '{"addresses": [], "more": 1}',
             '{"addresses": [], "addresses": []}', '{"addresses": []} x'):
    answer = storage.ask("POST", "/have", body)
    same(f"{body} is refused", (answer.status, is_envelope(answer, "Invalid")), (400, True))
answer = storage.get("/inventory")
same("the inventory is for peers", answer.status, 401)
peer = bearer(mint(data, "--scope", "peer"))
answer = storage.ask("GET", "/inventory?limit=5", headers=peer)
lines = answer.body.decode().splitlines()
same("who get pages of it", (answer.status, len(lines)), (200, 5))
last = re.search(r"b3:[0-9a-f]+", lines[-1]).group(0)
more = storage.ask("GET", f"/inventory?limit=10000&after={last}", headers=peer).body.decode().splitlines()
listed = re.findall(r"b3:[0-9a-f]+", "\n".join(lines + more))
same("in order, each once", listed, sorted(set(listed)))
true("all of it", name in listed and address(b"posted") in listed)
for query in (f"after={last.replace(':', '%3A')}&limit=10000", f"limit=1%30000&after=%62{last[1:]}"):
    answer = storage.ask("GET", "/inventory?" + query, headers=peer)
    same(f"also with escapes, as {query[:14]}", (answer.status, answer.body.decode().splitlines()), (200, more))
for query in ("limit=0", "limit=10001", "limit=", "limit=5x", "limit=%35%", "limit=5%00", "limit=%2B5", "limit=5&limit=6",
              f"after={last}&after={last}", "after=b3:0", "after=", f"after={last}00", "more=1", "&limit=5"):
    answer = storage.ask("GET", "/inventory?" + query, headers=peer)
    same(f"{query[:14]} is no query", (answer.status, is_envelope(answer, "Invalid")), (400, True))

# --- curl and wget ---

source = make_file("source", chance.randbytes(77_777))
with open(source, "rb") as file:
    content = file.read()
there = storage.url + "/o/" + address(content)
status, out, _ = run("curl", "-sS", "-T", source, "-o", path("said"), "-w", "%{http_code}", there)
same("curl -T", (status, out), (0, b"201"))
status, out, _ = run("curl", "-sSf", there)
same("curl", (status, out), (0, content))
status, out, _ = run("curl", "-sSf", "-r", "1000-1999", there)
same("curl -r", (status, out), (0, content[1000:2000]))
status, out, _ = run("curl", "-sSf", "-r", "-5", there)
same("curl -r, the end", (status, out), (0, content[-5:]))
make_file("part", content[:5000])
run("curl", "-sSf", "-C", "-", "-o", path("part"), there)
with open(path("part"), "rb") as file:
    same("curl -C goes on where it was", file.read(), content)
status, out, _ = run("curl", "-sSf", "-I", there)
has("curl -I", out.decode(), "^HTTP/1.1 200 .*(?i:content-length): 77777")
with open(source, "rb") as file:
    done = subprocess.run(["curl", "-sS", "-T", "-", "-w", "%{http_code}", "-o", path("said"), there],
                          stdin=file, stdout=subprocess.PIPE, check=False)
same("curl from a pipe, in chunks", done.stdout, b"200")
status, out, _ = run("curl", "-sS", "--data-binary", "@" + source, storage.url + "/o")
has("curl --data-binary", out.decode(), address(content))
if shutil.which("wget"):
    status, _, err = run("wget", "-q", "-O", path("got"), there)
    with open(path("got"), "rb") as file:
        same("wget", (status, file.read()), (0, content))
    make_file("got", content[:60_000])
    run("wget", "-q", "-c", "-O", path("got"), there)
    with open(path("got"), "rb") as file:
        same("wget -c", file.read(), content)

# --- connections ---

connection = storage.connect()
for _ in range(20):
    answer = exchange(connection, "GET", target, headers={"Range": "bytes=0-99"})
    if answer.body != text[:100]:
        break
same("many requests on one connection", answer.body, text[:100])
connection.close()
answer = storage.raw(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"
                     f"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
same("two at once are answered in turn", re.findall(rb"HTTP/1.1 (\d+)", answer), [b"403", b"200"])
answer = storage.raw(f"GET {target} HTTP/1.0\r\n\r\n".encode())
true("HTTP/1.0", answer.startswith(b"HTTP/1.") and answer.endswith(text), answer[:200])
for wrong in (b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
              b"PUT /o HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
              b"GET /o/../x HTTP/1.1\r\nHost: a\r\n\r\n", b"GET nonsense\r\n\r\n"):
    has(f"{wrong[:24]} is refused", storage.raw(wrong).decode(), "^HTTP/1.1 400 .*Connection: close")

# --- conditions of what changes something, and fields that come twice ---

kept, absent = b"under a condition", b"not under a condition"
storage.put(kept)
right, wrong = f'"{address(kept)}"', '"b3:0"'
erase = bearer(mint(data, "--scope", "delete"))
for fields, wanted in (({"If-Match": wrong}, 412), ({"If-None-Match": "*"}, 412), ({"If-None-Match": right}, 412)):
    same(f"DELETE with {fields}", storage.ask("DELETE", "/o/" + address(kept), headers={**erase, **fields}).status, wanted)
    same("leaves it", storage.get("/o/" + address(kept)).body, kept)
for fields, wanted in (({"If-Match": "*"}, 412), ({"If-Match": f'"{address(absent)}"'}, 412)):
    same(f"PUT of something new with {list(fields)}", storage.put(absent, fields).status, wanted)
    same("stores nothing", storage.get("/o/" + address(absent)).status, 404)
    same("so does DELETE", storage.ask("DELETE", "/o/" + address(absent), headers={**erase, **fields}).status, 412)
    # RFC 9110, 13.2.1: what would be an error without the condition is that error with it.
    same("reads find nothing, under a condition or not",
         [storage.ask(method, "/o/" + address(absent), headers=fields).status for method in ("GET", "HEAD")], [404, 404])
for fields, wanted in (({"If-None-Match": "*"}, 412), ({"If-Match": right}, 200), ({"If-None-Match": wrong}, 200)):
    same(f"PUT of what is there with {list(fields)}", storage.put(kept, fields).status, wanted)
same("PUT of something new with If-None-Match", storage.put(absent, {"If-None-Match": "*"}).status, 201)
same("DELETE with the right tag", storage.ask("DELETE", "/o/" + address(kept), headers={**erase, "If-Match": right}).status, 204)


def twice(*lines, method="GET", body=b""):
    name = address(absent)
    return storage.raw(f"{method} /o/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
                       f"{len(body)}\r\n".encode() + "".join(line + "\r\n" for line in lines).encode() + b"\r\n" + body)


right = f'"{address(absent)}"'
for lines, wanted in (((f"If-None-Match: {wrong}", f"If-None-Match: {right}"), 304),
                      ((f"If-Match: {wrong}", f"if-match: {right}"), 200), ((f"If-Match: {wrong}", "If-Match: W/" + right), 412),
                      (("Range: bytes=0-1", "Range: bytes=0-2"), 400), (("X-Deadline-Ms: 5", "X-Deadline-Ms: 9000"), 400),
                      (("If-Match: " + ",".join([wrong] * 700), f"If-Match: {right}"), 412)):
    has(f"{lines[0][:20]} twice", twice(*lines).decode(), f"^HTTP/1.1 {wanted} ")
has("two codings", twice("Content-Encoding: identity", "Content-Encoding: gzip", method="PUT", body=absent).decode(),
    "^HTTP/1.1 415 ")

# --- bodies that do not say how long they are, and parts of bodies ---

for line, rest in (("POST /o HTTP/1.0", "abc"), ("POST /o HTTP/1.1", ""), (f"PUT /o/{address(b'abc')} HTTP/1.1", ""),
                   (f"PUT /o/{address(b'')} HTTP/1.1", ""), ("POST /have HTTP/1.1", "")):
    answer = storage.raw(f"{line}\r\nHost: localhost\r\nConnection: close\r\n\r\n{rest}".encode()).decode()
    has(f"{line[:8]} {line[-3:]} without a length", answer, "^HTTP/1.1 411 .*Connection: close.*Invalid.*Content-Length")
has("what follows is no other request", storage.raw(b"POST /o HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\n"
    b"Host: localhost\r\n\r\n").decode(), r"^HTTP/1.1 411 (?!.*HTTP/1)")
has("a length of nothing is one", storage.raw(b"POST /o HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    b"Content-Length: 0\r\n\r\n").decode(), "^HTTP/1.1 20[01] .*" + address(b""))
same("curl -X POST", run("curl", "-s", "-X", "POST", "-o", "/dev/null", "-w", "%{http_code}", storage.url + "/o")[1], b"411")
has("curl -d ''", run("curl", "-s", "-d", "", storage.url + "/o")[1].decode(), address(b""))
same("administration needs no body", storage.raw(f"POST /admin/scrub HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
     f"Authorization: Bearer {mint(data, '--scope', 'admin')}\r\n\r\n".encode())[:12], b"HTTP/1.1 202")
part = b"a part of something"
for method, where in (("PUT", "/o/" + address(part)), ("POST", "/o")):
    answer = storage.ask(method, where, part, {"Content-Range": f"bytes 0-{len(part) - 1}/100"})
    same(f"{method} of a part", (answer.status, is_envelope(answer, "Invalid")), (400, True))
same("stores nothing", storage.get("/o/" + address(part)).status, 404)

# --- rot ---

rotten = os.urandom(5000)
storage.put(rotten)
same("it is read, and remembered as good", storage.get("/o/" + address(rotten)).body, rotten)
for name in sorted(glob.glob(os.path.join(data, "segments", "*.seg"))):
    with open(name, "r+b") as segment:
        at = segment.read().find(rotten)
        if at >= 0:
            segment.seek(at + 1000)
            segment.write(bytes([rotten[1000] ^ 1]))
answer = storage.put(rotten)
same("what has rotted meanwhile is not taken for present", answer.status, 201)
storage.wait_for_log(re.escape(address(rotten)) + ": its bytes are not those of its address")
storage.wait_for_log(re.escape(address(rotten)) + "( is good again| could not be repaired)")
same("but put again", storage.get("/o/" + address(rotten)).body, rotten)
same("and present then", storage.put(rotten).status, 200)

# --- again from the disk ---

same("it ends well", storage.stop(), 0)
storage = Storage(data=data)
same("what was stored is there after a restart", storage.get(target).body, text)
same("also what was packed", storage.get("/o/" + address(plain)).body, plain)
same("and again", storage.stop(), 0)
storage = Storage("--set", "storage.verify=always", data=data)
for _ in range(2):
    same("verified each time", storage.get(target).body, text)
answer = storage.get(target, Range="bytes=0-9,50-59")
same("also in parts", [part for _, part in parts_of(answer)], [text[:10], text[50:60]])
same("and HEAD", storage.ask("HEAD", target)["Content-Length"], "100000")
same("the end", storage.stop(), 0)
finish()
