"""A room uses what is below it, never what is above or beside it.

    core <- base <- {copy, scan, store, http} <- daemon <- {storage, index} <- cli

Checked twice: by the #include lines, and by the symbols of what was built, whatever they are called.
Core's own headers and its weir__ symbols are core's alone; everybody else uses <weir/...>. What a
room defines for others begins with weir_, or in the program with the name of the part that it
belongs to, so that it cannot meet a name of somebody who links the library.
"""
import re

from tree import run

CORE = ["core"]
BASE = CORE + ["base"]
LIBRARIES = BASE + ["copy", "scan", "store", "http"]
USES = {
    "core": [],
    "base": CORE,
    "copy": BASE,
    "scan": BASE,
    "store": BASE,
    "http": BASE,
    "daemon": BASE + ["store", "http"],
    "storage": LIBRARIES + ["daemon"],
    "index": LIBRARIES + ["daemon"],
    "cli": LIBRARIES + ["daemon", "storage", "index"],
}
# The explorer's shim, which exists in the explorer's build of core only.
SHIMS = {("src/core/atomic.h", "xp_shim.h")}
PREFIXES = {"cli": re.compile(r"(weir_|cmd_|usage_|demo_)\w|main$")}
PREFIX_DEFAULT = re.compile(r"weir_\w")
# What compilers and sanitizers add by themselves.
MADE = re.compile(r"__|_Z|_GLOBAL_|\.|DW\.ref\.")
LIBC = re.compile(r"libc\.so\.6|ld-linux.*|libpthread\.so\.0|libgcc_s\.so\.1")


def check(tree):
    yield "every folder of src is a known room", strange_rooms(tree)
    yield "no #include reaches up or sideways", bad_includes(tree)
    if tree.build:
        yield "every room is a library of its own", missing_libraries(tree)
        tables = symbol_tables(tree)
        yield "no symbol reaches up or sideways", bad_symbols(tables)
        yield "every global symbol has its prefix", bad_prefixes(tables)
        yield "libweir needs libc alone", foreign_libraries(tree)


def room_of(name):
    return name.split("/")[1]


def source_names(tree):
    return tree.matching(r"src/[^/]+/.*\.(c|h|cc|cpp)")


def strange_rooms(tree):
    rooms = {room_of(n) for n in source_names(tree)}
    return [f"src/{room}: not in the order of rooms" for room in sorted(rooms - set(USES))]


def resolve(tree, name, header):
    """The repository's file that an #include means, or None: it is then the system's."""
    here, known = name.rsplit("/", 1)[0], set(tree.names())
    parts = []
    for part in f"{here}/{header}".split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    room = room_of(name)
    for candidate in ("/".join(parts), f"src/{room}/{header}", f"src/{header}",
                      f"include/{header}"):
        if candidate in known:
            return candidate
    others = [n for n in known if n.startswith("src/") and n.endswith("/" + header)]
    return min(others) if others else None


def bad_includes(tree):
    problems = []
    for name in source_names(tree):
        room = room_of(name)
        for number, kind, header in tree.includes(name):
            fault = include_fault(tree, name, room, kind, header)
            if fault:
                problems.append(f"{name}:{number}: '{header}': {fault}")
    return problems


def include_fault(tree, name, room, kind, header):
    if kind == "<" and header.startswith("weir/"):
        return None
    target = resolve(tree, name, header)
    if target is None:
        is_stray = room == "core" and kind == '"' and (name, header) not in SHIMS
        return "core includes its own headers and <weir/...> only" if is_stray else None
    if kind == "<" and "/" not in header:
        return None  # a system header that happens to share its name with one of ours
    if target.startswith("include/"):
        return "public headers are included as <weir/...>"
    if not target.startswith("src/"):
        return f"'{target}' is outside of src"
    other = room_of(target)
    if other == room:
        return None
    if other == "core":
        return "core's own header; use <weir/...>"
    if other not in USES.get(room, []):
        return f"{room} may not use {other}"
    return None


def archive_of(tree, room):
    """The library of a room: the archive of its name in its build folder; of core, libweir."""
    archive = tree.build / "src" / room / f"lib{'weir' if room == 'core' else room}.a"
    return archive if archive.exists() else None


def rooms_with_code(tree):
    return sorted({room_of(n) for n in source_names(tree) if not n.endswith(".h")} & set(USES))


def missing_libraries(tree):
    missing = [f"src/{room}: no static library in the build folder"
               for room in rooms_with_code(tree) if room != "cli" and not archive_of(tree, room)]
    if "cli" in rooms_with_code(tree) and not objects_of_cli(tree):
        missing.append("src/cli: no object in the build folder")
    return missing


def objects_of_cli(tree):
    """Objects of the program whose source is still there; ninja leaves old ones lying about."""
    objects = []
    for path in sorted((tree.build / "src" / "cli").glob("*.p/*.o")):
        if f"src/cli/{path.name[:-2]}" in tree.names():
            objects.append(path)
    return objects


def symbol_tables(tree):
    """room -> (defined, undefined) names."""
    tables = {}
    for room in rooms_with_code(tree):
        archive = archive_of(tree, room)
        files = objects_of_cli(tree) if room == "cli" else [archive] if archive else []
        if files:
            tables[room] = read_symbols(files)
    return tables


def read_symbols(files):
    _, said = run("nm", "-A", "-P", "-g", *files)
    defined, undefined = set(), set()
    for line in said.splitlines():
        match = re.search(r": (\S+) ([A-Za-z])\b", line)
        if match and not MADE.match(match.group(1)):
            (undefined if match.group(2) in "Uvw" else defined).add(match.group(1))
    return defined, undefined - defined


def bad_prefixes(tables):
    return [f"{room}: '{symbol}' is global and has no prefix; make it static, or weir__{symbol}"
            for room, (defined, _) in sorted(tables.items()) for symbol in sorted(defined)
            if not PREFIXES.get(room, PREFIX_DEFAULT).match(symbol)]


def bad_symbols(tables):
    problems = []
    if not tables.get("core", (set(), set()))[0]:
        problems.append("core: its library defines no weir_ symbol")
    for room, (_, undefined) in sorted(tables.items()):
        for symbol in sorted(undefined):
            homes = [r for r, (defined, _) in sorted(tables.items()) if symbol in defined]
            if not homes and not symbol.startswith("weir_"):
                continue  # a function of the C library
            if not any(r in USES[room] for r in homes):
                home = f"of {homes[0]}" if homes else "that no room defines"
                problems.append(f"{room}: uses '{symbol}' {home}")
            elif homes == ["core"] and symbol.startswith("weir__"):
                problems.append(f"{room}: uses '{symbol}', which is core's own")
    return problems


def foreign_libraries(tree):
    shared = sorted((tree.build / "src" / "core").glob("libweir.so*"))
    shared = [s for s in shared if s.is_file() and not s.name.endswith((".p", ".symbols"))]
    if not shared:
        return ["src/core: no shared library in the build folder"]
    _, said = run("readelf", "-d", shared[0])
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", said)
    return [f"{shared[0].name}: needs '{n}'" for n in needed if not LIBC.fullmatch(n)]
