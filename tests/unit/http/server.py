#!/usr/bin/env python3
"""A web server that behaves badly on request: what the tests of the HTTP client speak with.

    server.py [--tls CERT KEY] [--objects DIR] [--token TEXT]

Prints its port on a line of its own and serves until its standard input ends, so that it cannot
outlive a test. The path says what it does; see the methods serve_*. How many requests there were for
a path is at /count/PATH, and how many of those that waited in it have gone at /gone/PATH. The word TOKEN in a path stands for the text that was given.
"""
import argparse
import base64
import gzip
import http.server
import io
import json
import pathlib
import socket
import ssl
import sys
import tarfile
import threading
import urllib.parse

counts = {}
gone = {}
lock = threading.Lock()
over = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    objects = None
    token = "TOKEN"

    def log_message(self, *args):
        pass

    # --- pieces ---

    def answer(self, body=b"", status=200, headers=(), length=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def wait(self):
        """Until the other side gives up."""
        self.connection.settimeout(0.2)
        while not over.is_set():
            try:
                if not self.connection.recv(1):
                    self.note_gone()
                    break
            except (TimeoutError, socket.timeout):
                continue
            except OSError:
                self.note_gone()
                break
        self.hang_up()

    def note_gone(self):
        with lock:
            gone[self.path] = gone.get(self.path, 0) + 1

    # --- requests ---

    def handle_request(self):
        url = urllib.parse.urlsplit(self.path)
        words = [self.token if word == "TOKEN" else urllib.parse.unquote(word)
                 for word in url.path.strip("/").split("/")]
        size = int(self.headers.get("Content-Length", 0))
        self.sent = self.rfile.read(size) if size else b""
        with lock:
            counts[url.path] = counts.get(url.path, 0) + 1
            self.number = counts[url.path]
        method = getattr(self, "serve_" + words[0].replace("-", "_"), None)
        try:
            if method:
                method(words[1:], url)
            else:
                self.answer(b"nothing here\n", 404)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.hang_up()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request

    def serve_text(self, words, url):
        """text/WORD...: the words, one on a line."""
        self.answer("".join(word + "\n" for word in words).encode(),
                    headers=[("X-Note", "a note"), ("Content-Type", "text/plain")])

    def serve_echo(self, words, url):
        body = json.dumps({"method": self.command, "path": self.path,
                           "headers": {k.lower(): v for k, v in self.headers.items()},
                           "body": self.sent.decode("latin-1")}).encode()
        self.answer(body)

    def serve_count(self, words, url):
        with lock:
            number = counts.get("/" + "/".join(words), 0)
        self.answer(str(number).encode())

    def serve_say(self, words, url):
        """say/TEXT-IN-BASE64URL/...: that text, whatever is behind it."""
        self.answer(base64.urlsafe_b64decode(words[0] + "=" * (-len(words[0]) % 4)))

    def serve_gone(self, words, url):
        """gone/PATH: waits for up to ten seconds until somebody has gone from there."""
        path = "/" + "/".join(words)
        for _ in range(1000):
            with lock:
                if gone.get(path):
                    break
            over.wait(0.01)
        with lock:
            self.answer(str(gone.get(path, 0)).encode())

    def serve_ticks(self, words, url):
        """ticks/COUNT/MS: lines, one after each pause; then silence, in chunks that do not end."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(int(words[0])):
            line = f"tick {number}\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
            over.wait(int(words[1]) / 1000)
        self.wait()

    def serve_status(self, words, url):
        """status/NUMBER[/RETRY-AFTER], with a body that nobody should scan."""
        headers = [("Retry-After", words[1])] if len(words) > 1 else []
        self.answer(f"status {words[0]} {self.token}\n".encode(), int(words[0]), headers)

    def serve_flaky(self, words, url):
        """flaky/TIMES/NAME/WORD: 503 so many times, then the word."""
        if self.number <= int(words[0]):
            self.answer(b"not yet\n", 503)
        else:
            self.answer((words[2] + "\n").encode())

    def serve_drop(self, words, url):
        """drop/TIMES/NAME/WORD: hangs up so many times without an answer."""
        if self.number <= int(words[0]):
            self.hang_up()
        else:
            self.answer((words[2] + "\n").encode())

    def serve_silent(self, words, url):
        self.wait()

    def serve_stall(self, words, url):
        """stall/WORD: the word, and then nothing more."""
        self.answer((words[0] + "\n").encode(), length=1000000)
        self.wfile.flush()
        self.wait()

    def serve_endless(self, words, url):
        """endless/WORD: the word, and then dots."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.wfile.write((words[0] + "\n").encode())
        while not over.is_set():
            self.wfile.write(b"." * 65535 + b"\n")

    def serve_long(self, words, url):
        """long/WORD: says that it is 10 GB."""
        self.answer((words[0] + "\n").encode(), length=10 ** 10)
        self.hang_up()

    def serve_length(self, words, url):
        """A length that is none."""
        self.send_response(200)
        self.send_header("Content-Length", words[0])
        self.end_headers()
        self.wfile.write(b"0123456789")
        self.close_connection = True

    def serve_short(self, words, url):
        """short/WORD: ends before its length."""
        self.answer((words[0] + "\n").encode(), length=len(words[0]) + 1000)
        self.wfile.flush()
        self.hang_up()

    def serve_redirect(self, words, url):
        """redirect/TIMES/PATH..."""
        times = int(words[0])
        rest = url.path.strip("/").split("/", 2)[2]
        target = f"/redirect/{times - 1}/{rest}" if times > 1 else f"/{rest}"
        self.answer(b"elsewhere\n", 302, [("Location", target)])

    def serve_loop(self, words, url):
        self.answer(b"here again\n", 301, [("Location", "/loop")])

    def serve_to(self, words, url):
        """to?URL"""
        self.answer(b"elsewhere\n", 307, [("Location", urllib.parse.unquote(url.query))])

    def serve_gzip(self, words, url):
        self.answer(gzip.compress("\n".join(words).encode() + b"\n"),
                    headers=[("Content-Encoding", "gzip")])

    def serve_gzip_bad(self, words, url):
        text = "\n".join(words + [str(i * i) for i in range(10000)]).encode()
        packed = gzip.compress(text)
        self.answer(packed[:9000] + b"\xff" * 50 + packed[9050:],
                    headers=[("Content-Encoding", "gzip")])

    def serve_gzip_short(self, words, url):
        """Ends in the middle of its gzip, and says so nowhere."""
        text = "\n".join(words + [str(i * i) for i in range(10000)]).encode()
        self.answer(gzip.compress(text)[:9000], headers=[("Content-Encoding", "gzip")])

    def serve_gzip_two(self, words, url):
        """A gzip for each word, one behind the other."""
        self.answer(b"".join(gzip.compress(word.encode() + b"\n") for word in words),
                    headers=[("Content-Encoding", "GZIP")])

    def serve_encoded(self, words, url):
        """encoded/NAME/WORD"""
        self.answer(words[1].encode() + b"\n", headers=[("Content-Encoding", words[0])])

    def serve_gzip_bomb(self, words, url):
        packed = gzip.compress(b"\0" * (64 << 20))
        self.answer(packed, headers=[("Content-Encoding", "gzip")])

    def serve_archive(self, words, url):
        """archive/KIND/WORD...: a gzip, or a tar with a megabyte behind its end."""
        text = "\n".join(words[1:]).encode() + b"\n"
        if words[0] == "gzip":
            self.answer(gzip.compress(text))
            return
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            entry = tarfile.TarInfo("inside/file.txt")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
        self.answer(packed.getvalue() + b"\0" * (1 << 20))

    def serve_garbage(self, words, url):
        self.wfile.write(b"this is not HTTP\n" * 10)
        self.wfile.flush()
        self.hang_up()

    def serve_heads(self, words, url):
        """A head of 1 MB."""
        self.answer(b"x", headers=[(f"X-{i}", "y" * 1000) for i in range(1000)])

    def serve_o(self, words, url):
        """o/ADDRESS: an object of the folder."""
        path = pathlib.Path(self.objects or "/nonexistent") / words[0].replace(":", "-")
        if not path.exists():
            self.answer(b'{"error": "NotFound"}', 404)
        else:
            self.answer(path.read_bytes(), headers=[("ETag", f'"{words[0]}"')])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tls", nargs=2)
    parser.add_argument("--objects")
    parser.add_argument("--token", default="TOKEN")
    arguments = parser.parse_args()
    Handler.objects = arguments.objects
    Handler.token = arguments.token
    server = Server(("127.0.0.1", 0), Handler)
    if arguments.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*arguments.tls)
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    over.set()


main()
