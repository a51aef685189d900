"""Figures for people, as Markdown, and for machines, as JSON."""
import json
import os
import platform
import statistics
import subprocess
import sys
import time

from folder import has_no_journal
from scenarios import BEST, MEMORY_MAX_MB, TARGETS

NOT_KEPT = {"owner": "owners", "mode": "file modes", "time": "file times",
            "time_ns": "nanoseconds of file times", "dir_mode": "directory modes",
            "dir_time": "directory times", "dir_time_ns": "nanoseconds of directory times"}

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
    return others / (walls * len(os.sched_getaffinity(0))) if walls else 0.0


def ours_of(rows):
    return next((r for r in rows if r.contender.kind == "weir" and has_figures(r)), None)


# ---- Markdown ----

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


def line_of(row, ours, ours_name):
    if row.problem:
        return [row.contender.name, "failed", "", "", "", "", row.problem]
    walls = ratios(row, ours, "wall_s") if ours else None
    cpus = ratios(row, ours, "cpu_s") if ours else None
    is_ours = row.contender.name == ours_name
    not_kept = ", ".join(NOT_KEPT.get(name, name) for name in row.not_kept)
    return [row.contender.name,
            format_spread(spread(row.samples["wall_s"]), 3),
            "1" if is_ours else format_spread(walls, 2) if walls else "",
            format_spread(spread(row.samples["cpu_s"]), 2),
            "1" if is_ours else f"{cpus['median']:.2f}" if cpus else "",
            f"{max(row.samples['rss_mb']):.1f}",
            not_kept]


def print_scenario(scenario, rows, place, rounds, is_quick):
    print(f"\n### {scenario.name}: {scenario.title}{' (a tenth of it)' if is_quick else ''}\n")
    ours = ours_of(rows)
    print(f"On {place}. {rounds} round{'s' if rounds > 1 else ''}; median (least..greatest) of them"
          + ("; / weir is the median of the ratios to weir copy in each round: above 1, it took "
             "longer than weir" if ours else "") + ".\n")
    others = others_share(rows)
    if others > OTHERS_SHARE_MAX:
        print(f"Disturbed: meanwhile others kept the processors busy for {others:.0%} of the "
              "time.\n")
    name = ours.contender.name if ours else None
    print_table(["contender", "wall, s", "/ weir", "CPU, s", "/ weir", "peak MB", "not kept"],
                [line_of(row, ours, name) for row in rows],
                [False, True, True, True, True, True, False])


def print_targets(targets, results, is_quick):
    print("\n### Targets\n")
    if not targets:
        print("None was measured: weir took no part.")
        return
    if is_quick:
        print("A quick run: its figures say that the benchmark works and nothing more.\n")
    if any(others_share(rows) > OTHERS_SHARE_MAX for rows in results.values()):
        print("Others kept the processors busy: of these, only memory and CPU are to be trusted.\n")
    lines = []
    for target in targets:
        bound = "below" if target["is_at_most"] else "at least"
        value = format_spread(target["value"], 3) if target["value"] else ""
        lines.append([target["text"], value, f"{bound} {target['limit']:.3g}", target["verdict"]])
    print_table(["target", "measured", "to be", ""], lines, [False, True, True, False])


# ---- targets ----

def verdict(value, limit, is_at_most):
    if value is None:
        return "not measured"
    met = value["greatest"] < limit if is_at_most else value["median"] >= limit
    return "reached" if met else "missed"


def best_of(rows):
    peers = [r for r in rows if r.contender.kind not in ("weir", "variant") and has_figures(r)]
    return min(peers, key=lambda r: statistics.median(r.samples["wall_s"]), default=None)


def find_targets(results):
    """results: {scenario name: rows}. Every target of these scenarios, also one whose peer is not
    there; none if weir took no part."""
    found = []
    if not any(r.contender.kind == "weir" for rows in results.values() for r in rows):
        return found
    for scenario, peer, figure, limit in TARGETS:
        rows = results.get(scenario, [])
        if not rows:
            continue
        ours = ours_of(rows)
        row = best_of(rows) if peer == BEST else next(
            (r for r in rows if r.contender.name == peer), None)
        value = ratios(row, ours, figure) if ours and has_figures(row) else None
        name = f"{peer} ({row.contender.name})" if peer == BEST and row else peer
        text = f"{scenario}: {'wall' if figure == 'wall_s' else 'CPU'}, {name} / weir"
        found.append({"text": text, "value": value, "limit": limit, "is_at_most": False,
                      "verdict": verdict(value, limit, False)})
    memory = [sample for rows in results.values() for r in rows
              if r.contender.kind in ("weir", "variant") for sample in r.samples["rss_mb"]]
    value = spread(memory) if memory else None
    found.append({"text": "peak memory of weir in all of them, MB", "value": value,
                  "limit": MEMORY_MAX_MB, "is_at_most": True,
                  "verdict": verdict(value, MEMORY_MAX_MB, True)})
    return found


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


def place_of(folder):
    return mount_of(folder.path) + (" in an image file" if folder.is_mounted else "")


def commit(here):
    def git(*arguments):
        return subprocess.run(["git", "-C", here, *arguments], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    head = git("rev-parse", "--short=12", "HEAD")
    if head.returncode != 0:
        return "unknown"
    changed = git("status", "--porcelain", "--", "../../src", "../../include").stdout.strip()
    return head.stdout.strip() + (" with changes" if changed else "")


def about(here, path, command, contenders):
    memory_kib = int(read_first("/proc/meminfo", "MemTotal").split()[0])
    uname = platform.uname()
    return {
        "benchmark": "copy",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit(here),
        "command": command,
        "cpu": read_first("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": round(memory_kib * 1024 / 1e6),
        "kernel": f"{uname.system} {uname.release} {uname.machine}",
        "file_system": mount_of(path),
        "load_at_start": f"{os.getloadavg()[0]:.1f}",
        "versions": {c.package: c.version() for c in contenders if c.package},
    }


def print_about(facts, notes, options):
    if options.json:
        return
    print(f"## copy, {facts['date']}{' (quick)' if options.quick else ''}\n")
    print(f"- commit: {facts['commit']}")
    print(f"- machine: {facts['cpu']}, {facts['cores']} cores, {facts['memory_mb'] / 1000:.0f} GB, "
          f"{facts['kernel']}; load at the start {facts['load_at_start']}")
    print(f"- file system: {facts['file_system']}")
    print("- versions: " + ", ".join(f"{k} {v}" for k, v in sorted(facts["versions"].items())))
    print(f"- command: `{facts['command']}`")
    if options.quick:
        print("- quick: a tenth of the files and fewer rounds; the figures mean little")
    for note in notes:
        print(f"- note: {note}")
    sys.stdout.flush()


def print_json(facts, is_quick, rounds, scenarios, results, kinds, targets, notes):
    tables = [{"name": s.name, "title": s.title, "file_system": kinds[s.name],
               "rows": [{"contender": r.contender.name, "kind": r.contender.kind,
                         "problem": r.problem, "not_kept": r.not_kept, **r.samples}
                        for r in results[s.name]]} for s in scenarios if s.name in results]
    print(json.dumps({**facts, "is_quick": is_quick, "rounds": rounds, "notes": notes,
                      "scenarios": tables, "targets": targets}, indent=1))
