"""The test runner itself: a failure in whatever form is counted, and nothing else is."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

# (title, what the test program does, (passed, failed, skipped), a text that a failure must have)
CASES = [
    ("passing points count", "echo ok 1 - a; echo ok 2; echo 1..2", (2, 0, 0), ""),
    ("a failing point counts", "echo ok 1 - a; echo not ok 2 - b; echo 1..2; exit 1", (1, 1, 0),
     "b"),
    ("a skipped point is no pass", "echo 'ok 1 - a # SKIP no tool'; echo 1..1", (0, 0, 1), ""),
    ("a skipped program is no pass", "echo '1..0 # SKIP no tool'", (0, 0, 1), ""),
    ("no plan is a failure", "echo ok 1 - a", (1, 1, 0), "no plan"),
    ("silence is a failure", "true", (0, 1, 0), "no plan"),
    ("an empty plan is a failure", "echo 1..0", (0, 1, 0), "ran no test"),
    ("a broken plan is a failure", "echo 1..3; echo ok 1 - a", (1, 1, 0), "3 points were planned"),
    ("a bad exit is a failure", "echo ok 1 - a; echo 1..1; exit 3", (1, 1, 0), "exit status 3"),
    ("a crash is a failure", "echo ok 1 - a; echo 1..1; kill -SEGV $$", (1, 1, 0), "SIGSEGV"),
    ("a crash before the plan is one failure", "echo ok 1; kill -SEGV $$", (1, 1, 0), "SIGSEGV"),
    ("a crash names the test that ran",
     "echo '# running a'; echo ok 1 - a; echo '# running b_c'; kill -SEGV $$", (1, 1, 0),
     "SIGSEGV in test 'b_c'"),
    ("a crash between tests blames none of them",
     "echo '# running a'; echo ok 1 - a; kill -SEGV $$", (1, 1, 0), "killed by SIGSEGV$"),
    ("a sanitizer's exit names the test that ran", "echo '# running a'; exit 66", (0, 1, 0),
     "exit status 66 without a failed point in test 'a'"),
    ("a test out of time is named", "echo '# running a'; sleep 600 & wait", (0, 1, 0),
     "time limit in test 'a'"),
    ("a bad exit before the plan is one failure", "exit 66", (0, 1, 0), "exit status 66"),
    ("a bail-out is a failure", "echo 'Bail out! gone'; echo ok 1; echo 1..1", (1, 1, 0), "gone"),
    ("a program out of time is killed", "echo ok 1 - a; sleep 600 & wait", (1, 1, 0), "time limit"),
]


def load(root):
    loader = importlib.machinery.SourceFileLoader("runner", str(root / "tests" / "runner"))
    spec = importlib.util.spec_from_loader("runner", loader)
    runner = importlib.util.module_from_spec(spec)
    loader.exec_module(runner)
    return runner


def check(tree):
    runner = load(tree.root)
    with tempfile.TemporaryDirectory() as folder:
        runner.ROOT = pathlib.Path(folder)
        for title, program, wanted, text in CASES:
            result = run(runner, folder, program)
            counts = (result.passed, len(result.failures), result.skipped)
            told = " ".join(result.failures)
            yield title, [] if counts == wanted and text in told + "$" else [
                f"counted {counts}, not {wanted}; failures: {result.failures}"]
        yield "what a test leaves behind does not outlive it", left_behind(runner, folder)
    yield "a program that cannot be started is a failure", cannot_start(runner)
    yield "a test that dies has been announced", dies_announced(tree)
    yield "what cannot be built fails by its name, and the rest runs", half_built(tree)
    yield "the program as people use it also runs under AddressSanitizer", [] if any(
        s.profile == "asan" and "e2e" in s.suites for s in runner.STAGES) else ["no stage does it"]
    yield "two compilers take warnings for errors", lenient(tree, runner)
    yield from check_long(tree, runner)
    yield from check_fuzz(tree)
    yield "what a run of all stages leaves out runs in another one", unseen(runner)
    yield "every suite that a stage names is known once per profile", twice(runner)


def run(runner, folder, program):
    entry = {"name": "case", "suite": ["weir:unit"], "cmd": ["bash", "-c", program],
             "workdir": folder, "env": {}, "is_parallel": True, "protocol": "tap", "depends": [],
             "timeout": 1 if "sleep 600 & wait" in program else 30}
    return runner.run_test(runner.Test(runner.STAGES[0], entry))


def left_behind(runner, folder):
    begin = time.monotonic()
    result = run(runner, folder, "sleep 600 & echo \"# pid $!\"; echo ok 1; echo 1..1")
    if time.monotonic() - begin > 60:
        return ["it waited for the child"]
    pid = re.search(r"# pid (\d+)", "\n".join(result.lines)).group(1)
    for _ in range(100):
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text("ascii")
        except OSError:
            return []
        if stat.rsplit(")", 1)[1].split()[0] in "ZX":
            return []
        time.sleep(0.05)
    return [f"process {pid} is still there"]


def cannot_start(runner):
    with tempfile.TemporaryDirectory() as folder:
        runner.ROOT = pathlib.Path(folder)
        entry = {"name": "case", "suite": ["weir:unit"], "cmd": [folder + "/none"], "env": {},
                 "workdir": folder, "is_parallel": True, "protocol": "tap", "depends": [],
                 "timeout": 1}
        result = runner.run_test(runner.Test(runner.STAGES[0], entry))
        return [] if len(result.failures) == 1 else [f"failures: {result.failures}"]


def lenient(tree, runner):
    said = subprocess.run([tree.root / "script" / "build", "--list"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    options = {line.split()[0]: line for line in said.splitlines()}
    strict = {"asan", *(s.profile for s in runner.STAGES if "sanitize" not in options[s.profile])}
    return [f"profile '{p}': {options[p]}" for p in sorted(strict) if "-Dwerror=true" not in options[p]]


def unseen(runner):
    """By suites: a suite that is left out of one stage is whole in another."""
    return [f"suite '{suite}' in stage '{stage}'" for stage, suite, _, _ in runner.LEFT
            if not any(suite in s.suites for s in runner.STAGES if s.name != stage and not any(
                s.name == other and suite == of for other, of, _, _ in runner.LEFT))]


def twice(runner):
    pairs = [(s.profile, suite) for s in runner.STAGES for suite in s.suites]
    return [f"suite '{suite}' runs twice in '{profile}'" for profile, suite in set(pairs)
            if pairs.count((profile, suite)) > 1]


DEADLY = """#include "tap.h"
#include <signal.h>
TEST(lives) { CHECK(1); }
TEST(dies) { raise(SIGKILL); }
TAP_MAIN()
"""


def dies_announced(tree):
    """tests/tap.c says which test it begins, before anything can go wrong in it."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program")
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-pthread", f"-I{tree.root}/tests", "-o", program,
                        "-x", "c", "-", tree.root / "tests" / "tap.c"], input=DEADLY, text=True,
                       check=True)
        said = subprocess.run([program], check=False, stdout=subprocess.PIPE, text=True).stdout
    wanted = "# running lives\nok 1 - lives\n# running dies\n"
    return [] if said == wanted else [f"it said '{said}'"]


PROJECT = """project('small', 'c')
foreach name : ['first', 'bad', 'last']
  test(name, executable(name, name + '.c'), suite: 'e2e', protocol: 'tap')
endforeach
"""
PROGRAM = '#include <stdio.h>\nint main(void) { puts("ok 1 - a\\n1..1"); return 0; }\n'


def half_built(tree):
    """A small tree of its own, in which a program is built once and then spoilt."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        shutil.copytree(tree.root / "script", root / "script")
        (root / "tests").mkdir()
        shutil.copy(tree.root / "tests" / "runner", root / "tests")
        (root / "meson.build").write_text(PROJECT, "ascii")
        for name in ("first.c", "bad.c", "last.c"):
            (root / name).write_text(PROGRAM, "ascii")
        problems = expect(root, "3 passed, 0 failed", [])
        # All of them have to be built anew, and one can not: the old one must not run in its place.
        for name in ("first.c", "last.c"):
            (root / name).write_text(PROGRAM.replace(" a", " b"), "ascii")
        (root / "bad.c").write_text("int main(void) { return wrong; }\n", "ascii")
        problems += expect(root, "2 passed, 2 failed", [
            "does not build: bad.p/bad.c.o", "failed: it could not be built",
            "  bad: script/test --e2e bad"])
        problems += expect(root, "1 passed, 1 failed", ["  bad: script/test --e2e bad"],
                           "last", "bad")
    return problems


def expect(root, last, texts, *names):
    # Tests that were started by the runner may have been given its own settings.
    env = {k: v for k, v in os.environ.items() if k != "WEIR_LONG"}
    env["WEIR_JOBS"] = "1"
    said = subprocess.run([root / "script" / "test", "--e2e", *names], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env).stdout
    lines = said.splitlines() or [""]
    missing = [text for text in texts if text not in said]
    if lines[-1] == last and not missing:
        return []
    return [f"not '{last}', or without {missing}:", *("  " + line for line in lines)]


def check_long(tree, runner):
    """--long reaches the tests, their limits, and the commands that repeat them."""
    entry = {"name": "case", "suite": ["weir:stress"], "cmd": ["true"], "workdir": "/", "env": {},
             "is_parallel": True, "protocol": "tap", "depends": [], "timeout": 10}
    short, longer = (runner.Test(runner.STAGES[0], entry, is_long) for is_long in (False, True))
    yield "a long test has more time", [] if longer.timeout_s > 10 * short.timeout_s else [
        f"{longer.timeout_s} s"]
    yield "a long test is repeated as one", [
        f"'{command}' has no '{word}'" for command, word in (
            (longer.alone(), "--long"), (longer.direct(), "WEIR_LONG=1")) if word not in command]
    known = {suite for stage in runner.STAGES for suite in stage.suites}
    listed = {suite for suite, _, _ in runner.LONGER}
    yield "the longer forms are of suites that run", sorted(listed - known)
    # Whoever looks at the variable must be among them, so that --list --long tells the truth.
    users = {name.split("/")[1] for name in tree.matching(r"tests/(?!lint/)[^/]+/.+")
             if "WEIR_LONG" in tree.text(name)}
    yield "every longer form is listed", [] if users == listed else [
        f"in tests/{sorted(users)} WEIR_LONG is looked at, listed are {sorted(listed)}"]


# Stands for a fuzzer: writes down its arguments, and dies of an input that holds "bad".
FUZZER = """#!/bin/bash
echo "$*" >>"$LOG"
if [[ -f $1 ]]; then ! grep -q bad "$1"; fi
"""


def check_fuzz(tree):
    """tests/fuzz/run, with a program that only pretends."""
    status, calls = run_fuzz(tree, {"a": "x", "b": "y"})
    yield "a fuzzer tries its corpus first", [] if (
        status == 0 and [c.split("/")[-1] for c in calls[:2]] == ["a", "b"]
        and "corpus/case" in calls[-1]) else [f"status {status}: {calls}"]
    yield "then it runs for 10 seconds", [] if "-max_total_time=10" in calls[-1] else calls
    status, calls = run_fuzz(tree, {"a": "x"}, WEIR_LONG="1")
    yield "or for 300 with WEIR_LONG, without a number of runs", [] if (
        "-max_total_time=300" in calls[-1] and "-runs" not in calls[-1]) else calls
    status, _ = run_fuzz(tree, {"a": "x", "b": "bad"})
    yield "an input that fails again is a failure", [] if status == 1 else [f"status {status}"]
    status, _ = run_fuzz(tree, {})
    yield "a fuzzer without a corpus is a failure", [] if status == 1 else [f"status {status}"]
    fuzzers = [n[len("tests/fuzz/fuzz_"):-2] for n in tree.matching(r"tests/fuzz/fuzz_\w+\.c")]
    yield "every fuzzer has a corpus and is registered", [
        f"fuzz_{f}.c: no input in corpus/{f}, or not in tests/fuzz/meson.build" for f in fuzzers
        if not tree.matching(rf"tests/fuzz/corpus/{f}/.+")
        or f"'{f}': files(" not in tree.text("tests/fuzz/meson.build")]


def run_fuzz(tree, inputs, **settings):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "corpus" / "case").mkdir(parents=True)
        for name, text in inputs.items():
            (root / "corpus" / "case" / name).write_text(text, "ascii")
        (root / "fuzzer").write_text(FUZZER, "ascii")
        (root / "fuzzer").chmod(0o755)
        env = {k: v for k, v in os.environ.items() if k not in ("WEIR_LONG", "WEIR_FUZZ_SECONDS")}
        env.update(settings, LOG=str(root / "log"))
        status = subprocess.run([tree.root / "tests" / "fuzz" / "run", "case", root / "fuzzer", root,
                                 root / "found"], env=env, check=False,
                                stdout=subprocess.DEVNULL).returncode
        return status, (root / "log").read_text("ascii").splitlines()
