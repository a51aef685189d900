"""The test runner itself: a failure in whatever form is counted, and nothing else is."""
import importlib.machinery
import importlib.util
import pathlib
import re
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
            yield title, [] if counts == wanted and text in told else [
                f"counted {counts}, not {wanted}; failures: {result.failures}"]
        yield "what a test leaves behind does not outlive it", left_behind(runner, folder)
    yield "a program that cannot be started is a failure", cannot_start(runner)
    yield "every suite that a stage names is known once per profile", twice(runner)


def run(runner, folder, program):
    entry = {"name": "case", "suite": ["weir:unit"], "cmd": ["bash", "-c", program],
             "workdir": folder, "env": {}, "is_parallel": True, "protocol": "tap", "depends": [],
             "timeout": 1 if "sleep 600 & wait" in program else 30}
    return runner.run_test(runner.Test(runner.STAGES[0], entry), False)


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
        result = runner.run_test(runner.Test(runner.STAGES[0], entry), False)
        return [] if len(result.failures) == 1 else [f"failures: {result.failures}"]


def twice(runner):
    pairs = [(s.profile, suite) for s in runner.STAGES for suite in s.suites]
    return [f"suite '{suite}' runs twice in '{profile}'" for profile, suite in set(pairs)
            if pairs.count((profile, suite)) > 1]
