"""Headers stand on their own, in every language that they promise, and say who owns what."""
import re

from check_rooms import USES, room_of
from tree import run

STRICT = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic"]
PUBLIC_COMPILERS = [
    ("C11", ["gcc", "-x", "c", "-std=c11"]),
    ("C11 by clang", ["clang", "-x", "c", "-std=c11"]),
    ("C++11", ["g++", "-x", "c++", "-std=c++11"]),
    ("C++20", ["g++", "-x", "c++", "-std=c++20"]),
]


def check(tree):
    public = tree.matching(r"include/weir/[^/]+\.h")
    internal = tree.matching(r"src/[^/]+/.*\.h")
    if not public:
        yield "there are public headers", ["include/weir: no header was found"]
        return
    for language, compiler in PUBLIC_COMPILERS:
        problems = []
        for name in public:
            problems += compile_alone(name, compiler + STRICT + [f"-I{tree.root}/include"],
                                      f"<{name[len('include/'):]}>")
        yield f"public headers compile alone as {language}", problems
    problems = []
    for name in internal:
        problems += compile_alone(name, internal_compiler(tree, name), f'"{tree.root}/{name}"')
    yield "internal headers compile alone", problems
    yield "every header has an ownership sentence", [
        f"{name}:1: no sentence that begins with 'Ownership:'" for name in public + internal
        if not re.search(r"^ \* Ownership: \S", tree.text(name), re.M)]
    yield "every header has a guard", [
        f"{name}: no '#ifndef {guard(name)}'" for name in public + internal
        if f"#ifndef {guard(name)}\n#define {guard(name)}\n" not in tree.text(name)]


def guard(name):
    inner = name.split("/", 1)[1]
    words = inner if inner.startswith("weir/") else "weir/" + inner
    return re.sub(r"[^A-Z0-9]", "_", words.upper())


def compile_alone(name, command, header):
    # Twice: the second time the guard must hold.
    status, said = run(*command, "-", stdin=f"#include {header}\n#include {header}\n")
    if status == 0:
        return []
    return [f"{name}: does not compile alone"] + ["  " + line for line in said.splitlines()[:8]]


def internal_compiler(tree, name):
    """Sees the room itself, those below it, and the public headers; never core's inside."""
    room = room_of(name)
    command = ["gcc", "-x", "c", "-std=c17", "-D_GNU_SOURCE", *STRICT, f"-I{tree.root}/include"]
    for folder in [room] + [r for r in USES.get(room, []) if r != "core"] + [""]:
        command.append(f"-I{tree.root}/src/{folder}")
        if tree.build:
            command.append(f"-I{tree.build}/src/{folder}")
    return [c for c in command if c != "-pedantic"]
