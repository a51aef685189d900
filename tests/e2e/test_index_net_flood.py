#!/usr/bin/env python3
"""A flood from one address: whoever comes from another one is served as before.

Others ask at a steady pace, and what counts is how many of their requests are answered within a second,
in windows of the same length without the flood and with it. What the flood itself costs this machine is
not the service's doing: it has the lowest priority, and a window is repeated when it fell short.

The last flood is not of many requests but of slow ones: names that the source takes most of a second for.
No limit of rates is set there, all is as it comes, and others ask only for what has to be looked up.
So it is when what this node knows by itself is asked for, with hundreds of signatures: others publish.
"""
import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time

FLOODER, OTHER = "127.0.0.2", "127.0.0.3"
FLOOD = "flood"


async def pour(port, number, kind, name):
    """One connection after the other; on each one request after the other, as fast as they go."""
    count = 0
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(FLOODER, 0))
            while True:
                count += 1
                if kind in ("same", "idle"):
                    target = f"/resolve/{name}"
                elif kind == "own":
                    target = f"/providers/{name}"
                else:
                    target = f"/resolve/flood/{number}/{count}{name[name.index('@'):]}"
                if kind == "idle":
                    writer.write(b"GET /resolve/x HTTP/1.1\r\nHost: ")
                    await reader.read(1)
                    break
                hops = "X-Weir-Hops: 1\r\n" if kind == "own" else ""
                writer.write(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{hops}\r\n".encode())
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n")
                              if line.lower().startswith(b"content-length"))
                await reader.readexactly(length)
            writer.close()
        except (OSError, asyncio.IncompleteReadError, StopIteration):
            await asyncio.sleep(0.01)


async def pour_all(port, count, kind, name):
    await asyncio.gather(*[pour(port, number, kind, name) for number in range(count)])


if len(sys.argv) > 1 and sys.argv[1] == FLOOD:
    os.nice(19)
    asyncio.run(pour_all(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]))

from index_lib import die_with_parent  # noqa: E402 pylint: disable=wrong-import-position
from index_net import IS_LONG, NOTHING, Fake, Keys, Node, Reply, knows_name, meaning_of  # noqa: E402 pylint: disable=wrong-import-position
from storage_lib import finish, same, started, true, until  # noqa: E402 pylint: disable=wrong-import-position

WINDOW_S = 20.0 if IS_LONG else 3.0
WINDOWS = 4
CLIENTS, PER_S = 8, 20  # of each client
SHARE = 0.9
SLOW_S = 0.9
keys = Keys()
warm = keys.name("warm", 1)
known = {"/resolve/" + warm: keys.named("warm", 1, 1)}
names = [keys.name(f"cold/{number}", 1) for number in range(64)]
for number, one in enumerate(names):
    known["/resolve/" + one] = keys.named(f"cold/{number}", 1, 1)
fake = Fake(lambda path: knows_name(known[path]) if path in known else NOTHING)
slow = Fake(lambda path: knows_name(known[path]) if path in known else
            Reply(NOTHING.body, NOTHING.status, SLOW_S if "/flood/" in path else 0.0))


def window(node, is_cold=False):
    """How many requests of others were answered well and in time, of CLIENTS * PER_S * WINDOW_S."""
    good = [0] * CLIENTS
    began = time.monotonic() + 0.1

    def ask(client):
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=2, source_address=(OTHER, 0))
        for turn in range(int(PER_S * WINDOW_S)):
            due = began + turn / PER_S + client / (PER_S * CLIENTS)
            pause = due - time.monotonic()
            if pause > 0:
                threading.Event().wait(pause)
            elif pause < -WINDOW_S:
                break  # whoever is that late is not served
            try:
                is_warm = turn % 2 == 1 and not is_cold
                connection.request("GET", "/resolve/" + (warm if is_warm else names[(turn * CLIENTS + client) % 64]))
                response = connection.getresponse()
                response.read()
                good[client] += response.status == 200 and time.monotonic() - max(due, began) < 1
            except (OSError, http.client.HTTPException):
                connection.close()
                connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=2, source_address=(OTHER, 0))
        connection.close()

    threads = [threading.Thread(target=ask, args=(client,), daemon=True) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return sum(good)


def flood(node, kind, count, name=warm):
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__), FLOOD, str(node.port), str(count), kind,
                                name], preexec_fn=die_with_parent, stderr=subprocess.DEVNULL)
    started.append(process)
    return process


def compare(what, kind, count, *settings):
    node = Node("cache.ttl=200ms", "cache.prefetch=false", "index.workers=4", f"siblings.nodes={fake.url}", *settings)
    before = max(window(node), window(node))
    wanted = CLIENTS * PER_S * WINDOW_S
    true(f"{what}: without a flood all are served", before >= wanted * SHARE, (before, wanted))
    requests = node.number("http_responses_total")
    process = flood(node, kind, count)
    if kind == "idle":
        until(lambda: node.number("http_refused_total", reason="address") > 0, "connections beyond the limit")
    else:
        until(lambda: node.number("busy_rejections_total", route="resolve") > 0, "requests beyond the rate")
    best = 0
    for _ in range(WINDOWS):
        during = window(node)
        best = max(best, during)
        if best >= before * SHARE:
            break
    print(f"# {what}: {before} of {wanted:.0f} before, {during} during; "
          f"{node.number('http_responses_total') - requests:.0f} requests in all")
    true(f"{what}: others keep nine tenths", best >= before * SHARE, (before, best))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    same(f"{what}: it ends well", node.stop() in (0, 3), True)


def count_slow():
    return sum("/flood/" in path for path in slow.asked)


def compare_cold(what, count):
    """The same when every request of others is a lookup. Each name comes again after twice its time."""
    node = Node("cache.ttl=200ms", "cache.prefetch=false", f"siblings.nodes={slow.url}")
    before = max(window(node, is_cold=True), window(node, is_cold=True))
    wanted = CLIENTS * PER_S * WINDOW_S
    true(f"{what}: without a flood all are served", before >= wanted * SHARE, (before, wanted))
    process = flood(node, "any", count)
    until(lambda: count_slow() >= 2, "lookups of the flood")
    best = looked_up = 0
    for _ in range(WINDOWS):
        poured, led = count_slow(), node.number("index_flights_total", part="led")
        during = window(node, is_cold=True)
        poured, led = count_slow() - poured, node.number("index_flights_total", part="led") - led
        if during > best:
            best, looked_up = during, led - poured
        if best >= before * SHARE:
            break
    print(f"# {what}: {before} of {wanted:.0f} before, {best} during, {looked_up:.0f} of them by a lookup; "
          f"{poured} lookups of the flood")
    true(f"{what}: others keep nine tenths", best >= before * SHARE, (before, best))
    true(f"{what}: and had them looked up", looked_up >= wanted * SHARE, (looked_up, wanted))
    true(f"{what}: who floods is served in turn, too", poured >= WINDOW_S, poured)
    true(f"{what}: the rest of that waits", node.number("queue_depth", queue="turns") > count / 2,
         node.number("queue_depth", queue="turns"))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: node.number("queue_depth", queue="turns") == 0, "the end of what nobody waits for")
    same(f"{what}: it ends well", node.stop() in (0, 3), True)


def publish_in_time(node, label, records):
    """How many of these were published, of one in 25 ms, each within a second."""
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=5, source_address=(OTHER, 0))
    began, good = time.monotonic(), 0
    for turn, record in enumerate(records):
        due = began + turn * 0.025
        threading.Event().wait(max(0.0, due - time.monotonic()))
        connection.request("PUT", "/names/" + keys.name(f"{label}/{turn}", 1), json.dumps({"record": record}),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        good += response.status == 201 and time.monotonic() - due < 1
    connection.close()
    return good


def compare_own(what, count, publishes=100, providers=250):
    node = Node()
    meaning = meaning_of(1)
    for number in range(providers):
        node.publish("/providers/" + meaning, keys.provided(meaning, 100 + number, 1, f"https://p{number}.example"))
    records = [[keys.named(f"{turn}/{number}", 1, 1) for number in range(publishes)] for turn in range(WINDOWS)]
    process = flood(node, "own", count, meaning)
    until(lambda: node.number("queue_depth", queue="own_turns") > 0, "the flood")
    best = 0
    for turn in range(WINDOWS):
        best = max(best, publish_in_time(node, str(turn), records[turn]))
        if best >= publishes * SHARE:
            break
    print(f"# {what}: {best} of {publishes} were published in time")
    true(f"{what}: others publish", best >= publishes * SHARE, best)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    same(f"{what}: it ends well", node.stop() in (0, 3), True)


compare("questions for one thing, as fast as they go", "same", 200, "ratelimit.rps_per_ip=500")
compare("questions for anything, as fast as they go", "any", 200, "ratelimit.rps_per_ip=500")
compare("connections that say nothing", "idle", 600)
compare_cold("questions for what is slow", 200)
compare_own("questions for what this node has by itself", 64)
finish()
