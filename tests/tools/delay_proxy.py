#!/usr/bin/env python3
"""A TCP proxy that is as bad as a network can be: it delays, drops, cuts and stalls on command.

    delay_proxy.py HOST:PORT [HOST:PORT ...]

Takes a free port of 127.0.0.1 for each target and prints them on one line. Commands are lines of
standard input; each is for one target, by its number, or for all with '*', and is answered by 'ok':

    delay N MS [JITTER_MS]   every piece waits so long, in both directions; pieces stay in order
    share N PERMILLE         of new connections are delayed; the others are not (1000 at the start)
    rate N BYTES             a second, at most, in each direction; 0: any
    stall N                  nothing passes any more, and nobody is told
    refuse N                 new connections are closed at once, those that stand are reset
    cut N                    connections that stand are reset, new ones are welcome
    heal N                   as at the start, for connections old and new
    stats N                  answered by 'accepted N open N up BYTES down BYTES closed_by_client N'

It ends with its input. As a module: DelayProxy(targets) with the same commands as methods.
"""
import asyncio
import random
import socket
import struct
import sys
import threading

PIECE = 65536


class Target:
    def __init__(self, host, port):
        self.host, self.port = host, port
        self.connections = set()
        self.accepted = self.up = self.down = self.closed_by_client = 0
        self.heal()

    def heal(self):
        self.delay = self.jitter = 0.0
        self.permille = 1000
        self.rate = 0
        self.is_stalled = self.is_refusing = False

    def pause(self):
        return self.delay + random.uniform(0, self.jitter)


class Connection:
    def __init__(self, target, reader, writer):
        self.target = target
        self.client = (reader, writer)
        self.is_slow = random.randrange(1000) < target.permille
        self.tasks = []

    def reset(self):
        for _, writer in (self.client, getattr(self, "server", self.client)):
            end = writer.get_extra_info("socket")
            if end is not None:
                try:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                except OSError:
                    pass
            writer.transport.abort()
        for task in self.tasks:
            task.cancel()

    async def run(self):
        target = self.target
        self.server = await asyncio.open_connection(target.host, target.port)
        up = asyncio.ensure_future(self.pump(self.client[0], self.server[1], "up"))
        down = asyncio.ensure_future(self.pump(self.server[0], self.client[1], "down"))
        self.tasks = [up, down]
        await asyncio.wait(self.tasks, return_when=asyncio.ALL_COMPLETED)

    async def pump(self, reader, writer, way):
        """Reading goes on while what was read waits, so that a delay is no limit on the rate."""
        line = asyncio.Queue(1024)
        sender = asyncio.ensure_future(self.send(line, writer))
        self.tasks.append(sender)
        loop = asyncio.get_running_loop()
        try:
            while True:
                piece = await reader.read(PIECE)
                setattr(self.target, way, getattr(self.target, way) + len(piece))
                if not piece and way == "up":
                    self.target.closed_by_client += 1
                wait = self.target.pause() if self.is_slow else 0
                await line.put((loop.time() + wait, piece))
                if not piece:
                    break
            await sender
        except (ConnectionError, OSError):
            if way == "up":
                self.target.closed_by_client += 1
            await line.put((0, b""))
            await sender

    async def send(self, line, writer):
        loop = asyncio.get_running_loop()
        target = self.target
        try:
            while True:
                at, piece = await line.get()
                while loop.time() < at or target.is_stalled:
                    await asyncio.sleep(0.005 if target.is_stalled else max(0, at - loop.time()))
                if not piece:
                    break
                writer.write(piece)
                await writer.drain()
                if target.rate > 0:
                    await asyncio.sleep(len(piece) / target.rate)
            writer.close()
        except (ConnectionError, OSError):
            writer.close()


class DelayProxy:
    """Runs in a thread of its own. ports: where to connect to instead of each target."""

    def __init__(self, targets):
        self.targets = [Target(*split(target)) for target in targets]
        self.ports = []
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self.serve, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait(10)

    def serve(self, ready):
        asyncio.set_event_loop(self.loop)
        self.servers = []
        for target in self.targets:
            server = self.loop.run_until_complete(asyncio.start_server(
                lambda r, w, t=target: self.accept(t, r, w), "127.0.0.1", 0))
            self.servers.append(server)
            self.ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        self.loop.run_forever()

    async def accept(self, target, reader, writer):
        target.accepted += 1
        connection = Connection(target, reader, writer)
        if target.is_refusing:
            connection.reset()
            return
        target.connections.add(connection)
        try:
            await connection.run()
        except (OSError, asyncio.CancelledError):
            connection.reset()
        finally:
            target.connections.discard(connection)

    def call(self, function):
        """In the thread of the loop; what it returns."""
        async def body():
            return function()
        return asyncio.run_coroutine_threadsafe(body(), self.loop).result(10)

    # --- commands ---

    def delay(self, number, ms, jitter_ms=0):
        def change():
            self.targets[number].delay = ms / 1000
            self.targets[number].jitter = jitter_ms / 1000
        self.call(change)

    def share(self, number, permille):
        self.call(lambda: setattr(self.targets[number], "permille", permille))

    def rate(self, number, bytes_per_s):
        self.call(lambda: setattr(self.targets[number], "rate", bytes_per_s))

    def stall(self, number):
        self.call(lambda: setattr(self.targets[number], "is_stalled", True))

    def refuse(self, number):
        self.call(lambda: setattr(self.targets[number], "is_refusing", True))
        self.cut(number)

    def cut(self, number):
        self.call(lambda: [connection.reset() for connection in list(self.targets[number].connections)])

    def heal(self, number):
        self.call(self.targets[number].heal)

    def stats(self, number):
        target = self.targets[number]
        return {"accepted": target.accepted, "open": len(target.connections), "up": target.up,
                "down": target.down, "closed_by_client": target.closed_by_client}

    def close(self):
        for number in range(len(self.targets)):
            self.cut(number)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)


def split(target):
    host, _, port = target.rpartition(":")
    return host.strip("[]"), int(port)


def main():
    proxy = DelayProxy(sys.argv[1:])
    print(*proxy.ports, flush=True)
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        numbers = range(len(proxy.targets)) if words[1] == "*" else [int(words[1])]
        said = "ok"
        for number in numbers:
            got = getattr(proxy, words[0])(number, *[int(word) for word in words[2:]])
            if words[0] == "stats":
                said = " ".join(f"{name} {value}" for name, value in got.items())
        print(said, flush=True)


if __name__ == "__main__":
    main()
