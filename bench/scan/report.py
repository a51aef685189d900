"""Figures for people, as Markdown, and for machines, as JSON."""
import json
import statistics

from lib.report import (disturbance_of, format_spread, has_figures, is_disturbed, print_table,
                        ratios, rounds_text, spread)
from scenarios import (DENSE_RATIO_MAX, ELSEWHERE, MEMORY_MB_MAX, STAGED_MS_MAX, START_MS_MAX,
                       TEXT_MB_S_MIN, TREE_CPU_S_MAX, TREE_PEER_RATIO_MIN)

DECIMALS = {"s": 3, "ms": 2}
FACTOR = {"s": 1, "ms": 1000}


def ours_of(rows):
    return next((r for r in rows if r.kind == "weir" and has_figures(r)), None)


def scaled(samples, unit):
    return spread([sample * FACTOR[unit] for sample in samples])


# ---- Markdown ----

def ratio_of(row, ours, figure, decimals=2):
    if row is ours:
        return "1"
    return format_spread(ratios(row, ours, figure), decimals) if ours else ""


def line_of(row, ours, scenario):
    if row.problem:
        cells = [row.title, "failed", "", "", "", "", "", row.problem]
    else:
        found = "" if row.found is None or not row.material.planted else (
            f"{row.found} of {len(row.material.planted)}")
        unit = scenario.unit
        cells = [row.title,
                 format_spread(scaled(row.samples["cpu_s"], unit), DECIMALS[unit]),
                 ratio_of(row, ours, "cpu_s"),
                 format_spread(scaled(row.samples["wall_s"], unit), DECIMALS[unit]),
                 ratio_of(row, ours, "wall_s"),
                 f"{statistics.median(row.samples['mb_s']):.0f}",
                 f"{max(row.samples['rss_mb']):.1f}",
                 found]
    return cells if scenario.has_rate else cells[:5] + cells[6:]


def sums_of(material):
    """(files, bytes)"""
    cases = list(material.cases.values()) or [material]
    return sum(c.files for c in cases), sum(c.bytes for c in cases)


def about_material(material):
    files, size = sums_of(material)
    return f"{size / 1e6:,.1f} MB in {files:,} file{'s' * (files > 1)}"


def print_scenario(scenario, rows, material, rounds, repeat):
    print(f"\n### {scenario.name}: {scenario.title}\n")
    ours = ours_of(rows)
    base = ours.title if ours else ""
    each = f"; {repeat} starts in each round, and the figures are for one" if repeat > 1 else ""
    compared = (f"; / {base} is the median of the ratios to it in each round: above 1, it took more"
                if ours else "")
    print(f"{about_material(material)}. {rounds_text(rounds)}{each}{compared}.")
    if scenario.has_rate:
        print("MB/s are bytes for a second of CPU time, start-up included.")
    if scenario.is_memory_summed:
        print("The peak is the sum of the peaks of all processes that were alive together.")
    if scenario.name == "tree":
        print("Elsewhere, on another tree of that size, CPU s: "
              + ", ".join(f"{name} {seconds:g}" for name, seconds in ELSEWHERE) + ".")
    if is_disturbed(rows):
        print(disturbance_of(rows))
    print()
    titles = ["contender", f"CPU, {scenario.unit}", f"/ {base}", f"wall, {scenario.unit}",
              f"/ {base}", "MB/s", "peak MB", "planted tokens"]
    right = [False, True, True, True, True, True, True, False]
    if not scenario.has_rate:
        del titles[5], right[5]
    print_table(titles, [line_of(row, ours, scenario) for row in rows], right)


def print_targets(targets, results, is_quick):
    print("\n### Targets\n")
    if not targets:
        print("None was measured: weir took no part.")
        return
    if is_quick:
        print("A quick run: its figures say that the benchmark works and nothing more.\n")
    if any(is_disturbed(rows) for rows in results.values()):
        print("Others kept the processors busy meanwhile.\n")
    lines = []
    for target in targets:
        value = format_spread(target["value"], 3) if target["value"] else ""
        lines.append([target["text"], value, f"{target['bound']} {target['limit']:.3g}",
                      target["verdict"]])
    print_table(["target", "measured", "to be", ""], lines, [False, True, True, False])


# ---- targets ----

def is_met(value, bound, limit):
    if bound == "at least":
        return value["median"] >= limit
    return value["median"] <= limit if bound == "at most" else value["greatest"] < limit


def target(text, value, bound, limit, why="not measured"):
    verdict = ("reached" if is_met(value, bound, limit) else "missed") if value else why
    return {"text": text, "value": value, "bound": bound, "limit": limit, "verdict": verdict}


def best_of(rows):
    """The fastest of those that find at least half of what is to be found."""
    peers = [r for r in rows if r.kind == "peer" and has_figures(r)
             and 2 * r.found >= len(r.material.planted)]
    return min(peers, key=lambda r: statistics.median(r.samples["cpu_s"]), default=None)


def tree_targets(rows, ours):
    yield target("tree: CPU of weir scan, s", ours and spread(ours.samples["cpu_s"]), "at most",
                 TREE_CPU_S_MAX)
    best = best_of(rows)
    name = f"the best peer ({best.title})" if best else "the best peer"
    value = ratios(best, ours, "cpu_s") if best and ours else None
    yield target(f"tree: CPU, {name} / weir", value, "at least", TREE_PEER_RATIO_MIN,
                 "not measured" if best else "no peer that finds half of the tokens is installed")


def dense_targets(rows, ours):
    for row in rows:
        if row.material.matches:
            value = ratios(row, ours, "cpu_s") if ours and has_figures(row) else None
            yield target(f"dense: CPU, {row.title} / source code", value, "at most",
                         DENSE_RATIO_MAX)


def targets_of(name, rows):
    ours = ours_of(rows)
    if name == "tree":
        yield from tree_targets(rows, ours)
    elif name == "dense":
        yield from dense_targets(rows, ours)
    elif name == "start":
        yield target("start: CPU of weir scan, ms", ours and scaled(ours.samples["cpu_s"], "ms"),
                     "at most", START_MS_MAX)
    elif name == "staged":
        yield target("staged: CPU of weir scan --staged, ms",
                     ours and scaled(ours.samples["cpu_s"], "ms"), "below", STAGED_MS_MAX)
    elif name == "text":
        yield target("text: weir scan, MB/s of CPU", ours and spread(ours.samples["mb_s"]),
                     "at least", TEXT_MB_S_MIN)
    elif name == "memory":
        yield target("memory: peak of weir scan --max-memory=256M, MB",
                     ours and spread(ours.samples["rss_mb"]), "below", MEMORY_MB_MAX)


def find_targets(results):
    """results: {scenario name: rows}. None if weir took no part."""
    if not any(r.kind == "weir" for rows in results.values() for r in rows):
        return []
    return [t for name, rows in results.items() for t in targets_of(name, rows)]


# ---- JSON ----

def print_json(facts, is_quick, rounds, scenarios, results, materials, targets, notes):
    tables = [{"name": s.name, "title": s.title, "files": sums_of(materials[s.name])[0],
               "bytes": sums_of(materials[s.name])[1], "planted": len(materials[s.name].planted),
               "rows": [{"contender": r.title, "kind": r.kind, "problem": r.problem,
                         "found": r.found, **r.samples} for r in results[s.name]]}
              for s in scenarios if s.name in results]
    print(json.dumps({**facts, "is_quick": is_quick, "rounds": rounds, "notes": notes,
                      "scenarios": tables, "targets": targets}, indent=1))
