"""Servers that are measured: started once, idle while it is another's turn, ended at the end."""
import glob
import os
import pwd
import re
import socket
import subprocess
import time

from lib.folder import Failed

START_S_MAX = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_ns(pids):
    """What their threads have run so far, by the scheduler's own clock."""
    total = 0
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            try:
                with open(path, encoding="ascii") as file:
                    total += int(file.read().split()[0])
            except OSError:
                pass    # a thread that has just ended
    return total


def listed(processors):
    """As taskset wants them."""
    return ",".join(map(str, processors))


class Server:
    """A program that listens on a port of this machine."""

    def __init__(self, command, said, port, processors=None):
        self.said = said
        self.port = port
        prefix = ["taskset", "-c", listed(processors)] if processors else []
        with open(said, "wb") as output:
            self.process = subprocess.Popen(prefix + command, stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=output, start_new_session=True)
        self.wait()

    def wait(self):
        end = time.monotonic() + START_S_MAX
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        with open(self.said, encoding="utf-8", errors="replace") as file:
            said = file.read().strip().splitlines()
        self.end()
        raise Failed(said[-1] if said else "a server did not start")

    def pids(self):
        """With its children, which are few and last."""
        pid = self.process.pid
        path = f"/proc/{pid}/task/{pid}/children"
        with open(path, encoding="ascii") as file:
            return [pid, *map(int, file.read().split())]

    def cpu_ns(self):
        return cpu_ns(self.pids())

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def start_weir(weir, service, folder, name, *settings, config=None, processors=None):
    """With what it is delivered with, but for the settings, and a file that can be changed."""
    data = os.path.join(folder, f"{name}.data")
    port = free_port()
    options = [word for setting in settings for word in ("--set", setting)]
    options += ["--config", config] if config else []
    return Server([weir, service, "--data", data, "--listen", f"127.0.0.1:{port}", *options],
                  os.path.join(folder, f"{name}.log"), port, processors)


NGINX = """\
daemon off; worker_processes {workers}; pid {folder}/{name}.pid; error_log {folder}/{name}.errors;
{user}
events {{ worker_connections 1024; }}
http {{
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
    client_body_temp_path {folder}/{name}.body; client_max_body_size 2m;
    proxy_temp_path {folder}/{name}.unused; fastcgi_temp_path {folder}/{name}.unused;
    uwsgi_temp_path {folder}/{name}.unused; scgi_temp_path {folder}/{name}.unused;
    server {{ listen 127.0.0.1:{port}; root {root}; {more} }}
}}
"""


def start_nginx(nginx, folder, name, root, more="", processors=None):
    port = free_port()
    # Started as root it would become somebody who cannot look into our folder.
    user = f"user {pwd.getpwuid(0).pw_name};" if os.geteuid() == 0 else ""
    path = os.path.join(folder, f"{name}.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(NGINX.format(folder=folder, name=name, user=user, port=port, root=root,
                                workers=len(processors or range(2)), more=more))
    return Server([nginx, "-c", path, "-e", os.path.join(folder, f"{name}.errors")],
                  os.path.join(folder, f"{name}.log"), port, processors)


def nginx_version(nginx):
    said = subprocess.run([nginx, "-v"], check=False, capture_output=True, text=True).stderr
    found = re.search(r"nginx/(\S+)", said)
    return found.group(1) if found else "unknown"
