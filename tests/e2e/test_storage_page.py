#!/usr/bin/env python3
"""What docs/storage.md shows can be typed and works: the quick start, the example for nginx, the
alerts and the names of metrics.

WEIR is the program, ROOT the source tree.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import Tap

WEIR = os.environ["WEIR"]
PAGE = (pathlib.Path(os.environ["ROOT"]) / "docs/storage.md").read_text()
HEADS = (pathlib.Path(os.environ["ROOT"]) / "src/http/head.c").read_text()
NAME = "chunks.example.org"


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.S | re.M)


def environment(folder):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("WEIR_")}
    clean.update(PATH=f"{folder}/bin:" + os.path.dirname(WEIR) + ":" + clean["PATH"], XDG_DATA_HOME=folder)
    return clean


def default_folder(folder):
    """What stands for the default folder here: root's is the machine's, which is left alone."""
    if os.getuid() != 0:
        return []
    os.mkdir(f"{folder}/bin")
    with open(f"{folder}/bin/weir", "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nfirst=$1 second=$2\nshift 2\nexec "{WEIR}" "$first" "$second" '
                   f'--data "{folder}/kept" "$@"\n')
    os.chmod(f"{folder}/bin/weir", 0o755)
    return ["--data", f"{folder}/kept"]


class Service:
    def __init__(self, folder, *options):
        self.process = subprocess.Popen([WEIR, "storage", "--listen", "127.0.0.1:0", *options],
                                        env=environment(folder), stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = line.rsplit(":", 1)[-1].strip()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def shell(command, folder):
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment(folder), check=False,
                          capture_output=True, text=True, timeout=60)


def try_quick_start(tap, folder, port):
    first, second = blocks("console")[:2]
    tap.tell("$ weir storage " in first, "the first command starts it", first)
    text = second.replace("\\\n", " ").replace("127.0.0.1:8470", f"127.0.0.1:{port}")
    text = text.replace("curl ", "curl -sS ")
    commands, wanted, names = [], [], []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
            names.append(line[2:].replace(f":{port}", ":8470"))
            wanted.append("")
        else:
            wanted[-1] += line + "\n"
    script = "\n".join(f"{command}\necho ---" for command in commands)
    answer = shell(script, folder)
    got = answer.stdout.split("---\n")
    for name, is_, should in zip(names, got, wanted):
        tap.tell(is_ == should, f"as shown: {name.split('   ')[0][:60]}",
                 f"is: {is_}\nshould be: {should}\n{answer.stderr}")


def try_metrics(tap, folder, port):
    text = shell(f"curl -sS http://127.0.0.1:{port}/metrics", folder).stdout
    there = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    section = PAGE[PAGE.index("## Monitoring"):PAGE.index("## What happens when")]
    named = {n for row in re.findall(r"^\| (`.*?) \|", section, re.M)
             for n in re.findall(r"`([a-z_]+)", row)}
    used = set(re.findall(r"\b([a-z]+_[a-z_]+)\b", "".join(blocks("yaml"))))
    used = {n for n in used if n.startswith(("store_", "repairs_", "busy_", "work_"))}
    tap.tell(len(named) > 20 and named <= there, "every metric of the page is there",
             f"missing: {sorted(named - there)}")
    tap.tell(len(used) > 3 and used <= there, "alerts ask for metrics that there are",
             f"missing: {sorted(used - there)}")


def try_alerts(tap, folder):
    rules = [b for b in blocks("yaml") if b.startswith("groups:")]
    path = os.path.join(folder, "rules.yml")
    pathlib.Path(path).write_text("".join(rules))
    if not shutil.which("promtool"):
        return
    answer = shell(f"promtool check rules {path}", folder)
    tap.tell(answer.returncode == 0, "promtool takes the alerts", answer.stdout + answer.stderr)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def nginx_conf(folder, service_port, port):
    shown = blocks("nginx")[0]
    for old, new in [("127.0.0.1:8470", f"127.0.0.1:{service_port}"),
                     ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
                     ("/etc/ssl/chunks.pem", f"{folder}/cert.pem"),
                     ("/etc/ssl/private/chunks.key", f"{folder}/key.pem")]:
        assert old in shown, old
        shown = shown.replace(old, new)
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n"
                        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return (f"daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;\n"
            f"events {{ worker_connections 64; }}\nhttp {{ access_log off;\n{temporary}{shown}}}\n")


def await_port(port):
    for _ in range(500):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)


def try_nginx(tap, folder, own):
    """own: of the configuration that the page wants for it."""
    if not shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin"):
        return
    config = pathlib.Path(folder, "storage.toml")
    keys = f"{folder}/ring"
    config.write_text(own.replace("/var/lib/weir/storage/keys", keys))
    token = subprocess.run([os.environ["WEIR"], "token", "mint", "--keys", keys, "--scope", "read,write"],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode().strip()
    service = Service(folder, "--data", f"{folder}/behind", "--config", str(config))
    port = free_port()
    shell(f"openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 "
          f"-subj /CN={NAME} -addext subjectAltName=DNS:{NAME}", folder)
    pathlib.Path(folder, "nginx.conf").write_text(nginx_conf(folder, service.port, port))
    nginx = subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf"],
                             env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"),
                             stderr=subprocess.DEVNULL)
    await_port(port)
    bare = f"curl -sS --cacert cert.pem --resolve {NAME}:{port}:127.0.0.1"
    curl = f"{bare} -H 'Authorization: Bearer {token}'"
    answer = shell(
        f"head -c 1048576 /dev/urandom >one; address=b3:$(b3sum --no-names one);"
        f"{curl} -o said -w '%{{http_code}} ' -T one https://{NAME}:{port}/o/$address;"
        f"{curl} https://{NAME}:{port}/o/$address | cmp - one && printf 'same ';"
        f"{bare} -o said -w '%{{http_code}} ' https://{NAME}:{port}/o/$address;"
        f"{curl} -o said -w '%{{http_code}}' https://{NAME}:{port}/metrics", folder)
    tap.tell(answer.stdout == "201 same 401 404", "a chunk goes to and fro behind nginx, with a token",
             answer.stdout + answer.stderr)
    nginx.terminate()
    nginx.wait(timeout=60)
    tap.tell(service.end() == 0, "and the service ends well")


def try_reached(tap, folder):
    """The example of an address that others can reach, on a machine that has nothing yet."""
    port = free_port()
    shown = next(block for block in blocks("sh") if "tls.cert" in block)
    ask = re.search(r"`(curl --cacert [^`]*)`", PAGE).group(1).replace("\n", " ")
    shown, ask = [text.replace("/srv/chunks", f"{folder}/srv/chunks").replace("8470", str(port))
                  for text in (shown, ask)]
    before, _, serve = shown.replace("\\\n", " ").rpartition("weir storage")
    # As it is typed, and not with the folder that stands for the default one elsewhere on the page.
    own = {**environment(folder), "PATH": os.path.dirname(WEIR) + ":" + os.environ["PATH"]}
    made = subprocess.run(["bash", "-ec", f"echo hello >hello.txt\n{before}"], cwd=folder, env=own, check=False,
                          capture_output=True, text=True, timeout=60)
    tap.tell(made.returncode == 0, "what comes before it", made.stderr)
    with subprocess.Popen(["bash", "-c", f"exec weir storage {serve}"], cwd=folder, env=own,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as service:
        line = service.stdout.readline()
        tap.tell(line.startswith("listening on https://0.0.0.0:"), "it listens for others", line)
        answer = shell(ask.replace("curl ", "curl -sS "), folder)
        tap.tell('"address": "b3:' in answer.stdout, "and takes what a token allows", answer.stdout + answer.stderr)
        service.terminate()
        tap.tell(service.wait(timeout=60) == 0, "until its end", service.stderr.read())


def try_errors(tap, folder):
    """Names and statuses of the page are those of the table that the program has."""
    answer = shell(f"{WEIR} errors --json", folder)
    table = {error["name"]: error["http"] for error in json.loads(answer.stdout)}
    rows = re.findall(r"^\| ([0-9, ]+) \| ([^|]*) \|", PAGE, re.M)
    pairs = [(name, status) for status, names in rows for name in re.findall(r"`(\w+)`", names)]
    wrong = [(name, status, table.get(name)) for name, status in pairs
             if str(table.get(name)) not in status.split(", ")]
    tap.tell(len(pairs) > 10 and not wrong, "errors have the status that 'weir errors' tells", f"{pairs} {wrong}")
    listed = set(re.findall(r"\d{3}", " ".join(re.findall(r"^\| (\d{3}[0-9, ]*) \|", PAGE, re.M))))
    refused = set(re.findall(r"refuse\(head, (\d{3}),", HEADS))
    tap.tell(len(refused) > 3 and refused <= listed, "a head is refused with a status of the page", f"{refused - listed}")


def main():
    tap = Tap()
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)  # nginx has workers of another user
    try:
        service = Service(folder, *default_folder(folder))
        try_quick_start(tap, folder, service.port)
        try_metrics(tap, folder, service.port)
        try_errors(tap, folder)
        tap.tell(service.end() == 0, "it drains and ends")
        try_alerts(tap, folder)
        try_reached(tap, folder)
        try_nginx(tap, folder, blocks("toml")[0])
    finally:
        shutil.rmtree(folder)
    return tap.end()


sys.exit(main())
