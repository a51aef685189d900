"""The programs that look for secrets, the limits, and the command of each for each kind of task.

Tasks: "paths", a file or a tree; "staged", what waits to be committed in the repository that is the
current directory; "memory", a tree with little memory. A program that has no command for a task, or
is not installed, is left out of it.

What each has found is looked up in what it printed, not believed: ours must name the place of every
planted token; of the others it is counted how many tokens their report has. Limits find nothing:
they show what reading and searching cost by themselves.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess

from lib.rules import call, rules_of, searchable, words_of

BLANKS = re.compile(r"\s*")
MEMORY_OPTION = "--max-memory=256M"


class Contender:
    def __init__(self, name, programs, package, kind, commands, check, statuses=(0,),
                 changes=None, scenarios=(), repeat_share=1):
        self.name = name
        self.programs = programs    # all must be in PATH, or be paths
        self.package = package      # of Debian 12, or None
        self.kind = kind            # weir, variant (of weir), peer, limit
        self.commands = commands    # task -> function of (path, whether one thread, folder)
        self.check = check          # function of (Output, material): a problem, or "", and how many
        self.statuses = statuses
        self.changes = changes or {}        # of the environment
        self.scenarios = scenarios          # only these; none: all
        self.repeat_share = repeat_share    # of the starts in a round, where one takes long

    def does(self, task):
        return task in self.commands

    def is_installed(self):
        return all(shutil.which(p) for p in self.programs)


class Output:
    """What a run left behind: the file with what it printed."""

    def __init__(self, path):
        self.path = path

    def bytes(self):
        with open(self.path, "rb") as file:
            return file.read()


# ---- ours ----

def scan(weir, *options):
    def make(path, is_single, _):
        return [weir, "scan", "--json", *options, *(["--threads=1"] if is_single else []), path]
    return make


def reports(output):
    """As many as there were runs."""
    text, at, decoder = output.bytes().decode("utf-8", "replace").rstrip(), 0, json.JSONDecoder()
    while at < len(text):
        report, at = decoder.raw_decode(text, BLANKS.match(text, at).end())
        yield report


def problem_of(report, material):
    """What is wrong with our report, or "", and how many planted tokens it has."""
    summary = report["summary"]
    counts = (summary["files"], summary["bytes"])
    if material.is_counted and counts != (material.files, material.bytes):
        return f"scanned {counts} files and bytes of {(material.files, material.bytes)}", 0
    if material.matches is not None:
        found = summary["places"] + summary["unlisted"]
        if found < material.matches:
            return f"found {found} of {material.matches} matches", 0
        return "", 0
    if summary["failed"] or not summary["complete"]:
        return f"incomplete: {summary['unscanned'][:1]}", 0
    places = {(os.path.normpath(place["path"]), place["line"])
              for finding in report["findings"] for place in finding["places"]}
    missing = [p for p in material.planted if not is_there(p, material.root, places)]
    found = len(material.planted) - len(missing)
    if missing:
        return f"not found: the token in line {missing[0].line} of '{missing[0].path}'", found
    return "", found


def is_there(planted, root, places):
    """Paths in a repository may be given from its top on."""
    path = os.path.normpath(os.path.join(root, planted.path))
    return (path, planted.line) in places or (planted.path, planted.line) in places


def check_weir(output, material):
    problem, found = "printed nothing", 0
    try:
        for report in reports(output):
            problem, found = problem_of(report, material)
            if problem:
                break
    except (ValueError, KeyError) as error:
        return f"printed something else than a report: {error}", 0
    return problem, found


def can_scan(program):
    """Whether this weir has the command: one without it is an older one, not a broken one."""
    return bool(help_of(program))


def help_of(program):
    answer = subprocess.run([program, "scan", "--help"], stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return answer.stdout if answer.returncode == 0 else ""


def weir_commands(weir, *options):
    commands = {"paths": scan(weir, *options), "memory": scan(weir, MEMORY_OPTION, *options)}
    if "--staged" in help_of(weir):
        commands["staged"] = lambda path, is_single, folder: [weir, "scan", "--json", "--staged"]
    return commands


def weirs(weir, before):
    """Ours; where it tells something, without its cache or without decoding; and an older one."""
    rows = []
    if weir:
        rows.append(Contender("weir scan", [weir], None, "weir", weir_commands(weir),
                              check_weir, (0, 1)))
        # A home that is no directory: nothing can be kept, nor found.
        rows.append(Contender("weir scan, nothing cached", [weir], None, "variant",
                              {"paths": scan(weir)}, check_weir, (0, 1),
                              changes={"HOME": os.devnull}, scenarios=("start",),
                              repeat_share=0.1))
        rows.append(Contender("weir scan --decode-depth=0", [weir], None, "variant",
                              {"paths": scan(weir, "--decode-depth=0")}, no_check, (0, 1),
                              scenarios=("text",)))
    if before:
        rows.append(Contender("weir scan before", [before], None, "variant", weir_commands(before),
                              check_weir, (0, 1)))
    return rows


# ---- others ----

def no_check(_, material):
    return "", None


def count_tokens(output, material):
    """How many planted tokens are in what a peer printed."""
    text = output.bytes()
    return "", sum(p.token.encode() in text for p in material.planted)


def count_places(output, material):
    """Of a peer that hashes what it found, and tells where."""
    results = json.loads(output.bytes() or b"{}").get("results", {})
    places = {(os.path.normpath(name), place["line_number"])
              for name, found in results.items() for place in found}
    return "", sum(is_there(p, material.root, places) for p in material.planted)


def gitleaks(program):
    common = [program, "--no-banner", "--log-level=error", "--exit-code=0", "--report-format=json",
              "--report-path=/dev/stdout"]
    return {"paths": lambda path, is_single, folder: [*common, "dir", path],
            "staged": lambda path, is_single, folder: [*common, "git", "--staged"]}


def noseyparker(path, is_single, folder):
    """It needs a new store each time, which is made and told within what is timed."""
    store = os.path.join(folder, "home", "store")
    script = ('rm -rf "$1"; noseyparker scan --quiet --datastore "$1" ${3:+--jobs "$3"} "$2" '
              '>/dev/null; noseyparker report --quiet --format json --datastore "$1"')
    return ["bash", "-euc", script, "bash", store, path, *(["1"] if is_single else [])]


def trufflehog(path, is_single, _):
    return ["trufflehog", "filesystem", "--no-verification", "--no-update", "--json",
            *(["--concurrency=1"] if is_single else []), path]


def of_npm(name):
    """A program that script/setup --bench has put into build/npm, or else one in PATH."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    program = os.path.join(root, "build", "npm", "bench", "node_modules", ".bin", name)
    return program if os.access(program, os.X_OK) else name


def secretlint(path, is_single, _):
    """Its rules have to be named: those that it recommends. Of its formats that of unix tells each
    finding in a line and nothing else."""
    rules = {"rules": [{"id": "@secretlint/secretlint-rule-preset-recommend"}]}
    target = [os.path.join(path, "**", "*")] if os.path.isdir(path) else ["--no-glob", path]
    return [of_npm("secretlint"), "--secretlintrcJSON", json.dumps(rules), "--format=unix",
            "--no-maskSecrets", *target]


def git_secrets(path, is_single, folder):
    """The patterns that it brings are three, for keys of one provider. It tells on the standard
    error."""
    subprocess.run(["git", "secrets", "--register-aws", "--global"], check=False,
                   env=dict(os.environ, HOME=os.path.join(folder, "home")),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return ["bash", "-c", 'exec git secrets --scan --recursive "$1" 2>&1', "bash", path]


# Debian 12 has git-secrets alone, npm's registry secretlint. The others are measured where somebody
# has installed them: what npm has of them fetches its program from elsewhere.
PEERS = [
    Contender("git-secrets", ["git-secrets"], "git-secrets", "peer", {"paths": git_secrets},
              count_tokens, (0, 1)),
    Contender("noseyparker", ["noseyparker"], None, "peer", {"paths": noseyparker}, count_tokens),
    Contender("betterleaks", ["betterleaks"], None, "peer", gitleaks("betterleaks"), count_tokens),
    Contender("gitleaks", ["gitleaks"], None, "peer", gitleaks("gitleaks"), count_tokens),
    Contender("trufflehog", ["trufflehog"], None, "peer", {"paths": trufflehog}, count_tokens),
    # Not in trees: with their files its time grows by the square (its own profiler searches a list
    # for each rule and file), and one round of "tree" took 270 s.
    Contender("secretlint", [of_npm("secretlint")], None, "peer", {"paths": secretlint},
              count_tokens, (0, 1), scenarios=("start", "text"), repeat_share=0.1),
    Contender("detect-secrets", ["detect-secrets"], None, "peer",
              {"paths": lambda path, is_single, folder: ["detect-secrets", "scan", "--all-files",
                                                         "--no-verify", path]}, count_places),
]


# ---- limits ----

def check_limit(output, material):
    counts = json.loads(output.bytes().splitlines()[0])
    if (counts["files"], counts["bytes"]) != (material.files, material.bytes):
        return f"looked at {counts}", None
    if material.planted and not counts["matches"]:
        return "matched nothing", None
    return "", None


def check_search(output, material):
    return ("matched nothing" if material.planted and not output.bytes() else ""), None


def ripgrep(literals):
    def make(path, is_single, _):
        return ["rg", "--no-config", "--no-ignore", "--hidden", "--text", "--fixed-strings",
                "--count", "--file", literals, *(["--threads=1"] if is_single else []), path]
    return {"paths": make}


def hyperscan(limit, database):
    return {"paths": lambda path, is_single, folder: [limit, "scan", database, path]}


def write(folder, name, texts, end):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(b"".join(text.encode() + end for text in texts))
    return path


def compile_once(limit, kind, patterns):
    """The database of a list of patterns, beside the program, and what was said when it was made:
    that takes half a minute for expressions, and is the same from run to run."""
    place = os.path.dirname(limit)
    database, known = (os.path.join(place, kind + end) for end in (".db", ".json"))
    key = hashlib.sha256()
    for path in (limit, patterns):
        with open(path, "rb") as file:
            key.update(hashlib.sha256(file.read()).digest())
    try:
        with open(known, encoding="ascii") as file:
            made = json.load(file)
        if made["key"] == key.hexdigest() and os.path.getsize(database) == made["bytes"]:
            return database, made
    except (OSError, ValueError, KeyError):
        pass
    made = {**call([limit, "compile", kind, patterns, database]), "key": key.hexdigest()}
    with open(known, "w", encoding="ascii") as file:
        json.dump(made, file)
    return database, made


def limits(weir, limit, folder, notes):
    """Searches for what our rules are made of, which weir tells."""
    rules = rules_of(weir)
    words = words_of(rules)
    expressions = sorted({rule["regex"] for rule in rules if rule["regex"]})
    some = searchable(words)
    rows = [Contender(f"ripgrep, {len(some)} literals", ["rg"], "ripgrep", "limit",
                      ripgrep(write(folder, "literals.txt", some, b"\n")), check_search, (0, 1))]
    for kind, texts in (("expressions", expressions), ("literals", words)):
        database, made = compile_once(limit, kind, write(folder, kind, texts, b"\0"))
        if made["taken"] < made["given"]:
            notes.append(f"Hyperscan does not take {made['given'] - made['taken']} of "
                         f"{made['given']} {kind} of the rules; its rows are without them")
        rows.append(Contender(f"Hyperscan alone, {made['taken']} {kind}", [limit],
                              "libhyperscan-dev", "limit", hyperscan(limit, database),
                              check_limit))
    rows.append(Contender("git diff --cached", ["git"], "git", "limit",
                          {"staged": lambda path, is_single, folder: ["git", "diff", "--cached"]},
                          check_search))
    return rows
