#!/usr/bin/env python3
"""weir index as the delegated routing of the IPFS: by hand, and with the client that its programs use.
MODULES is a folder node_modules with @helia/delegated-routing-v1-http-api-client, where npm could get it.
Prints TAP."""
import base64
import json
import os
import shutil
import sys

sys.dont_write_bytecode = True
from index_service import Index, Keys
from storage_lib import address, finish, make_file, make_folder, run, same, tap, true

MODULE = "@helia/delegated-routing-v1-http-api-client"
keys = Keys()
chunk = address(b"a chunk")


def cid_of(text):
    raw = bytes([1, 0x55, 0x1e, 0x20]) + bytes.fromhex(text[3:])
    return "b" + base64.b32encode(raw).decode().lower().rstrip("=")


cid = cid_of(chunk)
place = "/routing/v1/providers/"
index = Index()
answer = index.get(place + cid)
same("nobody provides it: an empty answer", (answer.status, answer.json), (200, {"Providers": []}))
same("for a short time", answer["Cache-Control"], "public, max-age=15")
same("that depends on what is accepted", answer["Vary"], "Accept")
answer = index.get(place + cid, Accept="application/x-ndjson")
same("as lines it is nothing", (answer.status, answer["Content-Type"], answer.body), (200, "application/x-ndjson", b""))
same("a CID of another hash is empty, too",
     index.get(place + "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku").json, {"Providers": []})
same("of version 0 as well", index.get(place + "QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n").json, {"Providers": []})
sharp = bytes([1, 0x55, 0x1e, 0x20]) + b"\0\0" + b"\x03\xf3\xe0" * 10  # with '/', or '_'
in_64 = ["m" + base64.b64encode(sharp).decode().rstrip("="), "u" + base64.urlsafe_b64encode(sharp).decode().rstrip("=")]
same("in base64 and base64url as well", [index.get(place + text).status for text in in_64], [200] * 2)
same("what is no CID is refused", [index.get(place + text).status for text in ("x", "b", cid + "a", chunk)], [422] * 4)

for seed in range(105):
    text = keys.of_provider(chunk, seed, 1, f"https://p{seed}.example/store")
    assert index.publish("/providers/" + chunk, text).status == 201
answer = index.get(place + cid)
same("as one object there are at most a hundred", len(answer.json["Providers"]), 100)
one = answer.json["Providers"][0]
same("each is a peer", (one["Schema"], one["Protocols"]), ("peer", ["transport-weir-http"]))
true("with an id of its key", one["ID"].startswith("12D3KooW"), one)
true("and an address", one["Addrs"][0].startswith("/dns/p") and one["Addrs"][0].endswith("/tcp/443/tls/http/http-path/store"), one)
true("and its signed record", one["transport-weir-http"]["record"], one)
true("it may be kept", "max-age=" in answer["Cache-Control"] and answer["Last-Modified"].endswith("GMT"), answer)
lines = index.get(place + cid, Accept="application/x-ndjson, application/json;q=0.8")
same("as lines there are all", len([json.loads(line) for line in lines.body.splitlines()]), 105)
same("which the head says", lines["Content-Type"], "application/x-ndjson")
with index.socket() as end:
    end.sendall(f"GET {place}{cid} HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\nConnection: close\r\n\r\n".encode())
    whole = b""
    while piece := end.recv(65536):
        whole += piece
chunks = whole.partition(b"\r\n\r\n")[2].split(b"\r\n")[1::2]
true("each line is sent as a chunk of its own", len(chunks) >= 105 and all(c == b"" or c.endswith(b"\n") and c.count(b"\n") == 1
                                                                       for c in chunks), len(chunks))
same("HEAD has no body", index.ask("HEAD", place + cid).body, b"")

# --- the real client ---
SCRIPT = """
import { delegatedRoutingV1HttpApiClient } from '@helia/delegated-routing-v1-http-api-client'
import { CID } from 'multiformats/cid'
// What the client takes for granted, and node has from 22 on.
Promise.withResolvers ??= function () {
  const all = {}
  all.promise = new Promise((resolve, reject) => Object.assign(all, { resolve, reject }))
  return all
}
const logger = { forComponent: () => Object.assign(() => {}, { error: console.error, trace: () => {}, enabled: false }) }
const client = delegatedRoutingV1HttpApiClient({ url: process.argv[2] })({ logger })
await client.start?.()
for (const cid of process.argv.slice(3)) {
  const found = []
  for await (const one of client.getProviders(CID.parse(cid)))
    found.push({ id: one.ID.toString(), addrs: one.Addrs.map(a => a.toString()), protocols: one.Protocols })
  console.log(JSON.stringify(found))
}
await client.stop?.()
process.exit(0)
"""


def find_client():
    """A folder with the modules in it; or why there is none."""
    modules = os.environ.get("MODULES", "")
    if not shutil.which("node"):
        return None, "node is not installed"
    if not os.path.isdir(os.path.join(modules, MODULE)):
        return None, f"{MODULE} is not there: script/setup gets it where npm is installed"
    there = make_folder("helia")
    os.symlink(modules, os.path.join(there, "node_modules"))
    return there, ""


there, why = find_client()
if there:
    script = make_file("helia/ask.mjs", SCRIPT)
    status, out, err = run("node", "--preserve-symlinks", script, index.url, cid, cid_of(address(b"nothing")), cwd=there)
    said = [json.loads(line) for line in out.splitlines()]
    same("the client of helia finds all providers", (status, [len(found) for found in said]), (0, [105, 0]))
    true("and understands them", said and said[0][0]["protocols"] == ["transport-weir-http"]
         and said[0][0]["addrs"][0].startswith("/dns/p"), err)
else:
    tap.skip("the client of helia finds all providers", why)
index.stop()
finish()
