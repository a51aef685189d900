#!/usr/bin/env python3
"""Counts, with callgrind, what acquiring and releasing cost while nobody waits.

The program is run for two numbers of pairs; the difference, divided by the difference of the
numbers, is what one pair costs. Counted are the two functions with all that they call, through the
static library. Below 1,024 pairs nothing is folded, so that the figure is exact; over many pairs
the folding is shared out among them.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

INSTRUCTIONS_MAX = 32
FUNCTIONS = {"acquire": ("weir_budget_acquire", "weir_permit_release"),
             "try": ("weir_budget_try", "weir_permit_release")}
FEW = (100, 900)
MANY = (10_000, 110_000)


def count(program, call, pairs):
    """Instructions inside the two functions in one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no",
                   f"--callgrind-out-file={out}"]
        command += [f"--toggle-collect={name}" for name in FUNCTIONS[call]]
        answer = subprocess.run(command + [program, call, str(pairs)], text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if answer.returncode != 0:
            raise RuntimeError(f"valgrind ended with {answer.returncode}: {answer.stdout}")
        with open(out, encoding="utf-8") as file:
            total = re.search(r"^(?:totals|summary):\s*(\d+)", file.read(), re.M)
    if not total or int(total.group(1)) < pairs:
        raise RuntimeError("callgrind counted nothing: are the functions there by name?")
    return int(total.group(1))


def cost(program, call, numbers):
    less, more = (count(program, call, pairs) for pairs in numbers)
    return (more - less) / (numbers[1] - numbers[0])


def main():
    if not shutil.which("valgrind"):
        print("1..0 # SKIP valgrind is not installed")
        return 0
    checks = [(call, kind, numbers, limit) for call in FUNCTIONS
              for kind, numbers, limit in (("alone", FEW, INSTRUCTIONS_MAX),
                                           ("with folding", MANY, INSTRUCTIONS_MAX))]
    print(f"1..{len(checks)}")
    failed = 0
    for number, (call, kind, numbers, limit) in enumerate(checks, 1):
        try:
            value = cost(sys.argv[1], call, numbers)
            said = f"{value:.3f} instructions, at most {limit}"
        except RuntimeError as error:
            value, said = float("inf"), str(error)
        is_good = value <= limit
        failed += not is_good
        print(f"{'ok' if is_good else 'not ok'} {number} - {call} and release, {kind}")
        print("# " + said.replace("\n", "\n# "))
    return 1 if failed else 0


sys.exit(main())
