#!/usr/bin/env python3
"""Counts, with callgrind, what acquiring and releasing cost while nobody waits.

The program is run for two numbers of pairs; the difference, divided by the difference of the
numbers, is what one pair costs. Counted are the named functions with all that they call, through the
static library. Below 1,024 pairs nothing is folded, so that the figure is exact; over many pairs
the folding is shared out among them.

Giving a slot back reads the clock. Under valgrind that is a call of the C library into the kernel,
of which the entry alone is counted; the limit leaves a little room for another C library.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

INSTRUCTIONS_MAX = 32
SLOTS_INSTRUCTIONS_MAX = 210
SLOTS_INSTRUCTIONS_MANY_MAX = 220
POOL_TRY_INSTRUCTIONS_MAX = 170
POOL_SPILL_INSTRUCTIONS_MAX = 230
POOL_RELEASE_INSTRUCTIONS_MAX = 168

FEW = (100, 900)
MANY = (10_000, 110_000)

BUDGET_ACQUIRE = ("weir_budget_acquire", "weir_permit_release")
BUDGET_TRY = ("weir_budget_try", "weir_permit_release")
SLOTS = ("weir_slots_try", "weir_slots_release")
# (what is counted, the case of the program, the functions, the numbers of pairs, the limit)
COUNTS = [
    ("budget: acquire and release, alone", "budget_acquire", BUDGET_ACQUIRE, FEW,
     INSTRUCTIONS_MAX),
    ("budget: acquire and release, with folding", "budget_acquire", BUDGET_ACQUIRE, MANY,
     INSTRUCTIONS_MAX),
    ("budget: try and release, alone", "budget_try", BUDGET_TRY, FEW, INSTRUCTIONS_MAX),
    ("budget: try and release, with folding", "budget_try", BUDGET_TRY, MANY, INSTRUCTIONS_MAX),
    ("slots: try and release of the only device", "slots_of_one", SLOTS, FEW,
     SLOTS_INSTRUCTIONS_MAX),
    ("slots: try and release in a full table", "slots_of_many", SLOTS, FEW,
     SLOTS_INSTRUCTIONS_MANY_MAX),
    ("pool: try", "pool_try", ("weir_pool_try",), FEW, POOL_TRY_INSTRUCTIONS_MAX),
    ("pool: try with spilling", "pool_try_to_spill", ("weir_pool_try",), FEW,
     POOL_SPILL_INSTRUCTIONS_MAX),
    ("pool: release", "pool_try", ("weir_pool_permit_release",), FEW,
     POOL_RELEASE_INSTRUCTIONS_MAX),
]


def count(program, case, functions, pairs):
    """Instructions inside the functions in one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no",
                   f"--callgrind-out-file={out}"]
        command += [f"--toggle-collect={name}" for name in functions]
        answer = subprocess.run(command + [program, case, str(pairs)], text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if answer.returncode != 0:
            raise RuntimeError(f"valgrind ended with {answer.returncode}: {answer.stdout}")
        with open(out, encoding="utf-8") as file:
            total = re.search(r"^(?:totals|summary):\s*(\d+)", file.read(), re.M)
    if not total or int(total.group(1)) < pairs:
        raise RuntimeError("callgrind counted nothing: are the functions there by name?")
    return int(total.group(1))


def cost(program, case, functions, numbers):
    less, more = (count(program, case, functions, pairs) for pairs in numbers)
    return (more - less) / (numbers[1] - numbers[0])


def main():
    if not shutil.which("valgrind"):
        print("1..0 # SKIP valgrind is not installed")
        return 0
    print(f"1..{len(COUNTS)}")
    failed = 0
    for number, (title, case, functions, numbers, limit) in enumerate(COUNTS, 1):
        try:
            value = cost(sys.argv[1], case, functions, numbers)
            said = f"{value:.3f} instructions, at most {limit}"
        except RuntimeError as error:
            value, said = float("inf"), str(error)
        is_good = value <= limit
        failed += not is_good
        print(f"{'ok' if is_good else 'not ok'} {number} - {title}")
        print("# " + said.replace("\n", "\n# "))
    return 1 if failed else 0


sys.exit(main())
