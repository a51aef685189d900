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
             "['password' => '{p}', 't' => {t}]", '#define PASSWORD "{p}" // {t}', "x -u bob:{p} -H {t}"]
    for line in lines:
        write("named/f", line.format(p=word, t=TOKEN) + "\n")
        said = "".join(scan("-f", report, "named")[1] for report in FORMATS)
        tap.tell("eZiJ" in said and word not in said, f"beside a token: {line}", said)
    long = "".join(chance.choice(LETTERS) for _ in range(5000))
    write("named/f", '{"client_secret":"' + long + '","t":"' + TOKEN + '"}\n')
    for report in FORMATS:
        said = scan("-f", report, "named")[1]
        shown = [at for at in range(0, 5000 - 8) if long[at:at + 8] in said]
        tap.tell("eZiJ" in said and not shown, f"{report}: the end of a long value", said)
    shutil.rmtree("named")


def try_rules(tap):
    """A token in what a rule of a configuration is called is hidden, though it is in no file that is scanned."""
    write("called/rules.toml", f"""[[rules]]
id = "acme-{TOKEN}"
description = "such as {TOKEN} or password=hunter2x"
provider = "{TOKEN}"
tags = ["a", "{TOKEN}"]
regex = 'zork_[a-z0-9]{{20}}'
""")
    write("called/tree/f", "a zork_a1b2c3d4e5f6g7h8i9j0\n")
    for words in [["scan", "-f", report, "called/tree"] for report in FORMATS] + [
            ["rules", "list"], ["rules", "list", "--json"], ["rules", "show", "acme-" + TOKEN]]:
        done = subprocess.run([WEIR, *words, "-c", "called/rules.toml"], capture_output=True, check=False)
        said = (done.stdout + done.stderr).decode()
        tap.tell("acme-" in said and TOKEN[4:12] not in said and "hunter2x" not in said,
                 f"what a rule is called: {' '.join(words[:3])[:20]}", said)
    shutil.rmtree("called")


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
        try_names(tap)
        os.chdir("/")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
