"""weir storage for tests: started, asked, stopped; and points of TAP about what it answers.

Nothing here waits for time to pass: until() looks at a state again and again, and gives up after a
minute, which is for hangs alone.
"""
import atexit
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from tap import Tap

WEIR = os.environ["WEIR"]
HANG_S = 60
MIB = 1 << 20

tap = Tap()
folder = tempfile.mkdtemp(prefix="weir-storage-")
started = []


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def clean_up():
    for process in started:
        if process.poll() is None:
            for child in children_of(process.pid):  # strace leaves what it watched
                os.kill(child, signal.SIGKILL)
            process.kill()
            process.wait()
    shutil.rmtree(folder, ignore_errors=True)


atexit.register(clean_up)


# --- points ---

def short(value):
    text = repr(value)
    return text if len(text) < 400 else text[:200] + " ... " + text[-200:]


def same(name, got, wanted):
    tap.tell(got == wanted, name, f"got    {short(got)}\nwanted {short(wanted)}")


def true(name, value, why=""):
    tap.tell(bool(value), name, short(why) if why != "" else short(value))


def has(name, text, pattern):
    tap.tell(re.search(pattern, text, re.S) is not None, name, f"got    {short(text)}\nwanted {pattern}")


def finish():
    clean_up()
    raise SystemExit(tap.end())


# --- waiting ---

def until(question, what="a state", seconds=HANG_S):
    """Asks until the answer is true, and returns that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        select.select([], [], [], 0.01)
    raise TimeoutError(f"waited for {what} in vain")


# --- names ---

def path(name):
    return os.path.join(folder, name)


def make_folder(name):
    os.makedirs(path(name), exist_ok=True)
    return path(name)


def make_file(name, content):
    with open(path(name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path(name)


def address(content):
    """Of these bytes, by a program that is not ours."""
    done = subprocess.run(["b3sum", "--no-names"], input=content, stdout=subprocess.PIPE, check=True)
    return "b3:" + done.stdout.decode().strip()


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=HANG_S, check=False, **options)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def weir(*words, **options):
    """What it prints. It must succeed."""
    status, out, err = run(WEIR, *words, **options)
    assert status == 0, f"weir {words}: {status}: {err}"
    return out.decode().strip()


def mint(data, *words):
    return weir("token", "mint", "--data", data, *words)


def bearer(token):
    return {"Authorization": "Bearer " + token}


# --- answers ---

class Answer:
    def __init__(self, status, fields, body):
        self.status = status
        self.fields = fields
        self.body = body

    def __getitem__(self, name):
        """The field's value, '' when there is none."""
        return ", ".join(value for key, value in self.fields if key.lower() == name.lower())

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.fields} {short(self.body)}"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, name):
        super().__init__("localhost", timeout=HANG_S)
        self.name = name

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(HANG_S)
        self.sock.connect(self.name)


def exchange(connection, method, target, body=None, headers=None):
    headers = dict(headers or {})
    connection.request(method, target, body=body, headers=headers)
    response = connection.getresponse()
    content = response.read()
    return Answer(response.status, response.getheaders(), content)


def parts_of(answer):
    """(Content-Range, bytes) of each part of a multipart/byteranges."""
    boundary = re.search(r"boundary=(\S+)", answer["Content-Type"]).group(1).encode()
    pieces = (b"\r\n" + answer.body).split(b"\r\n--" + boundary)
    assert pieces[0] == b"" and pieces[-1].startswith(b"--"), pieces
    parts = []
    for piece in pieces[1:-1]:
        head, _, content = piece.partition(b"\r\n\r\n")
        place = re.search(rb"(?i)content-range: *([^\r]+)", head).group(1).decode()
        parts.append((place, content))
    return parts


# --- a disk ---

def fill_disk(place):
    """To the last byte, as others on the disk may do, by a file called rest."""
    size = MIB
    with open(os.path.join(place, "rest"), "ab", buffering=0) as file:
        while size > 0:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


# --- the service ---

class Storage:
    """A process. data: its folder, None for amnesia or when the words have it."""

    service = "storage"

    def __init__(self, *words, data=None, listen=("127.0.0.1:0",), before=(), fds=(), env=None,
                 is_awaited=True, activated=0):
        command = [*before, WEIR, self.service, *[str(word) for word in words]]
        if data:
            command += ["--data", data]
        for place in listen:
            command += ["--listen", place]
        self.log_name = tempfile.mktemp(prefix="log-", dir=folder)
        with open(self.log_name, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=log, pass_fds=fds,
                                            env={**os.environ, **(env or {})})
        started.append(self.process)
        self.places = []
        self.out = b""
        if is_awaited:
            self.wait_for_places(activated or len(listen))

    def wait_for_places(self, count):
        end = time.monotonic() + HANG_S
        while self.out.count(b"\n") < count:
            if not select.select([self.process.stdout], [], [], end - time.monotonic())[0]:
                raise TimeoutError("it does not say where it listens")
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                raise RuntimeError("it has ended: " + self.log())
            self.out += more
        self.places = re.findall(r"^listening on (\S+)$", self.out.decode(), re.M)
        assert len(self.places) == count, self.out

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        return int(next(place for place in self.places if "unix:" not in place).rsplit(":", 1)[1])

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def log(self):
        with open(self.log_name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for_log(self, pattern, count=1):
        until(lambda: len(re.findall(pattern, self.log())) >= count, f"'{pattern}' in the log: {self.log()}")

    # --- asking ---

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_S)

    def ask(self, method, target, body=None, headers=None):
        connection = self.connect()
        try:
            return exchange(connection, method, target, body, headers)
        finally:
            connection.close()

    def get(self, target, **headers):
        return self.ask("GET", target, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def put(self, content, headers=None, name=None):
        return self.ask("PUT", "/o/" + (name or address(content)), content, headers)

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), HANG_S)

    def raw(self, content):
        """Sends these bytes and reads to the end of the connection."""
        with self.socket() as end:
            end.sendall(content)
            return read_all(end)

    # --- numbers ---

    def metrics(self):
        """{'name{label="value"}': number}, without the prefix."""
        numbers = {}
        for line in self.get("/metrics").body.decode().splitlines():
            if line and line[0] != "#":
                name, _, value = line.rpartition(" ")
                numbers[re.sub(r"^weir_storage_|^storage_|^weir_", "", name)] = float(value)
        return numbers

    def memory(self):
        """Bytes that are resident and are not of files."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return int(re.search(r"RssAnon:\s+(\d+) kB", file.read()).group(1)) << 10

    # --- signals, end ---

    def kill(self, number):
        os.kill(self.pid, number)

    def reload(self):
        """SIGHUP, and what was said about it."""
        before = len(self.log())
        self.kill(signal.SIGHUP)
        until(lambda: re.search(r"reloaded: |stays as it was", self.log()[before:]), "the reload")
        return self.log()[before:]

    def wait(self):
        self.process.wait(HANG_S)
        self.process.stdout.close()
        return self.process.returncode

    def stop(self, number=signal.SIGTERM):
        self.kill(number)
        return self.wait()


def hold(storage):
    """A request that is at work until what is returned is closed: a long answer that nobody takes."""
    there = make_folder("long.chunks")
    with open(path("long.hole"), "wb") as file:
        file.truncate(1 << 30)
    root = run(os.environ["CHUNKS"], path("long.hole"), there)[1].decode().split()[0]
    for name in os.listdir(there):
        with open(os.path.join(there, name), "rb") as file:
            assert storage.put(file.read(), name=name).status in (200, 201)
    end = storage.socket()
    end.sendall(f"GET /f/{root} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert read_head(end)[0].startswith(b"HTTP/1.1 200 ")
    return end


def refused(*words, **options):
    """A service that must not start: its status and what it says."""
    storage = Storage(*words, is_awaited=False, **options)
    try:
        return storage.wait(), storage.log()
    except subprocess.TimeoutExpired:
        storage.process.kill()
        return "it runs", storage.log()


def read_all(end):
    pieces = []
    try:
        while piece := end.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pieces.append(b"(reset)")
    return b"".join(pieces)


def read_head(end):
    """Up to the empty line, and what came behind it."""
    got = b""
    while b"\r\n\r\n" not in got:
        piece = end.recv(65536)
        if not piece:
            break
        got += piece
    head, _, rest = got.partition(b"\r\n\r\n")
    return head, rest


def is_envelope(answer, code=None, more=()):
    """more: members behind those that every error has."""
    try:
        said = answer.json
    except ValueError:
        return False
    return (set(said) == {"error", "message", "corr_id", *more} and said["corr_id"] == answer["X-Corr-ID"]
            and len(said["message"]) > 0 and (code is None or said["error"] == code)
            and answer["Content-Type"].startswith("application/json"))
