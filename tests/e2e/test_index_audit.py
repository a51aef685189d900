#!/usr/bin/env python3
"""The audit log on standard error, when that is a pipe which nobody reads: what is missing is counted,
and said in its place as soon as there is room. Prints TAP."""
import fcntl
import http.client
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from storage_lib import WEIR, exchange, finish, same, started, true, until

F_SETPIPE_SZ = 1031
EVENTS = 300

reader, writer = os.pipe()
fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
os.set_blocking(reader, False)
process = subprocess.Popen([WEIR, "index", "--amnesia", "--listen", "127.0.0.1:0", "--set", "audit.enabled=true"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writer)
started.append(process)
os.close(writer)
connection = http.client.HTTPConnection("127.0.0.1", int(process.stdout.readline().rsplit(b":", 1)[1]), timeout=20)
log = b""


def denied(count):
    return {exchange(connection, "POST", "/admin/pin", "{}").status for _ in range(count)}


def lost():
    """Those that could not be written, and those that came too fast for who writes."""
    numbers = dict(line.rpartition(" ")[::2] for line in exchange(connection, "GET", "/metrics").body.decode().splitlines())
    return int(numbers["audit_lost_total"]), int(numbers['bus_lagged_total{topic="events"}'])


def read():
    global log
    try:
        while piece := os.read(reader, 65536):
            log += piece
    except BlockingIOError:
        pass
    events = [json.loads(line) for line in log.decode().splitlines() if line.startswith("{")]
    return (sum(event["event"] == "denied" for event in events),
            sum(int(event["what"].split()[0]) for event in events if event["event"] == "lost"))


same("they are told", denied(EVENTS), {401})
until(lambda: sum(lost()) > EVENTS / 2, "events that are lost")
true("what nobody reads is counted", lost()[0] > 0, lost())
read()


def goes_on():
    denied(1)
    return read()[1] > 0


until(goes_on, "a line in place of what is missing")
true("each event is there, or told as missing", sum(read()) >= EVENTS, read())
connection.close()
process.terminate()
same("it ends", process.wait(20), 0)
finish()
