#!/usr/bin/env python3
"""docs/concurrency-index.md tells the truth about the index: see topology_lib.py."""
import sys

sys.dont_write_bytecode = True
from topology_lib import Service, main

# Of clients, of the page of a scan; the bell of the line of attempts and the limits of lookups, which
# are parts of a lookup; the pace of the publisher; and kinds of sources, not of threads.
NOT_ITS_OWN = {"http-client", "http-connections", "serve", "ask", "lookup", "index-publish", "dht", "etcd",
               "local", "sibling"}
SETTINGS = ["server.acceptors=2", "index.workers=2", "audit.enabled=true", "audit.file=/dev/null",
            "dht.proxies=http://127.0.0.1:9", "etcd.endpoints=http://127.0.0.1:9"]
ROOMS = ["src/daemon", "src/index", "src/http"]

sys.exit(main(Service("index", SETTINGS, ROOMS, NOT_ITS_OWN, ["dht.quorum"])))
