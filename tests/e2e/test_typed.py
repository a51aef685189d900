#!/usr/bin/env python3
"""Command lines that somebody got wrong, with secrets in them: nothing that weir prints shows one.

Every command and every option that its help has is tried: with a secret where a name, a value or an
option stands, in the forms that people have secrets in, and with things that are none, which must be
shown as they were typed. And every option that wants a value, with none behind it.

WEIR_SEED chooses the secrets (it is printed), WEIR_LONG tries ten times as many. Prints TAP.
"""
import base64
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

WEIR = os.environ["WEIR"]
SEED = os.environ.get("WEIR_SEED", "1")
IS_SLOW = os.environ.get("SANITIZED", "none") != "none"
EACH = 40 if os.environ.get("WEIR_LONG") else 1 if IS_SLOW else 4  # secrets at each place
COMMANDS = ["completion", "copy", "demo", "devices", "errors", "help", "man", "rules", "scan", "store", "token",
            "version"]
LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
DIGITS = "0123456789"
chance = random.Random(SEED)


def made(alphabet, length):
    return "".join(chance.choice(alphabet) for _ in range(length))


# --- secrets: what is typed, and what of it must not be seen ---

def tokens():
    base62 = LOWER + UPPER + DIGITS
    bodies = [made("0123456789abcdef", 32), made("0123456789abcdef", 40), made(base62, 24),
              made(base62, 36), made(base62 + "-_", 43), made(UPPER + "234567", 32),
              made(LOWER + DIGITS, 28), made(base62 + "+/", 40), made(base62 + "+/", 86) + "=="]
    for body in bodies:
        yield body, body
    for prefix, alphabet, length in [
            ("ghp_", base62, 36), ("glpat-", base62, 20), ("sk_live_", base62, 24),
            ("npm_", base62, 36), ("AKIA", UPPER + "234567", 16), ("AIza", base62 + "-_", 35),
            ("SK", "0123456789abcdef", 32), ("hf_", base62, 34), ("dop_v1_", "0123456789abcdef", 64),
            ("xoxb-", DIGITS, 12), ("SG.", base62, 22)]:
        body = made(alphabet, length)
        if prefix in ("xoxb-", "SG."):
            body += ("-" if prefix[0] == "x" else ".") + made(base62, 24)
        yield prefix + body, body[-24:]
    parts = [base64.urlsafe_b64encode(chance.randbytes(n)).decode().rstrip("=") for n in (36, 60, 32)]
    yield ".".join(parts), parts[2]


def password():
    """Such as people think of, with what they like to have in them."""
    word = [made(LOWER, 2), made(UPPER, 2), made(DIGITS, 2), made(LOWER, 2)]
    chance.shuffle(word)
    return chance.choice(["", "@", ":", "!", "#", "$", "%", "=", ";"]).join(word)


def named():
    names = ["password", "PGPASSWORD", "MYSQL_PWD", "api_key", "apiKey", "api-key", "db.pass",
             "SECRET", "secret_value", "client-secret", "authToken", "AUTH_TOKEN", "access_key",
             "credentials", "X-Api-Key", "passphrase", "DB_PASSWD", "token_v2", "userPwd"]
    forms = ["{n}={p}", "{n}:{p}", "{n}: {p}", "{n} = {p}", "--{n}={p}", "--{n} {p}", "--{n}:{p}",
             '{{"{n}":"{p}"}}', '{n}="{p}"', "export {n}={p}", "x.{n}={p}.txt", "a/{n}={p}",
             "a b {n}={p} c", "https://host.invalid/?{n}={p}&x=1", "'{n}': '{p}'"]
    for form in forms:
        for _ in range(2):
            word = password()
            yield form.format(n=chance.choice(names), p=word), word
    for form in ["u:{p}@host", "//u:{p}@h", "bob.x:{p}@db.invalid:5432/x", "a/u:{p}@host",
                 "https://bob:{p}@host.invalid/x", "https://{p}@host.invalid/x",
                 "redis://:{p}@host.invalid", "postgres://u:{p}@h/db?x=y", "mysql://u:{p}",
                 "smb://d;u:{p}@h/x", "git+ssh://u:{p}@h/x.git", "Authorization: Bearer {p}",
                 "Authorization:Basic {p}", "curl -H 'X-Auth: {p}'"]:
        word = password()
        if "://" in form:  # these end a host
            word = re.sub("[#/?]", "-", word)
        yield form.format(p=word), word


def leaks(said, secret):
    """Any five bytes of it in a row; of short ones any four. What is shown of a token that a rule
    knows is its last four."""
    width = 5 if len(secret) > 8 else 4
    pieces = {secret[i:i + width] for i in range(len(secret) - width + 1)}
    return any(piece in said for piece in pieces)


# --- places: command lines in which X is typed ---

def options_of(command):
    """Those of the help: (letter or "", name, wants a value)."""
    text = subprocess.run([WEIR, command, "-h"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ +(?:-(\w), +|-\w, +)?(?:    )?--([a-z0-9-]+)(\[?=)?", text, re.M)
    return [(letter, name, mark == "=") for letter, name, mark in found]


def places():
    for line in (["X"], ["--", "X"], ["--X"], ["--X=1"], ["-X"]):
        yield line
    for command in COMMANDS:
        tail = ["a", "b"] if command == "copy" else []
        for line in (["X"], ["./X"], ["none/X"], ["--", "X"], ["--X"], ["--X=1"], ["X", "X", "X"]):
            yield [command] + line + tail
        for _, name, wants in options_of(command):
            yield [command, f"--{name}=X"] + tail
            yield [command, f"--{name}=none/X"] + tail
            if wants:
                yield [command, f"--{name}", "X"] + tail
    for action in ("list", "show", "test", "lint"):
        yield ["rules", action, "X"]
        yield ["rules", action, "./X"]
        yield ["rules", action, "-c", "X"]
    yield ["rules", "compile", "none/X"]
    for action in ("narrow", "inspect"):
        yield ["token", action, "X", "--method=GET"] if action == "narrow" else ["token", action, "X"]
        yield ["token", action, "--from=X"]
        yield ["token", action, "--from=none/X"]
    for option in ("expires", "scope", "method", "path", "client", "body"):
        yield ["token", "narrow", "a", f"--{option}=X"]
    for option in ("keys", "data"):
        yield ["token", "keys", f"--{option}=none/X"]
    for form in ("json", "jsonl", "sarif", "csv", "junit", "github", "gitleaks", "html"):
        yield ["scan", "-f", form, "X"]
    yield ["scan", "-v", "--summary", "X"]
    yield ["scan", "--history=only", "X"]
    yield ["scan", "--staged", "X"]
    for option in ("range", "refs", "since"):
        yield ["scan", f"--{option}=X", "."]
        yield ["scan", "--json", f"--{option}=main..X", "."]
    yield ["copy", "a", "none/X"]
    yield ["copy", "X", "b"]
    yield ["copy", "-v", "--json", "X", "b"]
    yield ["devices", "--json", "X"]
    yield ["errors", "--json", "X"]


# --- the runs ---

def make_repository(folder):
    """An empty one, without git."""
    for path in ("objects", "refs/heads"):
        os.makedirs(os.path.join(folder, ".git", path))
    with open(os.path.join(folder, ".git", "HEAD"), "w", encoding="utf-8") as file:
        file.write("ref: refs/heads/main\n")


def run(words, here, in_repository=False):
    shutil.rmtree(here, ignore_errors=True)
    os.mkdir(here)
    if in_repository:
        make_repository(here)
    done = subprocess.run([WEIR, *words], cwd=here, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, check=False)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def is_one_line(text):
    return text.endswith("\n") and text.count("\n") == 1


def try_secrets(tap, here):
    secrets = [*tokens(), *named(), *tokens(), *named()]
    lines = 0
    for place in places():
        shown = []
        for typed, secret in chance.sample(secrets, min(EACH, len(secrets))):
            if place[0] == "scan" and "X" in place[1:] and typed.startswith("https://"):
                continue  # they are fetched: that is tried elsewhere
            if "range" in "".join(place) and re.fullmatch("[0-9a-f]+", secret):
                continue  # it may be the id of a commit, which is shown
            words = [word.replace("X", typed) if "X" in word else word for word in place]
            status, out, err = run(words, here, "." in place[1:])
            lines += 1
            if leaks(out + err, secret) or status < 0:
                shown.append(f"{words} shows {secret}: {status}\n{out}{err}")
        tap.tell(not shown, "nothing is shown: " + " ".join(place), "\n".join(shown))
    print(f"# {lines} lines")


INNOCENT = ["maxMemory", "maxArchiveEntries", "showSecretsPlease2", "a-long-option-of-small-letters",
            "README_2026_final.txt", "some/Long/Path/WithManyWords/AndMore2/config.toml",
            "backup-2026-11-16.tar.gz", "x86_64-linux-gnu", "sha256sum", "HTTPServerConfiguration",
            "author=somebody", "keyboard=us", "tokenizer:fast", "format=json", "git@host:a/b",
            "host:/srv/data", "12:30", "C++17", "kubernetes-deployment-staging-europe-west1",
            "IntegrationTestRunner", "UTF8StringBuilder", "com.example.project.subproject",
            "src/main/java/org/example/HelloWorldApplication.java", "~/Documents/Invoices2025",
            "passenger:42", "v1.2.3-beta.4", "naïve/café", "/usr/share/doc/libstdc++6"]


def try_innocents(tap, here):
    places_of_names = [["X"], ["copy", "none/X", "b"], ["devices", "none/X"], ["errors", "X"],
                       ["scan", "none/X"], ["scan", "-c", "none/X"], ["scan", "--format=X"],
                       ["scan", "--threads=X"], ["rules", "show", "X"], ["man", "X"]]
    for place in places_of_names:
        for typed in INNOCENT:
            words = [word.replace("X", typed) for word in place]
            status, out, err = run(words, here)
            tap.tell(status in (2, 3) and typed in out + err, f"it is shown: {' '.join(words)}",
                     f"{status}\n{out}{err}")
    for command in COMMANDS:
        for typed in ("maxMemoryOfAll", "maxArchiveEntriesInAll", "someVeryLongOptionWithWords"):
            status, out, err = run([command, "--" + typed], here)
            tap.tell(status == 2 and is_one_line(err) and f"'--{typed}'" in err,
                     f"it is shown: {command} --{typed}", f"{status}\n{out}{err}")


def try_no_value(tap, here):
    for command in COMMANDS:
        known = options_of(command)
        flag = ["--json"] if any(name == "json" for _, name, _ in known) else []
        for letter, name, wants in known:
            if not wants:
                continue
            for option in ["--" + name] + (["-" + letter] if letter else []):
                for before in ([], flag, ["x"]):
                    status, out, err = run([command, *before, option], here)
                    tap.tell(status == 2 and not out and is_one_line(err) and
                             f"'{option}' needs a value: " in err,
                             f"no value: {command} {' '.join(before)} {option}",
                             f"{status}\n{out}{err}")


def main():
    tap = Tap()
    print(f"# WEIR_SEED={SEED}")
    with tempfile.TemporaryDirectory() as top:
        os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = os.path.join(top, "cache")
        os.mkdir(os.environ["XDG_CACHE_HOME"])
        here = os.path.join(top, "here")
        try_no_value(tap, here)
        try_innocents(tap, here)
        try_secrets(tap, here)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
