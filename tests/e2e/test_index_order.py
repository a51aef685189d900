#!/usr/bin/env python3
"""Which of several records of a name counts, on nodes that were told different things. Prints TAP."""
import sys

sys.dont_write_bytecode = True
from index_lib import free_ports
from index_service import Index, Keys
from storage_lib import finish, path, same, until

keys = Keys()
QUICK = ("cache.ttl=200ms", "cache.negative_ttl=100ms")


def record_of(index, what):
    return index.resolve(what).json.get("record")


# --- one sequence, two records: the later expiry counts, wherever it was put ---
ports = free_ports(2)
urls = [f"http://127.0.0.1:{port}" for port in ports]
pair = [Index(f"siblings.nodes={urls[1 - i]}", *QUICK, listen=(f"127.0.0.1:{ports[i]}",))
        for i in range(2)]
third = Index("siblings.nodes=" + ",".join(urls), *QUICK)
name = keys.name("same", 1)
texts = [keys.of_name("same", 1, 5, life) for life in (3600, 7200)]
for node, text in zip(pair, texts):
    same("each node takes the record that it is told", node.publish("/names/" + name, text).status, 201)
until(lambda: all(record_of(node, name) == texts[1] for node in (*pair, third)), "all nodes tell the same")
same("all nodes come to tell the same record", [record_of(node, name) for node in (*pair, third)], [texts[1]] * 3)
listed = [entry["expires"] for entry in pair[0].get("/names").json["names"]]
same("and the one that kept the other keeps it, too", listed, [pair[1].resolve(name).json["expires"]])
for node in (*pair, third):
    node.stop()

# --- a key that may not speak any more ---
folder = path("team")
both = f"names.prefixes=team={keys.id(1)}+{keys.id(2)}"
node = Index(both, data=folder)
for label, seed, sequence in (("team/x", 2, 2**63 - 1), ("team/y", 2, 3), ("team/z", 1, 3)):
    same(f"{label} is taken from a key that is bound", node.publish("/names/" + label, keys.record(
        f"bare {label} {seed} {sequence} 3600")).status, 201)
same("all are listed", [entry["name"] for entry in node.get("/names").json["names"]], ["team/x", "team/y", "team/z"])
node.stop()
node = Index(f"names.prefixes=team={keys.id(1)}", data=folder)
same("when a key is not bound any more, what it said is not told", node.resolve("team/x").status, 404)
same("and not listed", [entry["name"] for entry in node.get("/names").json["names"]], ["team/z"])
same("nor does it keep others from speaking", node.publish("/names/team/x", keys.record(
    "bare team/x 1 5 3600"), previous=0).status, 201)
same("who are told", node.resolve("team/x").json["sequence"], 5)
node.stop()

finish()
