#!/usr/bin/env python3
"""Which of several records of a name counts, on nodes that were told different things. Prints TAP."""
import sys

sys.dont_write_bytecode = True
from index_lib import free_ports
from index_service import Index, Keys
from storage_lib import finish, same, until

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

finish()
