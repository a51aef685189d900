#!/usr/bin/env python3
"""What README.md shows can be typed: README FILE

Its blocks of "console" are typed, each in an empty directory of its own, in one shell: every line
that begins with "$ " is a command, and what follows is what it prints, but for the time it took.
Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

WEIR = os.environ["WEIR"]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TIMES = re.compile(r"\bin [\d.]+ ?m?s\b(, [\d.]+ [KMG]?i?B/s)?")
MARK = "what follows was printed by the next command"
STATUSES = (0, 1)  # there are findings


def steps_of(block):
    """(command, what it prints) of each."""
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return steps


def type_all(commands, folder):
    """What each prints, and its status, in one shell."""
    script = "\n".join(f"{command}\necho '{MARK}' $?" for command in commands)
    env = dict(os.environ, PATH=os.path.dirname(WEIR) + ":" + os.environ["PATH"],
               XDG_CACHE_HOME=folder + ".cache", TMPDIR=tempfile.gettempdir())
    os.makedirs(env["XDG_CACHE_HOME"])
    said = subprocess.run(["bash", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                          check=False).stdout
    parts = re.split(rf"^{MARK} (\d+)\n", said, flags=re.MULTILINE)
    return list(zip(parts[0::2], map(int, parts[1::2])))


def main():
    number = failed = 0
    with open(sys.argv[1], encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    with tempfile.TemporaryDirectory() as top:
        for i, block in enumerate(blocks):
            folder = os.path.join(top, str(i))
            os.mkdir(folder)
            steps = [step for step in steps_of(block) if shutil.which(step[0].split()[0]) or
                     not step[0].startswith("rsync ")]  # which is there where copies are tested
            printed = type_all([command for command, _ in steps], folder)
            for at, (command, lines) in enumerate(steps):
                said, status = printed[at] if at < len(printed) else ("it was not reached", -1)
                wanted = "".join(line + "\n" for line in lines)
                # What is shown without its output may have some that is of no interest.
                is_same = not lines or TIMES.sub("in T", said) == TIMES.sub("in T", wanted)
                number += 1
                if is_same and status in STATUSES:
                    print(f"ok {number} - {command.replace('#', ' ')}")
                    continue
                failed += 1
                print(f"not ok {number} - {command.replace('#', ' ')}")
                print("\n".join(f"# {line}" for line in f"{status}: {said}".splitlines()))
    print(f"ok {number + 1} - there are blocks" if number > 10 else f"not ok {number + 1} - there are none")
    print(f"1..{number + 1}")
    return failed > 0 or number <= 10


if __name__ == "__main__":
    sys.exit(main())
