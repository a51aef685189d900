"""Figures for people, as Markdown, and where and when they were made."""
import os
import platform
import statistics
import subprocess
import time

from lib.folder import has_no_journal

OTHERS_SHARE_MAX = 0.15


def spread(samples):
    return {"median": statistics.median(samples), "least": min(samples), "greatest": max(samples)}


def format_spread(values, decimals):
    return (f"{values['median']:.{decimals}f} "
            f"({values['least']:.{decimals}f}..{values['greatest']:.{decimals}f})")


def ratios(row, ours, figure):
    """The contender's figure over ours in each round that both have."""
    pairs = zip(row.samples[figure], ours.samples[figure])
    return spread([theirs / our for theirs, our in pairs if our > 0])


def has_figures(row):
    return row is not None and not row.problem and len(row.samples["wall_s"]) > 0


def others_share(rows):
    """Of the time of all processors in all runs, what went to others than the contender. The
    kernel's own threads are among them, which write to the disk for it."""
    walls = sum(sum(r.samples["wall_s"]) for r in rows)
    others = sum(sum(r.samples["others_s"]) for r in rows)
    # The kernel counts in ticks, which are long beside short runs.
    return min(1.0, others / (walls * len(os.sched_getaffinity(0)))) if walls else 0.0


def is_disturbed(rows):
    return others_share(rows) > OTHERS_SHARE_MAX


def disturbance_of(rows):
    return (f"Disturbed: meanwhile others kept the processors busy for {others_share(rows):.0%} of "
            "the time.")


def ours_of(rows):
    return next((r for r in rows if r.contender.kind == "weir" and has_figures(r)), None)


def rounds_text(rounds):
    return f"{rounds} round{'s' if rounds > 1 else ''}; median (least..greatest) of them"


def print_table(titles, lines, right):
    lines = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in [titles, *lines]) for i in range(len(titles))]
    def show(line):
        cells = [f"{c:>{w}}" if r else f"{c:<{w}}" for c, w, r in zip(line, widths, right)]
        print("| " + " | ".join(cells) + " |")
    show(titles)
    print("|" + "|".join("-" * (w + 1) + (":" if r else "-") for w, r in zip(widths, right)) + "|")
    for line in lines:
        show(line)


# ---- where and when ----

def read_first(path, key):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    return "unknown"


def mount_of(path):
    """Type and options of the file system that a path is on. No name of a device or a folder."""
    device = os.stat(path).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            if left.split()[2] == wanted:
                journal = " without a journal" if has_no_journal(path) else ""
                return f"{right.split()[0]}{journal} ({left.split()[5]})"
    answer = subprocess.run(["stat", "-f", "-c", "%T", path], text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return answer.stdout.strip() or "unknown"


def version_of(package):
    answer = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            check=False)
    return answer.stdout.strip() if answer.returncode == 0 else "unknown"


def commit(here):
    def git(*arguments):
        return subprocess.run(["git", "-C", here, *arguments], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    head = git("rev-parse", "--short=12", "HEAD")
    if head.returncode != 0:
        return "unknown"
    changed = git("status", "--porcelain", "--", "../../src", "../../include").stdout.strip()
    return head.stdout.strip() + (" with changes" if changed else "")


def about(benchmark, here, path, command, packages):
    memory_kib = int(read_first("/proc/meminfo", "MemTotal").split()[0])
    uname = platform.uname()
    return {
        "benchmark": benchmark,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit(here),
        "command": command,
        "cpu": read_first("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": round(memory_kib * 1024 / 1e6),
        "kernel": f"{uname.system} {uname.release} {uname.machine}",
        "file_system": mount_of(path),
        "load_at_start": f"{os.getloadavg()[0]:.1f}",
        "versions": {package: version_of(package) for package in packages},
    }


def print_about(facts, notes, is_quick, quick_note):
    print(f"## {facts['benchmark']}, {facts['date']}{' (quick)' if is_quick else ''}\n")
    print(f"- commit: {facts['commit']}")
    print(f"- machine: {facts['cpu']}, {facts['cores']} cores, {facts['memory_mb'] / 1000:.0f} GB, "
          f"{facts['kernel']}; load at the start {facts['load_at_start']}")
    print(f"- file system: {facts['file_system']}")
    print("- versions: " + ", ".join(f"{k} {v}" for k, v in sorted(facts["versions"].items())))
    print(f"- command: `{facts['command']}`")
    if is_quick:
        print(f"- quick: {quick_note}; the figures mean little")
    for note in notes:
        print(f"- note: {note}", flush=True)
