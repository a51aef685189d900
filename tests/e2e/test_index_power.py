#!/usr/bin/env python3
"""The power fails: what the records of an index had acknowledged is on the disk.

Of each name the record there is whole, and not older than what had been acknowledged before the clone of the
disk was begun (power_lib.py). That holds for names that were removed, too: their highest sequence is remembered.
Then the power fails again under a writer that goes on from there.
"""
import os
import sys

import power_lib
from power_lib import CUTS
from records_lib import STEP, Writer, check, newer, seeded

TIMES = 2 * CUTS  # it is quick
MORE = 300        # acknowledged between two of them, at most


def go_on(folder, seed, known):
    """On the disk as the power has left it. What is known then, or nothing and why."""
    writer = Writer(folder, seed)
    acks = writer.wait_for(100)
    said = writer.kill()
    return (newer(known, acks), "") if acks and not said else ({}, f"it does not go on: {said}")


def cut_power(disk, known, seed):
    """Whether what is on the disk then is right, and why not."""
    if not known:
        return False, "nothing is acknowledged any more"
    disk.cut()
    with disk.after() as folder:
        place = os.path.join(folder, "data")
        is_good, why = check(place, known)
        if is_good:
            more, why = go_on(place, seed, known)
            is_good, why = check(place, more) if more else (False, why)
    return is_good, why


def try_writer(tap, what, disk, writer, acknowledge, seed):
    """acknowledge() returns what is known before each cut."""
    known, is_good, why = {}, True, ""
    try:
        for number in range(TIMES):
            known = acknowledge()
            is_good, why = cut_power(disk, known, seed + number)
            if not is_good:
                break
    finally:
        said = writer.kill()
    tap.tell(is_good, f"{TIMES} times without power {what} on {disk.kind}", f"time {number}: {why}")
    tap.tell(not said, f"the writer on {disk.kind} had nothing to complain about", said)
    total = sum((known or {}).values())
    tap.tell(total > TIMES, f"much was acknowledged on {disk.kind}", str(total))
    print(f"# {disk.kind}: the sequences of all names add up to {total}")


def try_disk(tap, disk):
    """While much is written; and when nothing is, so that no later write brings an earlier one to the disk."""
    seed, dice = seeded()
    folder = os.path.join(disk.folder, "data")
    busy = Writer(folder, seed)
    try_writer(tap, "in the middle of writes", disk, busy, lambda: busy.wait_for(1 + dice.randrange(MORE)), seed)
    calm = Writer(folder, seed, "calm")
    calm.wait_for(STEP)
    try_writer(tap, "behind the last write", disk, calm, calm.step, seed)


if __name__ == "__main__":
    sys.exit(power_lib.main("weir-index-power-", try_disk))
