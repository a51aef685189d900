"""weir index for tests: started, asked, stopped; records signed by keys that are made of a number; and
siblings that are none, which do as they are told.
"""
import base64
import http.server
import json
import socketserver
import threading
import time

from index_lib import Source
from storage_lib import Storage, run


class Index(Storage):
    service = "index"

    def __init__(self, *settings, data=None, words=(), **options):
        """settings: KEY=VALUE."""
        given = [*words]
        for setting in settings:
            given += ["--set", setting]
        if data is None:
            given.append("--amnesia")
        super().__init__(*given, data=data, **options)

    def resolve(self, what, **headers):
        return self.get("/resolve/" + what, **headers)

    def publish(self, target, text, previous=None, method="PUT", headers=None):
        body = {"record": text} if previous is None else {"record": text, "previous": previous}
        return self.ask(method, target, json.dumps(body), headers)

    def metrics(self):
        numbers = {}
        for line in self.get("/metrics").body.decode().splitlines():
            if line and line[0] != "#":
                name, _, value = line.rpartition(" ")
                numbers[name] = float(value)
        return numbers


def refused(*settings, words=(), **options):
    index = Index(*settings, words=words, is_awaited=False, **options)
    return index.wait(), index.log()


class Keys:
    """Records, made by the tool that speaks with sources; seed: which key."""

    def __init__(self):
        self.tool = Source("sibling", "http://127.0.0.1:9")

    def id(self, seed):
        return self.tool.say(f"id {seed}")

    def name(self, label, seed):
        return f"{label}@{self.id(seed)}"

    def record(self, words):
        """As it stands in a body."""
        return base64.urlsafe_b64encode(base64.b64decode(self.tool.say("record " + words))).decode().rstrip("=")

    def of_name(self, label, seed, sequence, life=3600):
        return self.record(f"name {label} {seed} {sequence} {life}")

    def of_provider(self, address, seed, sequence, url, life=3600):
        return self.record(f"provider {address} {seed} {sequence} {life} {url}")


class Sibling:
    """A node of the index that is none: answers after a while, or fails; counts who asks, and who went
    before there was an answer."""

    def __init__(self, delay=0.0, status=200, answers=None):
        self.delay, self.status, self.answers = delay, status, dict(answers or {})
        self.asked, self.left, self.hops = [], 0, set()
        self.lock = threading.Lock()
        self.gate = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def do_HEAD(self):
                outer.answer(self)

            def log_message(self, *words):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 256

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, handler):
        with self.lock:
            self.asked.append((time.monotonic(), handler.path))
            self.hops.add(handler.headers.get("X-Weir-Hops"))
        handler.connection.settimeout(0.01)
        end = time.monotonic() + self.delay
        while time.monotonic() < end:
            try:
                if handler.connection.recv(1) == b"":
                    with self.lock:
                        self.left += 1
                    handler.close_connection = True
                    return
            except TimeoutError:
                pass
            except OSError:
                with self.lock:
                    self.left += 1
                handler.close_connection = True
                return
        handler.connection.settimeout(60)
        status, body = self.status, b"{}"
        if status == 200:
            record = self.answers.get(handler.path)
            status = 200 if record else 404
            body = json.dumps(record or {"error": "NotFound"}).encode()
        try:
            handler.send_response(status)
            handler.send_header("Content-Length", str(len(body)))
            handler.send_header("Content-Type", "application/json")
            handler.end_headers()
            if handler.command != "HEAD":
                handler.wfile.write(body)
        except OSError:
            handler.close_connection = True

    def count(self, target=None):
        with self.lock:
            return sum(target is None or path_of == target for _, path_of in self.asked)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def knows(text):
    """What a sibling says of a name."""
    return {"record": text, "providers": []}


def took(question):
    """(answer, seconds)"""
    before = time.monotonic()
    answer = question()
    return answer, time.monotonic() - before


def promtool(index):
    """What it says of the page of metrics; '' when it is content."""
    status, out, err = run("promtool", "check", "metrics", input=index.get("/metrics").body)
    return "" if status == 0 else out.decode() + err
