#!/usr/bin/env python3
"""Runs one lint over the tree and prints TAP: lint.py NAME SOURCE_DIR BUILD_DIR

A lint is a module check_NAME with a function check(tree) that yields (title, problems) pairs; a
problem is one line of text that starts with the place.
"""
import importlib
import sys

sys.dont_write_bytecode = True

from tree import Tree  # noqa: E402


def main():
    if len(sys.argv) != 4:
        print("usage: lint.py NAME SOURCE_DIR BUILD_DIR", file=sys.stderr)
        return 2
    name, source, build = sys.argv[1:]
    number = failed = 0
    for title, problems in importlib.import_module("check_" + name).check(Tree(source, build)):
        number += 1
        failed += bool(problems)
        for problem in problems:
            print("# " + problem)
        print(f"{'not ok' if problems else 'ok'} {number} - {title}")
    print(f"1..{number}")
    return 1 if failed or not number else 0


if __name__ == "__main__":
    sys.exit(main())
