"""Tables of the store and of overload, and what is to be reached."""
from lib.load import figure_of, named, ours_of, ratios, target
from lib.report import format_spread, print_table, rounds_text, spread

GET_TIMES = {"1 KiB": 1.4, "64 KiB": 1.4, "1 MiB": 1.5}     # CPU of nginx / ours, at least
PUT_TIMES = 15          # ours / a plain loop, at least
APPEND_TIMES = 1.5      # appending / ours, at most
OPEN_S_MAX = 5          # of ten million chunks
GOODPUT = 0.9           # with four times as many connections / of the peak, at least
HEALTH_MS_MAX = 50
MEMORY_TIMES = 1.5      # of its own, of ten times as many chunks / of so many, at most


def print_open(stores, rounds):
    """stores: {count: (how it was filled, rows)}"""
    print(f"\n### open: chunks of 1 KiB\n\nFilled through the store itself, 2,048 writes at once, "
          "every one of them durable; then opened as it was left, the index in the page cache, and "
          f"with the index removed. {rounds_text(rounds)}, but once for the largest without its "
          "index.\n")
    lines = []
    for count, (filled, rows) in stores.items():
        for row in rows:
            sample = row.samples
            lines.append([f"{count:,}", row.name, figure_of(row, "open_s", 3),
                          figure_of(row, "anon_kib", 1, 1.024e-3),
                          figure_of(row, "rss_kib", 1, 1.024e-3),
                          f"{sample['index_bytes'][-1] / 1e6:.1f}",
                          f"{count / filled['fill_s']:,.0f}"])
    print_table(["chunks", "", "s", "MB of its own", "MB with pages of files", "index, MB",
                 "filled, chunks a second"], lines, [True, False] + [True] * 5)


def print_overload(paces, room, found, rounds, seconds):
    """found: {way: {figure: samples}}"""
    print(f"\n### overload: {4 * room} connections where {room} saturate it\n\nGET of 1 KiB of "
          "objects of 1 MiB, all of which is hashed for each (storage.verify = always), and one PUT of "
          "64 KiB in ten. With "
          + ", ".join(f"{count}: {pace:.0f}" for count, pace in paces.items())
          + f" requests a second; server.max_inflight = {room} from there on. {seconds} s each: as many "
          "connections as there is room for, then four times as many, then as many again; the ratio is "
          f"to the mean of both. {rounds_text(rounds)}. Every answer was 2xx, or 429 with Retry-After; "
          "none was missing, none cut.\n")
    titles = {"peak_per_s": ("good ones a second, without the crowd", 0),
              "crowd_per_s": ("with it", 0), "ratio": ("ratio", 2),
              "refused_per_s": ("429 a second", 0),
              "peak_us": ("CPU of the service for a good one without it, us", 0),
              "crowd_us": ("with it, refusals included, us", 0),
              "peak_p99_ms": ("p99 of the good ones without it, ms", 1),
              "p99_ms": ("p99 with it, ms", 1), "max_ms": ("longest with it, ms", 1),
              "memory_mb": ("memory of its own before it, MB", 1),
              "grown_mb": ("more after it, MB", 1),
              "health_p99_ms": ("p99 of health during it, ms", 1),
              "health_max_ms": ("longest of health, ms", 1),
              "before_ms": ("p99 of one client before it, ms", 1),
              "after_ms": ("p99 in the second after it, ms", 1)}
    print_table(["who was refused asks again"] + list(found),
                [[title] + [format_spread(spread(samples[name]), decimals)
                            for samples in found.values()]
                 for name, (title, decimals) in titles.items()],
                [False] + [True] * len(found))


# ---- targets ----

def get_targets(name, rows, scenario):
    if scenario == "apart":
        name += ", load apart"
    ours, plain, cached = ours_of(rows), named(rows, "nginx"), named(rows, "nginx, open_file")
    if not plain:
        return
    yield target(f"GET of {name}: CPU, nginx / weir", ratios(plain, ours, "cpu_us"), "at least",
                 GET_TIMES[name.partition(",")[0]])
    yield target(f"GET of {name}: CPU, nginx with open_file_cache / weir",
                 ratios(cached, ours, "cpu_us"), "at least", 1)
    yield target(f"GET of {name}: a second, weir / nginx", ratios(ours, plain, "per_s"), "at least",
                 1)
    yield target(f"GET of {name}: p99, weir / nginx", ratios(ours, plain, "p99_ms"), "at most", 1)


def put_targets(rows):
    ours = ours_of(rows)
    loop = next(row for row in rows if row.name.endswith("loop"))
    append = named(rows, "append")
    yield target("PUT: a second, weir / a file for each in a plain loop",
                 ratios(ours, loop, "per_s"), "at least", PUT_TIMES)
    yield target("PUT: a second, append / weir", ratios(append, ours, "per_s"), "at most",
                 APPEND_TIMES)


def open_targets(stores):
    for count, (_, rows) in stores.items():
        if count >= 10_000_000:
            yield target(f"open of {count:,} chunks, s", spread(rows[0].samples["open_s"]),
                         "at most", OPEN_S_MAX)
    counts = sorted(stores)
    if len(counts) > 1:
        least, most = stores[counts[-2]][1][0], stores[counts[-1]][1][0]
        yield target(f"memory of its own: {counts[-1]:,} / {counts[-2]:,} chunks",
                     ratios(most, least, "anon_kib"), "at most", MEMORY_TIMES)


def overload_targets(found):
    for way, samples in found.items():
        yield target(f"overload, again {way}: goodput / peak", spread(samples["ratio"]), "at least",
                     GOODPUT)
        yield target(f"overload, again {way}: health, longest, ms", spread(samples["health_max_ms"]),
                     "at most", HEALTH_MS_MAX)
