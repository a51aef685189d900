"""Locks, atomics, futex, clock and sleep are touched in core's few files and nowhere else.

A raw mutex has no name and no rank, so the lock order cannot be checked; a raw atomic or clock
cannot be replaced by the explorer or the fake clock. Functions without bounds are banned
everywhere.
"""
import re

FUTEX = {"src/core/futex.c"}
ATOMIC = {"src/core/atomic.h"}
CLOCK = {"src/core/clock.c", "src/core/futex.c"}
THREAD = {"src/core/thread.c"}
MEMORY = {"src/core/memory.c", "src/base/alloc.c"}

# (what is forbidden, as a regular expression; where it is allowed; which files are meant; the cure)
READABLE = {"src/base/sys.h"}  # for a moment, so that a read need not wait
RULES = [
    (r"\bpthread_(mutex|cond|rwlock|spin|barrier)\w*", set(), "src/",
     "use <weir/lock.h> or a budget"),
    (r"<threads\.h>|\b(mtx|cnd)_\w+", set(), "src/", "use <weir/lock.h> or a budget"),
    (r"\bthrd_\w+|\btss_\w+\s*\(", set(), "src/", "use the crew"),
    (r"\bsem_(t|init|wait|timedwait|trywait|post|open|destroy)\b", set(), "src/",
     "use <weir/budget.h>"),
    (r"\bpthread_(create|join|kill|cancel)\b", THREAD, "src/", "use the crew"),
    (r"<stdatomic\.h>|\b_Atomic\b|\batomic_(load|store|fetch|exchange|compare)\w*", set(), "src/",
     "use src/core/atomic.h, in core alone"),
    (r"\b__(atomic|sync)_\w+", ATOMIC, "src/", "use src/core/atomic.h, in core alone"),
    (r"\b__ATOMIC_\w+", ATOMIC, "src/", "use src/core/atomic.h, in core alone"),
    (r"\bSYS_futex\b|\b__NR_futex\b|\bFUTEX_\w+|<linux/futex\.h>", FUTEX, "src/",
     "wait with a deadline, on a primitive of core"),
    (r"\b(clock_gettime|gettimeofday|timespec_get|time)\s*\(", CLOCK, "src/", "use weir_now_ns()"),
    (r"\b(nanosleep|clock_nanosleep|usleep|sleep)\s*\(", CLOCK, "src/",
     "use weir_deadline_sleep()"),
    (r"\b(p?poll|p?select|epoll_p?wait2?|sigtimedwait|sigwait|sigwaitinfo|pause)\s*\(", READABLE, "src/",
     "wait with a deadline, on a primitive of core"),
    (r"\b(malloc|calloc|realloc|reallocarray|aligned_alloc|strdup|strndup|v?asprintf|posix_memalign|memalign|free)\s*\(",
     MEMORY, "src/", "use weir__alloc() and weir__free() in core, src/base/alloc.h above it"),
    (r"\b(strcpy|strcat|stpcpy|sprintf|vsprintf|gets)\s*\(", set(), "src/",
     "use a function that knows the size"),
]


def check(tree):
    names = tree.matching(r"(src|include)/.*\.[ch]")
    code = {name: tree.code(name).splitlines() for name in names}
    for pattern, allowed, where, cure in RULES:
        problems = []
        for name in names:
            if name.startswith((where, "include/")) and name not in allowed:
                problems += search(pattern, name, code[name], cure)
        yield f"no {title(pattern)}", problems


def title(pattern):
    words = re.sub(r"\\[bws]|\\", "", pattern)
    return re.sub(r"[#*+]", "", words).strip()


def search(pattern, name, lines, cure):
    problems = []
    for number, line in enumerate(lines, 1):
        match = re.search(pattern, line)
        if match:
            problems.append(f"{name}:{number}: '{match.group(0).strip()}': {cure}")
    return problems
