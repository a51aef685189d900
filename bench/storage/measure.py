"""Measures GET, PUT, and opening a store."""
import json
import os
import shutil
import urllib.request

from lib import servers
from lib.folder import Failed, remove, space_of
from lib.load import CONNECTIONS, Row, Wrk, call, run_rounds, say

SIZES = {"1 KiB": (1 << 10, 1024), "64 KiB": (64 << 10, 1024), "1 MiB": (1 << 20, 64)}
PUT_BYTES = 64 << 10
CHUNK_BYTES = 1 << 10


def settle(folder):
    """What somebody wrote is not to be waited for by the next one."""
    call(["sync", "-f", folder])


# ---- GET ----

def store(server, method, path, body):
    """The path that it has now."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", body,
                                     {"Content-Type": "application/octet-stream"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        if answer.status != 201:
            raise Failed(f"{method} was answered with {answer.status}")
        return answer.headers["Location"]


class Gets:
    """Servers with the same objects under the same paths."""

    def __init__(self, weir, nginx, folder, sizes, seconds, apart=False):
        self.wrk = Wrk(apart)
        mine = self.wrk.servers_on
        self.folder = folder
        self.seconds = seconds
        self.running = []
        self.root = os.path.join(folder, "root")
        first = self.add(servers.start_weir(weir, "storage", folder, "weir", processors=mine))
        always = self.add(servers.start_weir(weir, "storage", folder, "always", "storage.verify=always",
                                             processors=mine))
        self.paths = {name: self.make(name, *sizes[name], first, always) for name in sizes}
        self.contenders = [("weir storage", "weir", first),
                           ("weir storage, verify = always", "variant", always)]
        if nginx:
            cache = "open_file_cache max=10000 inactive=1h; open_file_cache_valid 1h;"
            self.contenders += [
                ("nginx", "peer",
                 self.add(servers.start_nginx(nginx, folder, "nginx", self.root, "", mine))),
                ("nginx, open_file_cache", "peer",
                 self.add(servers.start_nginx(nginx, folder, "cached", self.root, cache, mine)))]

    def add(self, server):
        self.running.append(server)
        return server

    def make(self, name, size, count, first, second):
        """The paths of so many random objects; the first server names them."""
        os.makedirs(os.path.join(self.root, "o"), exist_ok=True)
        paths = []
        for _ in range(count):
            body = os.urandom(size)
            path = store(first, "POST", "/o", body)
            store(second, "PUT", path, body)
            with open(self.root + path, "wb") as file:
                file.write(body)
            paths.append(path)
        with open(self.list_of(name), "w", encoding="ascii") as file:
            file.write("".join(f"{path}\n" for path in paths))
        return paths

    def list_of(self, name):
        return os.path.join(self.folder, f"paths {name}")

    def check(self, server, paths):
        """Every object comes as it was stored; each is then one that was read before."""
        for path in paths:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}",
                                        timeout=30) as answer, \
                    open(self.root + path, "rb") as file:
                if answer.read() != file.read():
                    raise Failed("a server answered with other bytes than were stored")

    def measure(self, name, rounds):
        for _, _, server in self.contenders:
            self.check(server, self.paths[name])
        rows = [Row(title, kind, lambda server=server: self.wrk.run(server, self.list_of(name)))
                for title, kind, server in self.contenders]
        return run_rounds(f"GET of {name}", rows, rounds, self.seconds)

    def end(self):
        for server in self.running:
            server.end()


# ---- PUT ----

class Puts:
    def __init__(self, weir, nginx, program, folder, count, seconds):
        self.program = program
        self.folder = folder
        self.count = count
        self.seconds = seconds
        self.seed = 0
        self.weir = servers.start_weir(weir, "storage", folder, "put")
        self.nginx = None
        if nginx:
            root = os.path.join(folder, "dav")
            os.makedirs(os.path.join(root, "o"))
            self.nginx = servers.start_nginx(nginx, folder, "dav", root, "dav_methods PUT;")

    def run(self, way, where, more, at_once, server=None):
        self.seed += 1
        settle(self.folder)
        before = server.cpu_ns() if server else 0
        sample = json.loads(call([self.program, way, where, more, str(self.count), str(at_once),
                                  str(self.seconds), str(self.seed)]))
        figures = {"per_s": sample["puts"] / sample["seconds"], "p50_ms": sample["p50_ms"],
                   "p99_ms": sample["p99_ms"]}
        if server:
            figures["cpu_us"] = (server.cpu_ns() - before) / 1e3 / sample["puts"]
        return figures

    def run_files(self, way, at_once):
        place = os.path.join(self.folder, f"{way}.{self.seed}")
        os.mkdir(place)
        try:
            return self.run(way, place, "-", at_once)
        finally:
            remove(place)

    def measure(self, rounds):
        def by_http(server):
            return lambda: self.run("http", str(server.port), "o", CONNECTIONS, server)
        rows = [Row("weir storage", "weir", by_http(self.weir)),
                Row("a file for each, fsync, a plain loop", "peer",
                    lambda: self.run_files("files", 1)),
                Row(f"a file for each, fsync, {CONNECTIONS} threads", "peer",
                    lambda: self.run_files("files", CONNECTIONS)),
                Row(f"append, fdatasync for {CONNECTIONS}", "limit",
                    lambda: self.run_files("append", CONNECTIONS))]
        if self.nginx:
            rows.append(Row("nginx WebDAV (not durable)", "limit", by_http(self.nginx)))
        return run_rounds("PUT of 64 KiB", rows, rounds)

    def end(self):
        for server in (self.weir, self.nginx):
            if server:
                server.end()


# ---- opening ----

def measure_open(program, folder, count, rounds, rebuilds):
    """A store of so many chunks: filled once, then opened as it is, then without its index."""
    place = os.path.join(folder, "many")
    if space_of(folder)[0] < count * CHUNK_BYTES * 2 + (1 << 30):
        raise Failed(f"needs {count * CHUNK_BYTES * 2 / 1e9 + 1:.0f} GB in '{folder}'")
    def opened(is_rebuilt):
        sample = json.loads(call([program, "open", place]))
        if (sample["chunks"], sample["was_rebuilt"]) != (count, is_rebuilt):
            raise Failed("the store was not found as it was left")
        return sample
    def rebuild():
        shutil.rmtree(os.path.join(place, "index"))
        return opened(True)
    try:
        say(f"{count:,} chunks: filling")
        filled = json.loads(call([program, "fill", place, str(count)]))
        opened(False)
        rows = [Row("open", "weir", lambda: opened(False)),
                Row("open without an index", "variant", rebuild)]
        for row, times in zip(rows, (rounds, rebuilds)):
            run_rounds(f"{count:,} chunks", [row], times)
        return filled, rows
    finally:
        remove(place)
