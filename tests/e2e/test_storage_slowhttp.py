#!/usr/bin/env python3
"""slowhttptest against the storage: slow heads, slow bodies, slow reads and overlapping ranges, all
at once. It has to find the service available all the time, and its connections ended by our
deadlines. Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from storage_lib import (MIB, Storage, address, finish, has, path, same, started, true, until)  # noqa: E402

if not shutil.which("slowhttptest"):
    print("1..0 # SKIP 'slowhttptest' is not there")
    raise SystemExit(0)

CONNECTIONS = 100
storage = Storage("--set", "read_timeout=1s", "--set", "write_timeout=1s", "--set", "idle_timeout=1s", "--set",
                  "server.min_rate=8KiB/s", "--set", "server.connection_limit_per_ip=2000", data=path("data"))
content = os.urandom(MIB)
target = "/o/" + address(content)
storage.put(content)
url = storage.url + target
common = ["-c", str(CONNECTIONS), "-r", "200", "-p", "10", "-u", url]
# The service has to end each of them; none would end by itself in that time. Who reads slowly has
# much to read in the sockets between us when the service has left already.
ATTACKS = {
    "slow heads (slowloris)": ["-H", "-l", "40", "-i", "2", "-t", "GET", "-x", "24"],
    "slow bodies": ["-B", "-l", "40", "-i", "2", "-t", "PUT", "-s", "65536", "-x", "24"],
    "slow reads": ["-X", "-l", "6", "-w", "256", "-y", "512", "-n", "2", "-z", "16", "-k", "3"],
    "overlapping ranges": ["-R", "-l", "40", "-t", "GET", "-a", "1", "-b", "3000"],
}
attackers = {}
for what, words in ATTACKS.items():
    name = path("said-" + words[0])
    with open(name, "wb") as said:
        process = subprocess.Popen(["slowhttptest", *words, *common], stdout=said, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, cwd=path("."))
    started.append(process)
    attackers[what] = (process, name)

# --- meanwhile ---

served, wrong = 0, []
most = 0
while any(process.poll() is None for process, _ in attackers.values()):
    answers = [storage.get(target), storage.put(os.urandom(1000)), storage.get("/healthz"), storage.get("/readyz")]
    served += 1
    if [answer.status for answer in answers] != [200, 201, 200, 200] or answers[0].body != content:
        wrong.append([answer.status for answer in answers])
    most = max(most, int(storage.metrics()["http_connections"]))
same("others are served meanwhile", wrong, [])
true("many of them", served > 0, served)
print(f"# {served} rounds of requests; {most} connections at most")
for what, (process, name) in attackers.items():
    with open(name, encoding="utf-8", errors="replace") as file:
        said = re.sub(r"\x1b\[[0-9;]*m", "", file.read())
    told = re.findall(r"service available:\s+(\w+)", said)
    true(f"{what}: it says that the service is available, always", told and set(told) == {"YES"}, said[-1500:])
    last = re.findall(r"(?i)exit status:\s*(.*)", said)
    after = re.findall(r"(?i)test ended on (\d+)", said)
    print(f"# {what}: {last[-1:]} after {after[-1:]} s")
    if "-X" not in ATTACKS[what]:
        has(f"{what}: all its connections were ended", " ".join(last), "(?i)no open connections left")
until(lambda: storage.metrics()["http_connections"] == 1, "the end of all")
numbers = storage.metrics()
print("# ended: " + ", ".join(f"{op} {numbers[f'io_timeouts_total{{op={chr(34)}{op}{chr(34)}}}']:.0f}"
                              for op in ("read", "write", "idle")))
true("slow heads and bodies were counted", numbers['io_timeouts_total{op="read"}'] >= CONNECTIONS, numbers)
same("all slow readers were ended, and counted", numbers['io_timeouts_total{op="write"}'], CONNECTIONS)
same("the end", storage.stop(), 0)
finish()
