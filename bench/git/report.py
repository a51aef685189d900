"""Figures for people, as Markdown, and for machines, as JSON."""
import json
import statistics

from lib.report import (disturbance_of, format_spread, has_figures, is_disturbed, ours_of,
                        print_table, ratios, rounds_text, spread)

# CPU seconds, and how many times less than the best peer.
TARGETS = {"medium": (0.7, 4), "large": (2.0, 8)}
SHARE_MAX = 0.6     # wall over CPU, on two cores
ANON_MB_MAX = 120   # of the large one
AGAIN_MS_MAX = 50

# Not measured here: CPU seconds that others took elsewhere, on a machine of 2 cores, on real
# histories of about these sizes (libuv and coreutils). To know the order of magnitude.
ELSEWHERE = {
    "medium": (("noseyparker 0.24", 2.75), ("betterleaks 1.7", 5.3), ("gitleaks 8.30", 7.1),
               ("titus 1.1", 10.5), ("trufflehog 3.60", 13)),
    "large": (("betterleaks 1.7", 17.3), ("noseyparker 0.24", 19.1), ("gitleaks 8.30", 24.6)),
}


def ratio_of(row, ours, figure):
    if row is ours:
        return "1"
    return format_spread(ratios(row, ours, figure), 2) if ours else ""


def line_of(row, ours, is_short):
    if row.problem:
        return [row.contender.name, "failed", "", "", "", "", row.problem]
    factor, decimals = (1000, 2) if is_short else (1, 3)
    def figure(name):
        return format_spread(spread([s * factor for s in row.samples[name]]), decimals)
    found = "" if row.found is None else f"{row.found} of {len(row.material.planted)}"
    memory = "" if is_short else f"{max(row.samples['anon_mb']):.0f}, {max(row.samples['peak_mb']):.0f}"
    return [row.contender.name, figure("cpu_s"), ratio_of(row, ours, "cpu_s"), figure("wall_s"),
            ratio_of(row, ours, "wall_s"), memory, found]


def print_scenario(name, title, about, rows, rounds, repeat):
    print(f"\n### {name}: {title}\n")
    ours = ours_of(rows)
    each = f"; {repeat} starts in each round, and the figures are for one" if repeat > 1 else ""
    compared = "; / weir scan is the median of the ratios to it in each round" if ours else ""
    print(f"{about} {rounds_text(rounds)}{each}{compared}.")
    if name in ELSEWHERE:
        print("Elsewhere, on a real history of that size, CPU s: "
              + ", ".join(f"{peer} {seconds:g}" for peer, seconds in ELSEWHERE[name]) + ".")
    if is_disturbed(rows):
        print(disturbance_of(rows))
    print()
    unit = "ms" if repeat > 1 else "s"
    print_table(["contender", f"CPU, {unit}", "/ weir scan", f"wall, {unit}", "/ weir scan",
                 "MB at the peak: anonymous, all", "planted tokens"],
                [line_of(row, ours, repeat > 1) for row in rows],
                [False, True, True, True, True, True, False])


# ---- pages ----

def pages_line(row, ours, size):
    if not has_figures(row):
        return [row.contender.name, "failed", "", "", "", "", "", row.problem]
    more = "> " if row.unfinished else ""
    def figure(values, decimals):
        return more + format_spread(spread(list(values)), decimals)
    samples = row.samples
    return [row.contender.name, figure(samples["wall_s"], 2), more + ratio_of(row, ours, "wall_s"),
            figure((mb * 1e6 / size for mb in samples["read_mb"]), 2),
            figure((mb * 1e6 / size for mb in samples["refault_mb"]), 2),
            figure(samples["major"], 0), figure(samples["full"], 0),
            f"{max(samples['anon_mb']):.0f}"]


def print_pages(title, about, size, tables, rounds):
    """tables: (MB of memory, its rows)"""
    print(f"\n### pages: {title}\n\n{about} {rounds_text(rounds)}.")
    rows = [row for _, some in tables for row in some]
    if any(row.unfinished for row in rows):
        print("With > are those that were ended in some round before they were done.")
    if is_disturbed(rows):
        print(disturbance_of(rows))
    for limit_mb, some in tables:
        ours = ours_of(some)
        print(f"\n{limit_mb} MB of memory:\n")
        print_table(["", "wall, s", f"/ {ours.contender.name}" if ours else "/", "read / packs",
                     "read again / packs", "faults that waited", "limit met", "anonymous, MB"],
                    [pages_line(row, ours, size) for row in some], [False] + [True] * 7)


# ---- targets ----

def target(text, value, bound, limit, why="not measured"):
    verdict = why
    if value:
        met = value["median"] >= limit if bound == "at least" else value["median"] <= limit
        verdict = "reached" if met else "missed"
    return {"text": text, "value": value, "bound": bound, "limit": limit, "verdict": verdict}


def best_of(rows):
    """The fastest of those that find at least half of what is to be found."""
    peers = [r for r in rows if r.contender.kind == "peer" and has_figures(r)
             and 2 * r.found >= len(r.material.planted)]
    return min(peers, key=lambda r: statistics.median(r.samples["cpu_s"]), default=None)


def history_targets(name, rows, ours):
    seconds, times = TARGETS[name]
    yield target(f"{name}: CPU of weir scan, s", ours and spread(ours.samples["cpu_s"]), "at most",
                 seconds)
    best = best_of(rows)
    yield target(f"{name}: CPU, the best peer{f' ({best.contender.name})' if best else ''} / weir",
                 ratios(best, ours, "cpu_s") if best and ours else None, "at least", times,
                 "no peer that finds half of the tokens is installed")
    yield target(f"{name}: wall / CPU of weir scan", ours and spread(ours.samples["share"]),
                 "at most", SHARE_MAX)
    if name == "large":
        yield target("large: anonymous memory of weir scan, MB",
                     ours and spread(ours.samples["anon_mb"]), "at most", ANON_MB_MAX)


def find_targets(results):
    found = []
    for name, rows in results.items():
        ours = ours_of(rows)
        if name in TARGETS:
            found += history_targets(name, rows, ours)
        elif name == "again":
            value = ours and spread([s * 1000 for s in ours.samples["wall_s"]])
            found.append(target("again: wall of weir scan, ms", value, "at most", AGAIN_MS_MAX))
    return found


def print_targets(targets, results):
    if not targets:
        return
    print("\n### Targets\n")
    if any(is_disturbed(rows) for rows in results.values()):
        print("Others kept the processors busy meanwhile.\n")
    print_table(["target", "measured", "to be", ""],
                [[t["text"], format_spread(t["value"], 3) if t["value"] else "",
                  f"{t['bound']} {t['limit']:g}", t["verdict"]] for t in targets],
                [False, True, True, False])


def print_json(facts, rounds, results, targets, notes):
    tables = [{"name": name, "rows": [{"contender": r.contender.name, "kind": r.contender.kind,
                                       "problem": r.problem, "found": r.found,
                                       "unfinished": r.unfinished, **r.samples}
                                      for r in rows]} for name, rows in results.items()]
    print(json.dumps({**facts, "rounds": rounds, "notes": notes, "scenarios": tables,
                      "targets": targets}, indent=1))
