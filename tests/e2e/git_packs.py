#!/usr/bin/env python3
"""Packs that git would not write, into the objects of the repository in the current folder (bare).

    git_packs.py KIND [NUMBER]

Ids in the index are what is claimed, which is the truth unless the kind is about lies.
"""
import hashlib
import os
import struct
import subprocess
import sys
import zlib

COMMIT, TREE, BLOB, TAG, OFS, REF = 1, 2, 3, 4, 6, 7
NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", TAG: b"tag"}


def name_of(kind, content):
    return hashlib.sha1(NAMES[kind] + b" %d\0" % len(content) + content).digest()


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def head(kind, size):
    out, size, first = bytearray(), size, (kind << 4) | (size & 15)
    size >>= 4
    while size:
        out.append(first | 128)
        first, size = size & 127, size >> 7
    out.append(first)
    return bytes(out)


def back(distance):
    out = [distance & 127]
    distance >>= 7
    while distance:
        distance -= 1
        out.insert(0, 128 | distance & 127)
        distance >>= 7
    return bytes(out)


def copy(start, size):
    code, out = 128, bytearray()
    for bit, value in enumerate(struct.pack("<I", start) + struct.pack("<I", size)[:3]):
        if value:
            code |= 1 << bit
            out.append(value)
    return bytes([code]) + bytes(out)


def delta(base, result, steps):
    return varint(base) + varint(result) + b"".join(steps)


class Pack:
    def __init__(self):
        self.bytes, self.entries = [b"PACK" + struct.pack(">II", 2, 0)], []
        self.at = 12

    def add(self, name, kind, data, size=None, reach=b"", packed=None):
        entry = head(kind, len(data) if size is None else size) + reach + (packed or zlib.compress(data, 1))
        self.entries.append((name, zlib.crc32(entry), self.at))
        self.bytes.append(entry)
        self.at += len(entry)
        return self.at - len(entry)

    def object(self, kind, content):
        name = name_of(kind, content)
        self.add(name, kind, content)
        return name

    def write(self, lie=None):
        data = b"".join(self.bytes)
        data = data[:8] + struct.pack(">I", len(self.entries)) + data[12:]
        data += hashlib.sha1(data).digest()
        entries = sorted(self.entries)
        if lie:
            lie(entries, len(data))
        fan, names = [0] * 256, [entry[0] for entry in entries]
        for name in names:
            fan[name[0]] += 1
        for i in range(1, 256):
            fan[i] += fan[i - 1]
        idx = b"\377tOc" + struct.pack(">I", 2) + struct.pack(">256I", *fan) + b"".join(names)
        idx += b"".join(struct.pack(">I", entry[1]) for entry in entries)
        idx += b"".join(struct.pack(">I", entry[2]) for entry in entries) + data[-20:]
        idx += hashlib.sha1(idx).digest()
        stem = "objects/pack/pack-" + hashlib.sha1(b"".join(names) + data[-20:]).hexdigest()
        for end, content in ((".pack", data), (".idx", idx)):
            with open(stem + end, "wb") as file:
                file.write(content)


def text(number):
    return b"some words of a text\n" * 40 + b"%08d\n" % number


def fake(number):
    return hashlib.sha1(b"%d" % number).digest()


def history(pack, tree, message=b"x"):
    who = b"A <a@x> 1600000000 +0000"
    name = pack.object(COMMIT, b"tree %s\nauthor %s\ncommitter %s\n\n%s\n" % (tree.hex().encode(), who, who, message))
    os.makedirs("refs/heads", exist_ok=True)
    with open("refs/heads/main", "w", encoding="ascii") as file:
        file.write(name.hex() + "\n")


def secret():
    return b'key = "%s"\n' % os.environ["TOKEN"].encode()


def chain(count, is_last_secret=True):
    """Each a delta of the one before; the last has a token."""
    pack, last = Pack(), None
    size = len(text(0))
    for i in range(count + 1):
        if last is None:
            last = pack.add(name_of(BLOB, text(0)), BLOB, text(0))
            continue
        new = text(i)[-9:] + (secret() if i == count and is_last_secret else b"")
        steps = delta(size, size - 9 + len(new), [copy(0, size - 9), bytes([len(new)]), new])
        last = pack.add(name_of(BLOB, text(i)[:-9] + new), OFS, steps, reach=back(pack.at - last))
    pack.write()


def fan(count):
    """Many deltas of one large text: gigabytes from a few bytes."""
    pack, large = Pack(), b"some words of a text\n" * 50000
    base = pack.add(name_of(BLOB, large), BLOB, large)
    digest = hashlib.sha1(b"blob %d\0" % (len(large) + 9) + large)
    for i in range(count):
        name, new = digest.copy(), b"%08d\n" % i
        name.update(new)
        steps = delta(len(large), len(large) + 9,
                      [copy(at, min(1 << 20, len(large) - at)) for at in range(0, len(large), 1 << 20)] + [b"\t" + new])
        pack.add(name.digest(), OFS, steps, reach=back(pack.at - base))
    pack.object(BLOB, secret())
    pack.write()


def cycle(count):
    pack, size = Pack(), 20
    for i in range(count):
        steps = delta(size, size, [copy(0, size)])
        pack.add(fake(i), REF, steps, reach=fake((i + 1) % count))
    pack.object(BLOB, secret())
    pack.write()


def offsets(_):
    pack, steps = Pack(), delta(20, 20, [copy(0, 20)])
    pack.object(BLOB, secret())
    for i, distance in enumerate([0, 1, 5, 11, 1 << 20, 1 << 50, (1 << 62) + 1]):
        pack.add(fake(i), OFS, steps, reach=back(distance))
    pack.add(fake(100), OFS, steps, reach=b"\377" * 30)
    pack.write()


def sizes(_):
    pack, content = Pack(), b"text\n" * 1000
    pack.object(BLOB, secret())
    for i, size in enumerate([0, 1, 4999, 5001, 1 << 20, 1 << 31, 1 << 32, 1 << 50, (1 << 64) - 1]):
        pack.add(fake(i), BLOB, content, size=size)
    base = pack.add(name_of(BLOB, content), BLOB, content)
    for i, (old, new, steps) in enumerate([
            (5000, 1 << 40, [copy(0, 5000)]), (1 << 40, 5000, [copy(0, 5000)]), (5000, 10, [copy(0, 5000)]),
            (5000, 5000, [copy(4000, 5000)]), (5000, 5000, []), (5000, 3, [b"\3a"]), (5000, 3, [b"\0abc"]),
            (5000, 1 << 30, [copy(0, 5000)] * 1000)]):
        pack.add(fake(50 + i), OFS, delta(old, new, steps), reach=back(pack.at - base))
    pack.add(fake(90), BLOB, b"", size=5000, packed=b"\377" * 100)
    pack.add(fake(91), 5, b"x")
    pack.add(fake(92), 0, b"x")
    pack.write()


def delta_bomb(_):
    """Each copies its base many times over: 1 KiB, 64 KiB, 4 MiB, ... 4 TiB."""
    pack, size = Pack(), 1024
    last = pack.add(name_of(BLOB, b"a" * 1024), BLOB, b"a" * 1024)
    for i in range(6):
        step = min(size, 0xffffff)
        steps = delta(size, size * 64, [copy(0, step)] * (size * 64 // step if size <= step else 100000))
        last = pack.add(fake(i), OFS, steps, reach=back(pack.at - last))
        size *= 64
    pack.object(BLOB, secret())
    pack.write()


def lies(number):
    pack = Pack()
    for i in range(20):
        pack.object(BLOB, text(i))
    pack.object(BLOB, secret())

    def lie(entries, length):
        far = [0, 1, 12 + 3, length - 20, length - 1, length, length + 5, 0x7fffffff, 0x80000000, 0xffffffff]
        for i, at in enumerate(far):
            if entries[i][0] != name_of(BLOB, secret()):
                entries[i] = (entries[i][0], 0, at)
        if number == 1:
            entries.reverse()
        if number == 2:
            entries[:] = [entries[0]] * 21

    pack.write(lie)


def large(count):
    """One blob of so many MiB of zeros, and a token beside it."""
    pack, packer = Pack(), zlib.compressobj(1)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(count)) + packer.flush()
    pack.add(fake(1), BLOB, b"", size=count << 20, packed=packed)
    pack.object(BLOB, secret())
    pack.write()


def pieces(base, tail):
    """The name and the delta of a text that begins as the base does, up to its last 60 bytes."""
    kept = len(base) - 60
    digest = hashlib.sha1(b"blob %d\0" % (kept + len(tail)))
    digest.update(memoryview(base)[:kept])
    digest.update(tail)
    steps = [copy(at, min(1 << 20, kept - at)) for at in range(0, kept, 1 << 20)]
    return digest.digest(), delta(len(base), kept + len(tail), steps + [bytes([len(tail)]), tail])


def huge(count):
    """A text of so many MiB, five others that each are a delta of the one before, and one that is small and a delta
    of the last; each large one has at its end a token, and a path of its own, as the small one has."""
    pack, line = Pack(), b"some words of a text, which is long %027d\n"
    body = b"".join(line % i for i in range(1 << 14)) * count
    at, tree, token = None, b"", os.environ["TOKEN"].encode()
    for i in range(6):
        tail = b'%d = "%s"\n' % (i, token)
        tail = b" " * (60 - len(tail)) + tail
        if at is None:
            body = body[:-60] + tail
            name, at = name_of(BLOB, body), pack.add(name_of(BLOB, body), BLOB, body)
        else:
            name, steps = pieces(body, tail)
            body = body[:-60] + tail
            at = pack.add(name, OFS, steps, reach=back(pack.at - at))
        tree += b"100644 large%d\0" % i + name
    small = body[-60:]
    at = pack.add(name_of(BLOB, small), OFS, delta(len(body), 60, [copy(len(body) - 60, 60)]),
                  reach=back(pack.at - at))
    history(pack, pack.object(TREE, tree + b"100644 small\0" + name_of(BLOB, small)))
    pack.write()


def forks(count):
    """Texts of 64 KiB, each a delta of another, in chains and forks; every tenth has a token."""
    pack, size = Pack(), 1 << 16
    texts, places = [(b"some words, again and again\n" * size)[:size]], []
    places.append(pack.add(name_of(BLOB, texts[0]), BLOB, texts[0]))
    for i in range(1, count):
        base = i - 1 if i % 3 == 0 else i // 2
        new = b"\n%08d " % i + (secret() if i % 10 == 0 else b"")
        at = i * 977 % (size - 200)
        texts.append(texts[base][:at] + new + texts[base][at + len(new):])
        steps = [copy(0, at), bytes([len(new)]), new, copy(at + len(new), size - at - len(new))]
        places.append(pack.add(name_of(BLOB, texts[i]), OFS, delta(size, size, steps),
                               reach=back(pack.at - places[base])))
    pack.write()


def comb(count):
    """A chain of texts of 60 KB, from each of which two more are made; what goes on with the chain stands first."""
    pack, line = Pack(), b"some words, again and again\n"
    kept = line * (60000 // len(line))
    base = pack.add(name_of(BLOB, kept + b"%08d\n" % 0), BLOB, kept + b"%08d\n" % 0)
    for i in range(0, 3 * count, 3):
        next_base = None
        for k in range(i, i + 3):
            steps = delta(len(kept) + 9, len(kept) + 9, [copy(0, len(kept)), b"\t%08d\n" % k])
            at = pack.add(fake(k), OFS, steps, reach=back(pack.at - base))
            next_base = next_base or at
        base = next_base
    pack.object(BLOB, secret())
    pack.write()


def self_tree(_):
    pack, own = Pack(), fake(1)
    blob = pack.object(BLOB, secret())
    pack.add(own, TREE, b"100644 f\0" + blob + b"40000 in\0" + own + b"40000 of\0" + own)
    history(pack, own)
    pack.write()


def wide_tree(depth):
    """Each tree has the next one ten times: 10^depth paths."""
    pack = Pack()
    tree = pack.object(TREE, b"100644 f\0" + pack.object(BLOB, secret()))
    for _ in range(depth):
        tree = pack.object(TREE, b"".join(b"40000 %d\0" % i + tree for i in range(10)))
    history(pack, tree)
    pack.write()


def large_tree(count):
    """One folder of so many thousand files, which are all the same, and one whose name is a secret."""
    pack = Pack()
    blob, other = pack.object(BLOB, b"nothing"), pack.object(BLOB, b"nothing else")
    files = [(hashlib.sha1(b"%d" % i).hexdigest().encode(), blob) for i in range(1000 * count)]
    files.append((os.environ["TOKEN"].encode(), other))
    tree = pack.object(TREE, b"".join(b"100644 " + name + b"\0" + file for name, file in sorted(files)))
    history(pack, pack.object(TREE, b"40000 d\0" + tree))
    pack.write()


def message(count):
    pack = Pack()
    history(pack, pack.object(TREE, b""), b"word " * (count << 20 >> 2) + secret())
    pack.write()


def refs(count):
    pack = Pack()
    history(pack, pack.object(TREE, b"100644 f\0" + pack.object(BLOB, secret())))
    pack.write()
    with open("refs/heads/main", encoding="ascii") as file:
        name = file.read().strip()
    with open("packed-refs", "w", encoding="ascii") as file:
        file.write("# pack-refs with: peeled fully-peeled sorted \n")
        file.writelines(f"{name} refs/heads/b{i:07}\n" for i in range(count))


def tiny(count):
    for i in range(count):
        pack = Pack()
        pack.object(BLOB, text(i) + (secret() if i == count // 2 else b""))
        pack.write()


def thin(count):
    """So many packs of one text, which is a delta of that in the pack before; one of the first has a token."""
    base = b"some base text\n" * 30
    pack = Pack()
    before, name = base, pack.object(BLOB, base)
    pack.write()
    for i in range(count):
        content = base + (secret() if i == 40 else b"%d\n" % i)
        pack = Pack()
        new = content[len(base):]
        made = delta(len(before), len(content), [copy(0, len(base)), bytes([len(new)]) + new])
        pack.add(name_of(BLOB, content), REF, made, reach=name)
        before, name = content, name_of(BLOB, content)
        pack.write()


def midx(_):
    """The multi-pack-index says that f1 of HEAD is where f2 is."""
    names = subprocess.run(["git", "rev-parse", "HEAD:f1", "HEAD:f2"], capture_output=True, check=True).stdout.split()
    with open("objects/pack/multi-pack-index", "rb") as file:
        index = bytearray(file.read())
    heads = (index[12 + 12 * i:24 + 12 * i] for i in range(index[6] + 1))
    chunks = {bytes(row[:4]): struct.unpack(">Q", row[4:])[0] for row in heads}
    ids = chunks[b"OIDL"]
    one, other = (chunks[b"OOFF"] + (index.index(bytes.fromhex(name.decode()), ids) - ids) // 20 * 8 for name in names)
    index[one:one + 8] = index[other:other + 8]
    os.chmod("objects/pack/multi-pack-index", 0o644)
    with open("objects/pack/multi-pack-index", "wb") as file:
        file.write(index)


{"chain": chain, "fan": fan, "cycle": cycle, "offsets": offsets, "sizes": sizes, "delta-bomb": delta_bomb,
 "lies": lies, "large": large, "self-tree": self_tree, "wide-tree": wide_tree, "large-tree": large_tree,
 "message": message, "refs": refs, "tiny": tiny, "huge": huge,
 "forks": forks, "comb": comb, "midx": midx, "thin": thin}[sys.argv[1]](int((sys.argv[2:] or ["0"])[0]))
