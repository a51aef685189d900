#!/usr/bin/env python3
"""The end of weir index while sources say nothing: lookups are canceled when the time is up, or with a
second signal; sources are hung up on, and who waits is told. Prints TAP."""
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
from index_service import Index, Keys, Sibling
from storage_lib import finish, has, same, true, until

keys = Keys()
names = [keys.name(f"n{number}", 1) for number in range(8)]
# Between the end of the time and that of the process: on a machine that is busy, too.
SOON_S = 1.5


class Asked:
    """Lookups under way, and some that wait for their turn."""

    def __init__(self, *settings):
        self.hole = Sibling(delay=60)
        self.index = Index(f"siblings.nodes={self.hole.url}", "index.workers=2", "dht.deadline_ms=20000", *settings)
        self.told = []
        self.hands = [threading.Thread(target=self.ask, args=(name,)) for name in names]
        for hand in self.hands:
            hand.start()
        until(lambda: len(self.hole.asked) == 2 and self.index.metrics()['queue_depth{queue="turns"}'] == 6, "lookups")

    def ask(self, name):
        try:
            answer = self.index.resolve(name)
            self.told.append((answer.status, answer.json["error"], answer["Connection"]))
        except OSError as error:
            self.told.append(repr(error))

    def wait(self, since):
        status = self.index.wait()
        took = time.monotonic() - since
        for hand in self.hands:
            hand.join()
        return status, took


# --- its time ---
asked = Asked("drain_deadline=1s")
since = time.monotonic()
asked.index.kill(signal.SIGTERM)
status, took = asked.wait(since)
true("lookups have until drain_deadline", took >= 1, took)
true("and no longer", took < 1 + SOON_S, took)
same("those who wait are told", set(asked.told), {(503, "Canceled", "close")})
same("each of them", len(asked.told), 8)
until(lambda: asked.hole.left == 2, "sources that were left")
true("sources are hung up on", True)
same("the status says that not all was done", status, 3)
has("and so does the log", asked.index.log(), r"0 connections cut, 2 requests stopped at work, 6 in line never begun, 0 threads aborted")

# --- a second signal ---
asked = Asked("drain_deadline=5s")
asked.index.kill(signal.SIGTERM)
asked.index.wait_for_log("draining, for SIGTERM")
since = time.monotonic()
asked.index.kill(signal.SIGINT)
status, took = asked.wait(since)
true("a second signal waits for nothing", took < SOON_S, took)
same("those who wait are told then, too", (set(asked.told), len(asked.told)), ({(503, "Canceled", "close")}, 8))
same("and the status is the same", status, 3)
finish()
