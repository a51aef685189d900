"""Figures for people, as Markdown, and for machines, as JSON."""
import json
import statistics

from lib.report import (disturbance_of, format_spread, has_figures, is_disturbed, mount_of, ours_of,
                        print_table, ratios, rounds_text, spread)
from scenarios import BEST, MEMORY_MAX_MB, TARGETS

NOT_KEPT = {"owner": "owners", "mode": "file modes", "time": "file times",
            "time_ns": "nanoseconds of file times", "dir_mode": "directory modes",
            "dir_time": "directory times", "dir_time_ns": "nanoseconds of directory times"}


# ---- Markdown ----

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
    print(f"On {place}. {rounds_text(rounds)}"
          + ("; / weir is the median of the ratios to weir copy in each round: above 1, it took "
             "longer than weir" if ours else "") + ".\n")
    if is_disturbed(rows):
        print(disturbance_of(rows) + "\n")
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
    if any(is_disturbed(rows) for rows in results.values()):
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


def place_of(folder):
    return mount_of(folder.path) + (" in an image file" if folder.is_mounted else "")


def print_json(facts, is_quick, rounds, scenarios, results, kinds, targets, notes):
    tables = [{"name": s.name, "title": s.title, "file_system": kinds[s.name],
               "rows": [{"contender": r.contender.name, "kind": r.contender.kind,
                         "problem": r.problem, "not_kept": r.not_kept, **r.samples}
                        for r in results[s.name]]} for s in scenarios if s.name in results]
    print(json.dumps({**facts, "is_quick": is_quick, "rounds": rounds, "notes": notes,
                      "scenarios": tables, "targets": targets}, indent=1))
