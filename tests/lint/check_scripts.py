"""Scripts parse, can be executed, and stop at the first error."""
import ast
import os
import re

from tree import run


def check(tree):
    shell, python = [], tree.matching(r".*\.py")
    for name in tree.names():
        first = first_line(tree, name)
        if re.match(r"#!.*\b(bash|sh)\b", first):
            shell.append((name, "bash" if "bash" in first else "sh"))
        elif re.match(r"#!.*\bpython3", first) and name not in python:
            python.append(name)
    yield "shell scripts parse", [p for name, kind in shell for p in parse_shell(tree, name, kind)]
    yield "shell scripts stop at the first error", [
        f"{name}: no 'set -e{'uo pipefail' if kind == 'bash' else 'u'}'" for name, kind in shell
        if not re.search(r"^set -euo pipefail$" if kind == "bash" else r"^set -eu$",
                         tree.text(name), re.M)]
    yield "python programs parse", [p for name in python for p in parse_python(tree, name)]
    yield "what has an interpreter line can be executed", [
        f"{name}: not executable; cure: chmod +x {name}" for name in tree.names()
        if first_line(tree, name).startswith("#!") and not is_executable(tree, name)
        and not name.endswith(".py")]


def first_line(tree, name):
    with open(tree.root / name, "rb") as file:
        return file.readline(200).decode("utf-8", "replace")


def is_executable(tree, name):
    return os.stat(tree.root / name).st_mode & 0o111 == 0o111


def parse_shell(tree, name, kind):
    status, said = run(kind, "-n", tree.root / name)
    return said.splitlines() or [f"{name}: does not parse"] if status else []


def parse_python(tree, name):
    try:
        ast.parse(tree.text(name))
    except SyntaxError as error:
        return [f"{name}:{error.lineno}: {error.msg}"]
    return []
