"""What a benchmark is as a program: its signals, its end, and the programs that it needs.

One that is interrupted takes its folders away first, and ends as interrupted.
"""
import os
import shutil
import signal
import sys

from lib.folder import Failed

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    def __init__(self, number):
        super().__init__(f"interrupted by signal {number}")
        self.number = number


def catch_signals():
    def interrupt(number, _):
        raise Interrupted(number)
    for number in SIGNALS:
        signal.signal(number, interrupt)


def ignore_signals():
    """While what was made is taken away."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def run(name, body):
    """The exit status of body(), or that of what went wrong, which is told in one line."""
    os.umask(0o022)
    catch_signals()
    try:
        return body()
    except Failed as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        return 1
    except Interrupted as interrupted:
        print(f"{name}: interrupted; the trees are removed", file=sys.stderr)
        signal.signal(interrupted.number, signal.SIG_DFL)
        os.kill(os.getpid(), interrupted.number)
        return 128 + interrupted.number


def find_built(build, *parts):
    """A program of a build folder, as a whole path."""
    program = os.path.join(build, *parts)
    if not os.access(program, os.X_OK):
        raise Failed(f"no program '{os.path.join(*parts)}' in '{build}': not built")
    return os.path.realpath(program)


def find_weir(build, other):
    """Our program: that of the build folder unless there is another."""
    weir = other or os.path.join(build, "src", "cli", "weir")
    if not shutil.which(weir):
        raise Failed(f"no program '{weir}': not built")
    return os.path.realpath(weir)
