"""Each lint is shown a small tree with one fault and must name it, and the same tree without it."""
import importlib
import os
import pathlib
import subprocess
import tempfile

import check_rooms
import check_seeds
from tree import Tree

PUBLIC = """/* ok.h - a header.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_OK_H
#define WEIR_OK_H

int weir_ok(void);

#endif
"""
PAGE = "# ok\n## Properties\n## Operation\n## Safety\n## Cost\n## Rejected choices\n"
MAN = (".Dd January 1, 2026\n.Dt WEIR_OK 3\n.Os\n.Sh NAME\n.Nm weir_ok\n.Nd says yes\n"
       ".Sh DESCRIPTION\nIt says yes.\n")
SHELL = "#!/usr/bin/env bash\nset -euo pipefail\necho ok\n"
TEST = "static void says_yes(void)\n{\n}\nTEST(says_yes)\n"
MODEL = "/* ok.pml - says yes.\n *\n * holds: safety\n */\nbool never;\n"

# A page of seeds whose first row points at the code and the test of the tree below.
SEEDS_FIRST = ("| DS-01 | says yes | `src/core/ok.c:weir_ok()` | `tests/unit/test_ok.c:says_yes`, "
               "`models/ok.pml:safety` |")
SEEDS = check_seeds.smallest().replace("| DS-01 | [I-1] | `docs/seeds.md` | none |", SEEDS_FIRST)

# A tree that every lint accepts.
GOOD = {
    ".clang-format": "BasedOnStyle: LLVM\nIndentWidth: 4\nBreakBeforeBraces: Linux\n"
                     "AllowShortFunctionsOnASingleLine: None\n",
    "include/weir/ok.h": PUBLIC,
    "docs/core/ok.md": PAGE,
    "docs/seeds.md": SEEDS,
    "tests/unit/test_ok.c": TEST,
    "models/ok.pml": MODEL,
    "man/weir_ok.3": MAN,
    "script/go": SHELL,
    "src/core/ok.c": "#include <weir/ok.h>\n\nint weir_ok(void)\n{\n    return 1;\n}\n",
    "src/core/use.c": "int weir_ok(void);\n\nint use(void)\n{\n    return weir_ok();\n}\n",
    "src/base/buf.h": PUBLIC.replace("OK_H", "BASE_BUF_H"),
    "src/copy/go.c": '#include "base/buf.h"\n#include <weir/ok.h>\n',
}

LONG_BODY = "void f(void)\n{\n" + "    weir_ok();\n" * 80 + "}\n"
FAULTS = [
    ("format", "src/core/ok.c", "int   weir_ok( void ) { return 1; }\n", "src/core/ok.c"),
    ("rooms", "src/copy/go.c", '#include "../scan/find.h"\n', "copy may not use scan"),
    ("rooms", "src/copy/go.c", '#include "scan/find.h"\n', "copy may not use scan"),
    ("rooms", "src/base/up.c", '#include "http/serve.h"\n', "base may not use http"),
    ("rooms", "src/base/up.c", '#include "park.h"\n', "core's own header"),
    ("rooms", "src/base/up.c", '#include "../core/park.h"\n', "core's own header"),
    ("rooms", "src/core/up.c", '#include "../base/buf.h"\n', "core may not use base"),
    ("rooms", "src/core/up.c", '#include "elsewhere.h"\n', "its own headers"),
    ("rooms", "src/attic/old.c", "int old;\n", "src/attic: not in the order"),
    ("raw", "src/copy/go.c", "static pthread_mutex_t m;\n", "pthread_mutex_t"),
    ("raw", "src/copy/go.c", "pthread_cond_wait(&c, &m);\n", "pthread_cond_wait"),
    ("raw", "src/copy/go.c", "static sem_t s;\n", "sem_t"),
    ("raw", "src/copy/go.c", "#include <stdatomic.h>\n", "stdatomic"),
    ("raw", "src/core/ok.c", "__atomic_store_n(&x, 1, 0);\n", "__atomic_store_n"),
    ("raw", "src/core/ok.c", "syscall(SYS_futex, &x);\n", "SYS_futex"),
    ("raw", "src/core/ok.c", "clock_gettime(1, &t);\n", "clock_gettime"),
    ("raw", "src/copy/go.c", "sleep(1);\n", "sleep("),
    ("raw", "src/copy/go.c", "now = time(NULL);\n", "time("),
    ("raw", "src/copy/go.c", "poll(fds, 1, -1);\n", "poll("),
    ("raw", "src/copy/go.c", "ppoll(fds, 1, NULL, NULL);\n", "ppoll("),
    ("raw", "src/copy/go.c", "select(1, &r, NULL, NULL, NULL);\n", "select("),
    ("raw", "src/copy/go.c", "epoll_wait(fd, events, 1, -1);\n", "epoll_wait("),
    ("raw", "src/copy/go.c", "thrd_create(&t, f, NULL);\n", "thrd_create"),
    ("raw", "src/copy/go.c", "static thrd_t t;\n", "thrd_t"),
    ("raw", "src/copy/go.c", "static mtx_t m;\n", "mtx_t"),
    ("raw", "src/copy/go.c", "cnd_wait(&c, &m);\n", "cnd_wait"),
    ("raw", "src/copy/go.c", "#include <threads.h>\n", "threads.h"),
    ("raw", "src/core/ok.c", "p = malloc(1);\n", "malloc"),
    ("raw", "src/base/buf.c", "p = calloc(1, 1);\n", "calloc"),
    ("raw", "src/copy/go.c", "p = realloc(p, 1);\n", "realloc"),
    ("raw", "src/copy/go.c", "free(p);\n", "free("),
    ("raw", "src/copy/go.c", "sprintf(a, b);\n", "sprintf"),
    ("headers", "include/weir/ok.h", PUBLIC.replace("int weir_ok", "uint32_t weir_ok"), "alone"),
    ("headers", "include/weir/ok.h", PUBLIC.replace("int weir_ok(void)", "int weir_ok(int class)"),
     "alone"),
    ("headers", "include/weir/ok.h", PUBLIC.replace("Ownership", "Owner"), "Ownership"),
    ("headers", "src/base/buf.h", PUBLIC.replace("WEIR_OK_H", "WRONG_H"), "WEIR_BASE_BUF_H"),
    *(("speech", "docs/core/ok.md", f"{PAGE}see {path} there\n", "docs/core/ok.md:7")
      for path in ("/" "work", "`/" "work/x", "(/" "workspace/x", "/" "home/me/x", "'/" "root/x",
                   "/" "tmp/b-x", "../" "shared/x")),
    ("speech", "docs/core/ok.md", PAGE + "left for the next " "session\n", "next " "session"),
    ("speech", "src/copy/go.c", "/* TO" "DO: later */\n", "TO" "DO"),
    ("speech", "tests/lint/check_speech.py", "# written by Cla" "ude\n", "check_speech.py:1"),
    ("scripts", "script/go", SHELL + "if true; then\n", "script/go"),
    ("scripts", "script/go", SHELL.replace("set -euo pipefail\n", ""), "set -euo pipefail"),
    ("size", "src/copy/go.c", LONG_BODY, "'f' has 82 lines"),
    ("size", "src/copy/go.c", "int x;\n" * 701, "701 lines"),
    ("docs", "docs/core/ok.md", PAGE.replace("## Safety\n", ""), "no section 'safety'"),
    ("docs", "docs/core/ok.md", None, "docs/core/ok.md: missing"),
    ("docs", "man/weir_ok.3", None, "man/weir_ok.3: missing"),
    ("docs", "docs/core/ok.md", PAGE + "[x](nowhere.md)\n", "nowhere.md"),
]
# What is wrong with the page of seeds when the first text in it is replaced by the second.
SEEDS_FAULTS = [
    ("| ST-03 |", "| ST-02 |", "ST-02: on line"),
    ("| ST-03 |", "| ST-12 |", "ST-03 is missing"),
    ("| SD-01 |", "| XX-01 |", "no series 'XX'"),
    ("| none |", "| none | and more |", "5 cells, not 4"),
    ("| none |", "| |", "an empty cell"),
    ("| IX-14 | [I-14]", "| IX-14 | fairness", "no row for [I-14]"),
    ("| C-14 |", "| SD-02 |", "13 corrections, not 14"),
    ("| none |", "| somewhere |", "points at nothing"),
    ("| none |", "| `src/core/ok.c:weir_ok()` |", "has no test; if"),
    ("| none |", "| to come (soon) |", "does not name what brings it"),
    ("| none |", "| to come |", "does not name what brings it"),
    ("says yes", "says yes (C-99)", "refers to 'C-99'"),
    ("src/core/ok.c:weir_ok()", "src/core/gone.c:weir_ok()", "no 'src/core/gone.c'"),
    ("src/core/ok.c:weir_ok()", "src/core:weir_ok()", "'src/core' is a folder"),
    ("src/core/ok.c:weir_ok()", "src/core/ok.c:weir_no()", "has no 'weir_no()'"),
    ("src/core/ok.c:weir_ok()", "src/core/use.c:weir_ok()", "has no 'weir_ok()'"),
    ("src/core/ok.c:weir_ok()", "include/weir/ok.h:Ownership", "has no 'Ownership'"),
    ("src/core/ok.c:weir_ok()", "src/core/ok.c", "without the name of a function"),
    (":says_yes", ":says_no", "has no test 'says_no'"),
    (":says_yes", "", "without the name of a test"),
    ("ok.pml:safety", "ok.pml:never", "has no 'never'"),
    ("/test_ok.c:", "/test_no.c:", "no 'tests/unit/test_no.c'"),
]
# Headers that the faulty includes above lead to.
TARGETS = {name: "int a;\n" for name in ("src/scan/find.h", "src/http/serve.h", "src/core/park.h")}


def check(_tree):
    yield "a good tree has no fault", [
        f"{name}: {p}" for name in sorted({f[0] for f in FAULTS} | {"seeds"})
        for p in problems_of(name, GOOD)]
    for name, path, text, wanted in FAULTS:
        files = dict(GOOD, **(TARGETS if name == "rooms" else {}))
        files[path] = text
        found = problems_of(name, {k: v for k, v in files.items() if v is not None})
        is_found = any(wanted in problem for problem in found)
        yield f"{name} finds {wanted}", [] if is_found else [f"it said only {found}"]
    yield "memory may be allocated in the two files for it", problems_of("raw", dict(
        GOOD, **{"src/base/alloc.c": "p = malloc(1);\n", "src/core/memory.c": "p = malloc(1);\n"}))
    yield "a template of a temporary folder is no path of one machine", problems_of("speech", dict(
        GOOD, **{"tests/unit/test_ok.c": 'mkdtemp("/tmp/weir-XXXXXX");\n'}))
    yield "words in comments and strings are not code", problems_of("raw", dict(
        GOOD, **{"src/copy/go.c": '/* no sleep(1) here */ const char *s = "malloc(1) sem_t";\n'}))
    yield from check_symbols()
    yield from check_seeds_page()


def check_seeds_page():
    for old, new, wanted in SEEDS_FAULTS:
        found = problems_of("seeds", dict(GOOD, **{"docs/seeds.md": SEEDS.replace(old, new, 1)}))
        is_found = any(wanted in problem for problem in found)
        yield f"seeds finds {wanted}", [] if is_found else [f"it said only {found}"]
    for words in ("to come (copy): `src/copy/later.c`", "no test"):
        page = SEEDS.replace("| none |", f"| {words} |", 1)
        yield f"a row may say '{words}' for now", problems_of(
            "seeds", dict(GOOD, **{"docs/seeds.md": page}))
        found = list(check_seeds.check_closed(check_seeds.read_rows(page)))
        yield f"a closed page may not say '{words}'", [] if len(found) == 1 else [str(found)]


def problems_of(name, files):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
            if text.startswith("#!"):
                os.chmod(file, 0o755)
        results = importlib.import_module("check_" + name).check(Tree(folder))
        return [problem for _, problems in results for problem in problems]


def check_symbols():
    """The symbol check, on three small libraries made for it."""
    core = "int weir_ok(void) { return 1; } int weir__own(void) { return 2; }"
    cases = [
        ("a use of the public API is fine",
         "int weir_ok(void); int weir__go(void) { return weir_ok(); }", None),
        ("a use of the C library is fine", "int rand(void); int weir_go(void) { return rand(); }",
         None),
        ("a use of core's own symbol is found",
         "int weir__own(void); int weir_go(void) { return weir__own(); }", "core's own"),
        ("a use of a room beside is found",
         "int weir_scan(void); int weir_go(void) { return weir_scan(); }", "'weir_scan' of scan"),
        ("a use of a room above is found, without prefix too",
         "int demo_up(void); int weir_go(void) { return demo_up(); }", "'demo_up' of cli"),
        ("a use of what nobody defines is found",
         "int weir_gone(void); int weir_go(void) { return weir_gone(); }", "no room defines"),
        ("a global function without prefix is found", "int go(void) { return 1; }",
         "copy: 'go' is global"),
        ("a global variable without prefix is found", "int count;", "copy: 'count' is global"),
        ("a prefix of the program is not one of a library", "int demo_x(void) { return 1; }",
         "copy: 'demo_x' is global"),
        ("a static function needs no prefix",
         "static int go(void) { return 1; } int weir_go(void) { return go(); }", None),
    ]
    others = {"core": core, "scan": "int weir_scan(void) { return 3; }",
              "cli": "int demo_up(void) { return 4; } int cmd_a, usage_a; int main() { return 0; }"}
    for title, copy, wanted in cases:
        found = symbols_of(dict(others, copy=copy))
        is_right = any(wanted in f for f in found) if wanted else not found
        yield title, [] if is_right else [f"it said only {found}"]


def symbols_of(sources):
    with tempfile.TemporaryDirectory() as folder:
        tables = {}
        for room, text in sources.items():
            object_file = pathlib.Path(folder, room + ".o")
            subprocess.run(["gcc", "-w", "-x", "c", "-c", "-o", object_file, "-"], input=text,
                           text=True, check=True)
            tables[room] = check_rooms.read_symbols([object_file])
        return check_rooms.bad_symbols(tables) + check_rooms.bad_prefixes(tables)
