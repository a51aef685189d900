#!/usr/bin/env python3
"""docs/concurrency-storage.md tells the truth about the storage: see topology_lib.py."""
import sys

sys.dont_write_bytecode = True
from topology_lib import Service, main

# Of the client, of the page of a scan, of a single call while it waits, or of an index, which can be
# replaced: not the service's.
NOT_ITS_OWN = {"http-client", "http-connections", "serve", "have-touches", "store-moves", "store-write",
               "store-index-turn"}
SETTINGS = ["server.acceptors=2", "server.get_workers=4", "server.put_workers=2", "audit.enabled=true",
            "audit.file=/dev/null"]
ROOMS = ["src/daemon", "src/storage", "src/store", "src/http"]

sys.exit(main(Service("storage", SETTINGS, ROOMS, NOT_ITS_OWN)))
