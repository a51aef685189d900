#!/usr/bin/env python3
"""Manifests as another program makes and reads them: oracle_manifest.py TOOL DOCUMENT

CBOR is written and read here by a few lines that share nothing with libcbor or with Weir. Nodes from
a seed go to the tool, which must understand them as they were meant; each is sent once more with one
number or length in a longer form, which must be refused. The example in the document is read, too.
"""
import os
import random
import re
import subprocess
import sys

TAG = int.from_bytes(b"Weir", "big")
WIDTHS = [(24, 1), (25, 2), (26, 4), (27, 8)]
results = []


def head(major, value, spare=0):
    """The head of an item; `spare` asks for a form that is so many steps longer than needed."""
    fits = [-1] + [i for i, (_, width) in enumerate(WIDTHS) if value < 256 ** width]
    if value >= 24:
        fits = fits[1:]
    choice = fits[min(spare, len(fits) - 1)]
    if choice < 0:
        return bytes([major << 5 | value])
    info, width = WIDTHS[choice]
    return bytes([major << 5 | info]) + value.to_bytes(width, "big")


class Writer:
    """Puts items; the one with the number `long_at` gets a longer form."""

    def __init__(self, long_at=None):
        self.bytes, self.items, self.long_at = b"", 0, long_at

    def put(self, major, value, body=b""):
        self.bytes += head(major, value, 1 if self.items == self.long_at else 0) + body
        self.items += 1


def write(level, entries, long_at=None):
    out = Writer(long_at)
    out.put(6, TAG)
    for major, value in (4, 5), (0, 1), (0, 0), (0, level), (0, sum(e[0] for e in entries)):
        out.put(major, value)
    out.put(4, len(entries))
    for length, address in entries:
        if address is not None:
            out.put(4, 2)
        out.put(0, length)
        if address is not None:
            out.put(2, 32, address)
    return out


def read(data, at=0):
    """(item, where it ends): numbers, bytes, lists, and tags as ('tag', number, item)."""
    major, info = data[at] >> 5, data[at] & 31
    at, value = at + 1, info
    if info >= 24:
        width = dict(WIDTHS)[info]
        value, at = int.from_bytes(data[at:at + width], "big"), at + width
    if major == 0:
        return value, at
    if major == 2:
        return data[at:at + value], at + value
    if major == 4:
        items = []
        for _ in range(value):
            item, at = read(data, at)
            items.append(item)
        return items, at
    if major == 6:
        item, at = read(data, at)
        return ("tag", value, item), at
    raise ValueError(f"major type {major}")


def said_of(level, entries):
    words = [str(level)]
    for length, address in entries:
        words += ["h", str(length)] if address is None else ["c", str(length), "b3:" + address.hex()]
    return " ".join(words)


def random_node(dice):
    level = dice.choice([0, 0, 0, 1, 2, 5])
    count = dice.choice([0, 1, 2, 23, 24, 25, 255, 256, 300]) if level == 0 else dice.randint(1, 40)
    entries = []
    for _ in range(count):
        is_hole = level == 0 and dice.random() < 0.3 and not (entries and entries[-1][1] is None)
        bits = dice.randint(1, 20 if level == 0 and not is_hole else 50)
        entries.append((dice.randint(1, 2 ** bits), None if is_hole else dice.randbytes(32)))
    return level, entries


def ask(tool, blobs):
    text = "".join(b.hex() + "\n" for b in blobs)
    return subprocess.run([tool], input=text, capture_output=True, text=True,
                          check=True).stdout.splitlines()


def point(title, faults):
    results.append(not faults)
    for fault in faults[:3]:
        print(f"# {fault}")
    print(f"{'not ' if faults else ''}ok {len(results)} - {title}")


def main(tool, document):
    seed = int(os.environ.get("WEIR_SEED", "1"))
    print(f"# WEIR_SEED={seed}")
    dice = random.Random(seed)
    nodes = [random_node(dice) for _ in range(300)]
    blobs = [write(*node).bytes for node in nodes]
    answers = ask(tool, blobs)
    point("nodes of another writer are understood", [
        f"{blob.hex()}: {answer}" for node, blob, answer in zip(nodes, blobs, answers, strict=True)
        if answer != said_of(*node)])
    point("another reader understands them", [
        blob.hex() for (level, entries), blob in zip(nodes, blobs) if read(blob) != (
            ("tag", TAG, [1, 0, level, sum(e[0] for e in entries),
                          [e[0] if e[1] is None else list(e) for e in entries]]), len(blob))])
    longer = []
    for node in nodes:
        whole = write(*node)
        longer.append(write(*node, long_at=dice.randrange(whole.items)).bytes)
    longer = [b for b, blob in zip(longer, blobs) if b != blob]
    point("longer forms are refused", [
        f"{blob.hex()}: {answer}" for blob, answer in zip(longer, ask(tool, longer), strict=True)
        if answer not in ("Corrupt", "Invalid")])
    with open(document, encoding="utf-8") as file:
        example = re.search(r"```hex\n(.*?)```", file.read(), re.S).group(1)
    data = bytes.fromhex("".join(line.split("#")[0] for line in example.splitlines()))
    item, end = read(data)
    entries = [(e, None) if isinstance(e, int) else tuple(e) for e in item[2][4]]
    point("the example in the document is what it says", [] if (
        end == len(data) and write(0, entries).bytes == data and ask(tool, [data]) == [
            said_of(0, entries)]) else [example])
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


sys.exit(main(*sys.argv[1:]))
