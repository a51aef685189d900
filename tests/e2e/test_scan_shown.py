#!/usr/bin/env python3
"""What a scan shows of what it found: never a secret, nor a part of one, in no form of the report.

Passwords with every mark in them, in the lines that people have them in; the same in names of files,
folders and members of archives, and in what people write into commits. WEIR_SEED chooses them (it is
printed). Prints TAP.
"""
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

WEIR = os.environ["WEIR"]
SEED = os.environ.get("WEIR_SEED", "1")
FORMATS = ["human", "json", "jsonl", "sarif", "csv", "junit", "github", "gitleaks", "html"]
MARKS = "@:!#$%&*;,.?/+=^~|<>()[]{}-_"
# Of these nothing is hidden but the token.
SHOWN = ["if (key == other) return token; // {t}", "token = self.token; x = {t}", "password = $PASSWORD; x = {t}",
         "docker run -u 1000:1000 {t}", "cat token | base64 | tr -d x {t}", "author: bob, mail: bob@h.org, x = {t}",
         "for (key in keys) {{ x(key); }} // {t}", "see src/main/java/org/example/Tokens.java {t}",
         "token = get_token('main'); x = {t}", "std::string token; int keys; // {t}", "<!-- the password of {t} -->",
         "keyboard ||= 'us'; x = {t}", "use --token to say which: {t}", "secret = ${{{{ secrets.A }}}} {t}"]
LETTERS = "ghjkmnpqrstuvwxyzGHJKLMNPQRSTUVWXYZ"  # nothing that a hash has
# Whose lines are shown, for what else is in them.
TOKEN = "ghp_M0XvqZjxTW3xvboSRt5Mh3dAwVtRMf3" + "LeZiJ"
LINES = ['{n}={p}', '{n}="{p}"', "{n}='{p}'", '{n}: {p}', '{n}: "{p}"', '"{n}": "{p}",', '{n} = "{p}";',
         '{n} := "{p}"', '<{n}>{p}</{n}>', '--{n}={p}', 'export {n}={p}', '{n}={p};Server=x',
         '{n}={p}&x=1', 'url=postgres://u:{p}@db/x', 'jdbc:mysql://h/x?user=a&password={p}',
         'Server=x;Password={p};User=y', 'curl -u bob:{p} https://h', 'mysql -uroot -p{p} db',
         '{n}={p} # {n}={p}', 'a {p} b {n}="{p}"', 'machine h login u password {p}',
         'redis://:{p}@h:6379/0', 'amqp://u:{p}@h', 'mongodb+srv://u:{p}@h/x', 'https://u:{p}@h/x',
         'ftp://u:{p}@h', '{n}={p}.txt', 'sshpass -p {p} ssh h', '{n} => "{p}"',
         "{n}:'{p}',user:'x'"]
NAMES = ["password", "DB_PASSWORD", "passwd", "PGPASSWORD", "db.password", "client_secret"]
chance = random.Random(SEED)


def password(mark):
    return mark.join("".join(chance.choice(LETTERS) for _ in range(n)) for n in (5, 5, 4))


def leaks(said, secrets):
    """Those of which four bytes in a row are there."""
    return [secret for secret in secrets
            if any(secret[i:i + 4] in said for i in range(len(secret) - 3))]


def scan(*words):
    done = subprocess.run([WEIR, "scan", "-v", "--summary", "--progress=always", *words],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def try_lines(tap):
    """Each in a file of its own, so that it is known whether anything was found in it."""
    for form in LINES:
        secrets = {}
        for mark in MARKS + "".join(quote for quote in "'\"`" if quote not in form):
            secrets[f"{ord(mark)}.env"] = word = password(mark)
            write(f"lines/{ord(mark)}.env", form.format(n=chance.choice(NAMES), p=word) + "\n")
        for report in FORMATS:
            status, said = scan("-f", report, "lines")
            shown = leaks(said, secrets.values())
            tap.tell(status in (0, 1) and not shown, f"{report}: {form}",
                     f"{status} {shown}\n" + "\n".join(
                         line for line in said.splitlines() if leaks(line, shown)))
        shutil.rmtree("lines")


def make_names(secrets):
    """A finding in everything whose name says a password: of files, folders, members."""
    def name(what):
        secrets.append(password(chance.choice("@:!;.")))
        return what.format(p=secrets[-1])
    line = f"github = {TOKEN}\n"
    write(os.path.join("names", name("password={p}"), "f.txt"), line)
    write(os.path.join("names", name("db_password={p}.txt")), line)
    write(os.path.join("names", name("api_key:{p}.txt")), line)
    write(os.path.join("names", name("u:{p}@host")), line)
    with zipfile.ZipFile("names/a.zip", "w") as archive:
        archive.writestr(name("token={p}.txt"), line)
    with tarfile.open("names/a.tar", "w") as archive:
        member = tarfile.TarInfo(name("x/secret={p}/f.txt"))
        member.size = len(line)
        archive.addfile(member, io.BytesIO(line.encode()))
    with zipfile.ZipFile(os.path.join("names", name("pwd={p}.zip")), "w") as archive:
        archive.writestr("f.txt", line)
    os.mkfifo("names/pipe")
    os.symlink(name("password={p}"), "names/link")
    write("names/empty.zip", "PK\3\4 broken")


def git(*words):
    subprocess.run(["git", *words], cwd="names/repo", check=True, capture_output=True,
                   env=dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null"))


def make_history(secrets):
    author, mail, subject, tag, branch = (password(mark) for mark in "@:;!.")
    secrets += [author, mail, subject, tag, branch]
    os.mkdir("names/repo")
    git("init", "-q", ".")
    git("config", "user.name", f"Bob api_key={author}")
    git("config", "user.email", f"u:{mail}@host.invalid")
    write("names/repo/f.txt", f"key = {TOKEN}\n")
    git("add", ".")
    git("commit", "-qm", f"password={subject} and {TOKEN}")
    git("tag", "-a", "-m", f"token={tag} {TOKEN}", "v1")
    git("branch", f"password={branch}")
    git("rm", "-q", "f.txt")
    git("commit", "-qm", f"Remove {TOKEN}")


def try_names(tap):
    secrets = [TOKEN[6:-5]]
    os.mkdir("names")
    make_names(secrets)
    histories = [["--no-history"]]
    if shutil.which("git"):
        make_history(secrets)
        histories += [["--history=also", "--no-state", "--explain-limits"],
                      ["--history=also", "--no-state", "--full-scan"]]
    for report in FORMATS:
        for history in histories:
            status, said = scan("-f", report, *history, "names")
            shown = leaks(said, secrets)
            tap.tell(status == 1 and "f.txt" in said and not shown,
                     f"{report}: names, {' '.join(history)}",
                     f"{status} {shown}\n" + "\n".join(
                         line for line in said.splitlines() if leaks(line, shown)))
        status, said = scan("-f", report, "--show-secrets", "--no-history", "names")
        tap.tell(any(secret in said.replace("%3A", ":") for secret in secrets[1:]),
                 f"{report}: as they are, if that is wanted", said)


def try_beside(tap):
    """A secret in all that is told beside it, also before the end; and in what is said on standard error."""
    word = password("")
    line = f'password = "{word}"\n'
    write("beside/tree/a", line)
    write(f"beside/tree/{word}", line)
    with open(f"beside/tree/{word}.gz", "wb") as file:
        file.write(b"\x1f\x8b\x08\0broken")
    write("beside/tree/c", "zzq12345\n")
    write("beside/rules.toml", f"""[extend]
useDefault = true
[[rules]]
id = "r-{word}"
description = "as {word} is"
regex = 'zzq[0-9]+'
[[rules]]
id = "named"
description = "A name."
path = '^beside/tree/{word[:4]}'
""")
    for report in FORMATS:
        status, said = scan("-f", report, "-c", "beside/rules.toml", "beside/tree")
        shown = [line for line in said.splitlines() if leaks(line, [word])]
        tap.tell(status == 1 and "********" in said and not shown, f"{report}: beside it", "\n".join(shown))
        done = subprocess.run([WEIR, "scan", "-v", "-f", report, "--show-secrets", "beside/tree"],
                              capture_output=True, check=False)
        tap.tell(word.encode() in done.stdout and b".gz" in done.stdout + done.stderr
                 and word.encode() not in done.stderr, f"{report}: standard error shows none",
                 done.stderr.decode())
    if not shutil.which("git"):
        return
    os.makedirs("names/repo")
    git("init", "-q", ".")
    git("config", "user.name", word)
    git("config", "user.email", f"x@{word}")
    write("names/repo/f.txt", line)
    git("add", ".")
    git("commit", "-qm", f"Add {word} as it is")
    for report in FORMATS:
        status, said = scan("-f", report, "--history=only", "--no-state", "names/repo")
        tap.tell(status == 1 and not leaks(said, [word]), f"{report}: beside it in a history", said)
    shutil.rmtree("names")


def try_named(tap):
    """What a line calls a secret without being found, and the end of a value that is longer than is looked at."""
    word = "hunt" + password("")[:5]
    lines = ['api_key = "{p}"; t = {t}', 'password: "{p}"; t = {t}', "password := {p} ; t = {t}",
             "['password' => '{p}', 't' => {t}]", '#define PASSWORD "{p}" // {t}', "x -u bob:{p} -H {t}",
             'a.password ||= "{p}"; b = "{t}"', 't = "{t}"; secret <- "{p}"', 'let key: String = "{p}"; // {t}',
             'var token string = "{p}" // {t}', 'setPassword("{p}"); // {t}', 'f("password", "{p}", "{t}")',
             'if (password == "{p}") x("{t}")', '<password>{p}</password> {t}', 'key = env("K", "{p}"); // {t}',
             'x --user "bob:{p}" {t}', "ALTER USER x PASSWORD '{p}'; -- {t}", "ENV API_TOKEN {p} {t}",
             'passwords = ["{t}", "zz9", "{p}"]', 'passwords = ["{p}", "{t}"]', "Authorization: Basic {p} {t}",
             '"password", "{p}"; x = "{t}"', '{{"password", "{p}"}}, // {t}', """ENV['PW'] ||= "{p}" # {t}"""]
    for line in lines:
        write("named/f", line.format(p=word, t=TOKEN) + "\n")
        said = "".join(scan("-f", report, "named")[1] for report in FORMATS)
        tap.tell("eZiJ" in said and word not in said, f"beside a token: {line}", said)
    for line in SHOWN:
        write("named/f", line.format(t=TOKEN) + "\n")
        said = scan("-f", "csv", "named")[1].replace('""', '"')
        tap.tell(line.format(t=TOKEN[:4] + "*" * 32 + TOKEN[-4:]) in said, f"it stays: {line}", said)
    phrase = " ".join("".join(chance.choice(LETTERS) for _ in range(7)) for _ in range(90))
    for line in ['{{"t":"{t}","password":"{p}"}}', '{{"password":"{p}","t":"{t}"}}',
                 "passphrase: '{p}' # {t}"]:
        write("named/f", line.format(p=phrase, t=TOKEN) + "\n")
        said = "".join(scan("-f", report, "named")[1] for report in FORMATS)
        shown = [at for at in range(0, len(phrase) - 8) if phrase[at:at + 8] in said]
        tap.tell("named/f" in said and not shown, f"a long one with blanks: {line}", said[:2000])
    long = "".join(chance.choice(LETTERS) for _ in range(5000))
    write("named/f", '{"client_secret":"' + long + '","t":"' + TOKEN + '"}\n')
    for report in FORMATS:
        said = scan("-f", report, "named")[1]
        shown = [at for at in range(0, 5000 - 8) if long[at:at + 8] in said]
        tap.tell("eZiJ" in said and not shown, f"{report}: the end of a long value", said)
    shutil.rmtree("named")


def try_rules(tap):
    """A token in what a rule of a configuration has is hidden, though it is in no file that is scanned."""
    digits = "".join(chance.choice("0123456789abcdef") for _ in range(32))
    word = password("")[:6] + "7xQ"
    write("called/rules.toml", f"""[[rules]]
id = "acme-{TOKEN}"
description = "such as {TOKEN} or password={word} or curl -u bob:{word} https://h"
provider = "{TOKEN}"
tags = ["a", "{TOKEN}"]
regex = 'zork_[a-z0-9]{{20}}'
examples = ["zork_a1b2c3d4e5f6g7h8i9j0", "no {TOKEN} here", "password = {word} no"]
negatives = ["zork_a1b2c3d4e5f6g7h8i9j0 {digits}"]
[[rules.allowlists]]
stopwords = ["{TOKEN}"]
regexes = ['{digits}']
[[rules]]
id = "b-{digits}"
regex = 'zark_[a-z0-9]{{20}}'
[[rules.required]]
id = "acme-{TOKEN}"
""")
    write("called/tree/f", "a zork_a1b2c3d4e5f6g7h8i9j0\n")
    calls = [["scan", "-f", report, "called/tree"] for report in FORMATS] + [
        ["rules", action, *json] for action in ("list", "test", "lint") for json in ([], ["--json"])] + [
        ["rules", "show", *json, name] for json in ([], ["--json"])
        for name in ("acme-" + TOKEN, "b-" + digits, "b-" + digits[1:], "acme-" + TOKEN[:-2])] + [
        ["scan", "--rule=b-" + digits[1:], "called/tree"]]
    for words in calls:
        config = ["-c", "called/rules.toml"] if words[1] != "lint" else ["called/rules.toml"]
        done = subprocess.run([WEIR, *words, *config], capture_output=True, check=False)
        said = (done.stdout + done.stderr).decode()
        tap.tell(said and not leaks(said, [TOKEN[4:-4], digits, word]),
                 f"what a rule is called: {' '.join(words)[:28]}", said)
    long = f"key.{digits}." + ".".join(TOKEN for _ in range(9))
    for number, text in enumerate([f"{long} = 1\n{long} = 2\n", f"[[rules]]\nid = 'a'\nregex = 'x'\ncheck = '{digits}'\n",
                                   f"[[rules]]\nid = 'a'\npath = '({digits}'\n", f"password = \"{word}\" {word}\n",
                                   f"[extend]\nuseDefault = true\ndisabledRules = ['{digits}']\n"]):
        write("called/bad.toml", text)
        for words in (["scan", "-c", "called/bad.toml", "called/tree"], ["rules", "lint", "called/bad.toml"]):
            done = subprocess.run([WEIR, *words], capture_output=True, check=False)
            said = (done.stdout + done.stderr).decode()
            tap.tell(b"bad.toml" in done.stdout + done.stderr and not leaks(said, [TOKEN[4:-4], digits, word]),
                     f"what is wrong with a file: {number} {words[0]}", said)
    shutil.rmtree("called")


def try_cut(tap):
    """Where a message cuts a token of several parts, nothing of it is shown."""
    parts = ["".join(chance.choice(LETTERS + "23456789") for _ in range(n)) for n in (22, 43, 80)]
    for folder in ("objects", "refs/heads", "logs/refs/heads"):
        os.makedirs(os.path.join("cut/.git", folder))
    write("cut/.git/HEAD", "ref: refs/heads/main\n")
    write("cut/.git/logs/refs/heads/y-SG." + ".".join(parts), "broken\n")
    for report in FORMATS:
        status, said = scan("-f", report, "--history=only", "--no-state", "cut")
        tap.tell("logs/refs/heads/" in said and not leaks(said, parts), f"{report}: a name that is cut", f"{status}\n{said}")
    shutil.rmtree("cut")


def main():
    tap = Tap()
    print(f"# WEIR_SEED={SEED}")
    with tempfile.TemporaryDirectory() as top:
        os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = os.path.join(top, "cache")
        os.mkdir(os.environ["XDG_CACHE_HOME"])
        os.mkdir(os.path.join(top, "here"))
        os.chdir(os.path.join(top, "here"))
        try_lines(tap)
        try_beside(tap)
        try_named(tap)
        try_rules(tap)
        try_cut(tap)
        try_names(tap)
        os.chdir("/")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
