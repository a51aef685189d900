"""A folder to work in, gone at the end; and what is known about where it lies."""
import fcntl
import os
import subprocess
import tempfile


class Failed(Exception):
    """One line for people."""


def remove(path):
    # In a session of its own, so that a Ctrl-C that is meant for the benchmark does not stop it.
    subprocess.run(["rm", "-rf", "--one-file-system", "--", path], check=False,
                   start_new_session=True)


def call(*command):
    answer = subprocess.run(command, text=True, check=False, start_new_session=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if answer.returncode != 0:
        said = answer.stderr.strip().splitlines()
        raise Failed(f"'{command[0]}' failed{': ' + said[-1] if said else ''}")
    return answer.stdout.strip()


class Folder:
    """Made below a given one; what a killed run has left there is removed."""

    def __init__(self, parent, prefix):
        self.had_leftovers = remove_leftovers(parent, prefix)
        self._base = tempfile.mkdtemp(prefix=prefix, dir=os.path.realpath(parent))
        self._lock = lock(self._base)
        self.path = self._base
        self.is_mounted = False

    def close(self):
        remove(self._base)


def lock(path):
    """A descriptor that holds the lock of a folder, or None if a living run has it."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def remove_leftovers(parent, prefix):
    """Whether there were any."""
    found = False
    for name in os.listdir(parent):
        path = os.path.join(parent, name)
        if not name.startswith(prefix) or os.path.islink(path) or not os.path.isdir(path):
            continue
        fd = lock(path)
        if fd is not None:
            remove(path)
            os.close(fd)
            found = True
    return found


def device_of(path):
    number = os.stat(path).st_dev
    return os.path.basename(os.path.realpath(
        f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"))


def has_no_journal(path):
    """Whether it is on an ext4 without a journal."""
    try:
        with open(f"/sys/fs/ext4/{device_of(path)}/journal_task", encoding="ascii") as file:
            return not file.read().strip().isdigit()
    except OSError:
        return False


def space_of(path):
    """(bytes, inodes) that are free; a file system that does not count inodes has enough."""
    info = os.statvfs(path)
    return info.f_bavail * info.f_frsize, info.f_favail if info.f_files else 1 << 62
