"""The scripts by which people come in: also through a link, and where nothing can be written."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

# What each says without building anything.
QUESTIONS = [("setup", "--list"), ("build", "--list"), ("bench", "--list"), ("test", "--help")]


def check(tree):
    with tempfile.TemporaryDirectory() as folder:
        for name, question in QUESTIONS:
            link = pathlib.Path(folder, name)
            link.symlink_to(tree.root / "script" / name)
            plain, linked = (run([path, question], folder)
                             for path in (tree.root / "script" / name, link))
            yield f"script/{name} works through a link", [] if (
                linked == plain and plain[0] == 0) else [f"{linked}, directly {plain}"]
    yield "script/run works through a link", linked_run(tree)
    # Permissions do not stop root, but a file is a folder for nobody, nor a folder a file.
    for script in ("build", "run", "test"):
        yield f"script/{script} tells in one line that it cannot make the folder", in_the_way(
            tree, [script], spoil_folder)
    for script in ("build", "run", "test --e2e"):
        yield f"script/{script} tells in one line that it cannot write in it", in_the_way(
            tree, script.split(), spoil_files)


def run(command, folder):
    answer = subprocess.run([str(c) for c in command], cwd=folder, check=False, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    return answer.returncode, answer.stdout


def copy_of(tree, folder):
    """The scripts in a tree of their own, in which no package is installed."""
    root = pathlib.Path(folder, "tree")
    shutil.copytree(tree.root / "script", root / "script")
    (root / "tests").mkdir()
    shutil.copy(tree.root / "tests" / "runner", root / "tests")
    (root / "script" / "setup").write_text("#!/bin/sh\nset -eu\n", "ascii")
    return root


def linked_run(tree):
    with tempfile.TemporaryDirectory() as folder:
        root = copy_of(tree, folder)
        (root / "script" / "build").write_text("#!/bin/sh\nset -eu\n", "ascii")
        program = root / "build" / "release" / "src" / "cli" / "weir"
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\necho "weir $*"\n', "ascii")
        os.chmod(program, 0o755)
        link = pathlib.Path(folder, "run")
        link.symlink_to(root / "script" / "run")
        answer = run([link, "devices", "a b"], folder)
        return [] if answer == (0, "weir devices a b\n") else [str(answer)]


def spoil_folder(root):
    (root / "build").write_text("", "ascii")


def spoil_files(root):
    for profile in ("release", "release-test"):
        (root / "build" / (profile + ".lock")).mkdir(parents=True)


def in_the_way(tree, script, spoil):
    with tempfile.TemporaryDirectory() as folder:
        root = copy_of(tree, folder)
        spoil(root)
        link = pathlib.Path(folder, script[0])
        link.symlink_to(root / "script" / script[0])
        status, said = run([link, *script[1:]], folder)
    told = [line for line in said.splitlines() if f"cannot write in '{root}/build'" in line]
    # script/test says it where it happens, and once more in its list of failures.
    is_told = len(told) == 1 if script[0] != "test" else 1 <= len(told) <= 2
    raw = [line for line in said.splitlines() if re.search(r"line \d+:|mkdir:|Traceback", line)]
    return [] if status != 0 and is_told and not raw else [f"status {status}: {said}"]
