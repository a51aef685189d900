"""The programs that copy a tree, and the command of each for each kind of task.

Tasks: "new", where the destination does not exist; "into", where its directories do and its files
do not; "again", where all of it is there already. A program that has no command for a task, or is
not installed, is left out of it.

All of them are asked to keep what `cp -a` keeps, as far as they can. What they did not keep is
found by comparing, not believed.
"""
import shlex
import shutil
import subprocess


class Contender:
    def __init__(self, name, programs, package, commands, probes=None, is_exact=False, kind="peer"):
        self.name = name
        self.programs = programs    # all must be in PATH, or be paths
        self.package = package      # of Debian 12, or None
        self.commands = commands    # task -> function of (source, destination, folder)
        self.is_exact = is_exact    # any difference is a fault, not a property
        self.kind = kind            # weir, variant (of weir), peer, other, rare (not in Debian)
        # Run before a cold run, so that the tree is cold and not the program.
        self.probes = probes if probes is not None else [[p, "--version"] for p in programs]

    def command(self, task, source, destination, folder):
        return self.commands[task](source, destination, folder)

    def does(self, task):
        return task in self.commands

    def is_installed(self):
        return all(shutil.which(p) for p in self.programs)



def shell(text):
    """A pipeline in which {src}, {dst} and {folder} stand for the quoted paths."""
    def make(source, destination, folder):
        line = text.format(src=shlex.quote(source), dst=shlex.quote(destination),
                           folder=shlex.quote(folder))
        return ["bash", "-c", "set -eo pipefail; " + line]
    return make


def slashes(*words):
    """The habit of rsync: a slash after the source means its contents."""
    return lambda source, destination, _: [*words, source + "/", destination + "/"]


def like_cp(*words):
    """The habit of cp: a destination that does not exist becomes the copy."""
    return lambda source, destination, _: [*words, source, destination]


def like_cp_into(*words):
    return lambda source, destination, _: [*words, source + "/.", destination + "/"]


def tar(program):
    pipe = program + " -C {src} -cf - . | " + program + " -C {dst} -xpf -"
    return {"new": shell("mkdir {dst}; " + pipe), "into": shell(pipe)}


def same(command, *tasks):
    return {task: command for task in tasks}


def weirs(weir, before):
    """Ours: plain as rsync -a, and with all that cp -a keeps. A second program is one more row."""
    rows = []
    if weir:
        rows.append(Contender("weir copy", [weir], None,
                              same(slashes(weir, "copy"), "new", "into", "again"),
                              is_exact=True, kind="weir"))
        rows.append(Contender("weir copy -HAX", [weir], None,
                              same(slashes(weir, "copy", "-HAX"), "new", "into", "again"),
                              is_exact=True, kind="variant"))
    if before:
        rows.append(Contender("weir copy before", [before], None,
                              same(slashes(before, "copy"), "new", "into", "again"),
                              is_exact=True, kind="variant"))
    return rows


# rclone checks nothing but size and time on a second run, as rsync does. fpsync refuses -a and
# walks by itself; these options are the rest of -a.
RCLONE = ("rclone", "copy", "--config", "", "--metadata", "--links", "--create-empty-src-dirs")
FPSYNC = "mkdir {folder}/fpsync; fpsync -n 2 -t {folder}/fpsync -d {folder}/fpsync " \
         "-o '-lptgoD --numeric-ids' {src}/ {dst}/"

PEERS = [
    Contender("cp -a", ["cp"], "coreutils",
              {"new": like_cp("cp", "-a"), "into": like_cp_into("cp", "-a"),
               "again": like_cp_into("cp", "-au")}, is_exact=True),
    Contender("rsync -a", ["rsync"], "rsync",
              same(slashes("rsync", "-a"), "new", "into", "again"), is_exact=True),
    Contender("tar | tar", ["tar"], "tar", tar("tar")),
    Contender("rclone copy", ["rclone"], "rclone",
              same(slashes(*RCLONE), "new", "into", "again")),
    Contender("fpsync -n 2", ["fpsync", "fpart", "rsync"], "fpart",
              same(shell(FPSYNC), "new", "into", "again"),
              probes=[["fpsync", "-h"], ["fpart", "-V"], ["rsync", "--version"]]),
]

OTHERS = [
    Contender("rsync -aHAX", ["rsync"], "rsync",
              same(slashes("rsync", "-aHAX"), "new", "into", "again"), is_exact=True,
              kind="other"),
    Contender("cpio -p", ["cpio", "find"], "cpio",
              {"new": shell("mkdir {dst}; cd {src}; find . -depth -print0 | "
                            "cpio -0pdm --quiet {dst}")}, kind="other"),
    Contender("pax -rw", ["pax"], "pax",
              {"new": shell("mkdir {dst}; cd {src}; pax -rw -pe . {dst}")},
              probes=[["pax", "-?"]], kind="other"),
    Contender("bsdtar | bsdtar", ["bsdtar"], "libarchive-tools", tar("bsdtar"), kind="other"),
    Contender("busybox cp -a", ["busybox"], "busybox",
              {"new": like_cp("busybox", "cp", "-a")}, kind="other"),
    Contender("toybox cp -a", ["toybox"], "toybox",
              {"new": like_cp("toybox", "cp", "-a")}, kind="other"),
    Contender("uutils cp -a", ["coreutils"], "rust-coreutils",
              {"new": like_cp("coreutils", "cp", "-a")}, kind="other"),
]

# Not in Debian 12; measured where somebody has installed them. They keep less.
RARE = [
    Contender("cpz", ["cpz"], None, {"new": like_cp("cpz")}, kind="rare"),
    Contender("fcp", ["fcp"], None, {"new": like_cp("fcp")}, kind="rare"),
    Contender("xcp -r", ["xcp"], None, {"new": like_cp("xcp", "-r")}, kind="rare"),
    Contender("wcp", ["wcp"], None, {"new": like_cp("wcp")}, kind="rare"),
]


def can_copy(program):
    """Whether this weir has the command: one without it is an older one, not a broken one."""
    answer = subprocess.run([program, "copy", "--help"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return answer.returncode == 0
