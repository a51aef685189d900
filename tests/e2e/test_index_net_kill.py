#!/usr/bin/env python3
"""A node is killed while it is told of records: what it has acknowledged is there, and nothing older."""
import http.client
import json
import threading
import time

from index_net import IS_LONG, NOTHING, Fake, Keys, Node, chance, knows_name, sequence_of
from storage_lib import finish, make_folder, same, true, until

ROUNDS = 100 if IS_LONG else 20
WRITERS = 4
SHORT_S = 2

data = make_folder("killed")
reader = Keys()
names = {(writer, number): reader.name(f"kill/{writer}/{number}", 1) for writer in range(WRITERS) for number in range(5)}
old = {"/resolve/" + name: reader.named(f"kill/{writer}/{number}", 1, 1)
       for (writer, number), name in names.items()}
short = reader.name("kill/short", 1)
old["/resolve/" + short] = reader.named("kill/short", 1, 1)
liar = Fake(lambda path: knows_name(old[path]) if path in old else NOTHING)
sent = {key: 0 for key in names}
acked = {key: 0 for key in names}
makers = [Keys() for _ in range(WRITERS)]


def start():
    return Node("cache.ttl=1ms", "cache.serve_stale=false", "cache.prefetch=false", f"siblings.nodes={liar.url}",
                data=data)


def write(writer, port, stop):
    """Each name of its own in turn, each time with the next sequence, until nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        while not stop.is_set():
            for number in range(5):
                key = (writer, number)
                sent[key] += 1
                record = makers[writer].named(f"kill/{writer}/{number}", 1, sent[key])
                connection.request("PUT", "/names/" + names[key], json.dumps({"record": record}))
                response = connection.getresponse()
                response.read()
                if response.status in (200, 201):
                    acked[key] = sent[key]
    except (OSError, http.client.HTTPException):
        pass
    finally:
        connection.close()


lost, beyond, replayed, taken_back = [], [], [], []
total = 0
for turn in range(ROUNDS):
    node = start()
    if turn > 0:
        for key, name in names.items():
            got = node.sequence(name)
            if got < acked[key]:
                lost.append((turn, name, got, acked[key]))
            if got > max(sent[key], 1):  # the sibling tells the first of each
                beyond.append((turn, name, got, sent[key]))
            if acked[key] > 1:
                status = node.put_name(name, old["/resolve/" + name]).status
                if status != 409:
                    taken_back.append((turn, name, status))
            if node.sequence(name) != got:
                replayed.append((turn, name, node.sequence(name), got))
            sent[key] = max(sent[key], got)
    before = sum(acked.values())
    stop = threading.Event()
    threads = [threading.Thread(target=write, args=(writer, node.port, stop), daemon=True)
               for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    wanted = before + chance.randrange(1, 60)
    until(lambda: sum(acked.values()) >= wanted, "acknowledged changes")
    node.process.kill()
    node.wait()
    stop.set()
    for thread in threads:
        thread.join(30)
    total += sum(acked.values()) - before
print(f"# {ROUNDS} kills, {total} changes acknowledged")
true("changes were acknowledged before each kill", total >= ROUNDS, total)
same("none of them is lost", lost, [])
same("nothing is there that nobody sent", beyond, [])
same("no older one is taken afterwards", taken_back, [])
same("nor told", replayed, [])

# --- the record has expired, its sequence is remembered ---
node = start()
same("a record that lives for a short time", node.put_name(short, reader.named("kill/short", 1, 9, SHORT_S)).status, 201)
ends = time.monotonic() + SHORT_S + 1
node.process.kill()
node.wait()
node = start()
same("is there after a sudden end", node.sequence(short), 9)
until(lambda: time.monotonic() > ends, "its end")
answer = node.resolve(short)
true("when it has expired an older one of a sibling is not told", answer.status == 404, answer)
true("which was asked", liar.count("/resolve/" + short) >= 1, liar.asked[-3:])
true("and its record counted as a replay",
     node.number("index_source_records_total", verdict="replayed", target=f"sibling 127.0.0.1:{liar.port}") >= 1)
same("an older one is not taken by hand either", node.put_name(short, old["/resolve/" + short]).status, 409)
newer = reader.named("kill/short", 1, 10)
same("a newer one is", node.put_name(short, newer).status in (200, 201), True)
same("and told", node.sequence(short), sequence_of(newer))
same("it ends well", node.stop(), 0)
finish()
