"""What is copied, how, and by whom; and what is to be reached."""

KIB, GIB = 1024, 1024 ** 3
BLOCK = 4 * KIB


class Shape:
    """A tree, as bench-copy-tree makes it. Its name says whether two scenarios share it."""

    def __init__(self, name, chains, levels, files, size_min, size_max, tenth):
        self.name = name
        self.numbers = (chains, levels, files, size_min, size_max)
        self.tenth = tenth      # which of the numbers becomes a tenth with --quick

    def arguments(self, is_quick):
        numbers = list(self.numbers)
        for i in self.tenth if is_quick else ():
            numbers[i] //= 10
        return numbers

    def needs(self, is_quick):
        """(bytes, inodes) of one tree, blocks rounded up, the metadata of entries included."""
        chains, levels, files, size_min, size_max = self.arguments(is_quick)
        dirs = max(1, chains * levels)
        size = (size_min + size_max) // 2
        one = 0 if size_max == 0 else (size // BLOCK + 1) * BLOCK
        return dirs * files * (one + 512) + dirs * 2 * BLOCK, dirs * (files + 1) + 1


SMALL = Shape("small", 1000, 1, 100, KIB, 8 * KIB, (0,))
MEDIUM = Shape("medium", 100, 1, 100, 64 * KIB, 64 * KIB, (0,))
LARGE = Shape("large", 0, 0, 4, GIB, GIB, (3, 4))
HUGE = Shape("huge", 0, 0, 1, 4 * GIB, 4 * GIB, (3, 4))
WIDE = Shape("wide", 0, 0, 100_000, 0, 0, (2,))
DEEP = Shape("deep", 100, 50, 4, 100, 1000, (0,))


class Scenario:
    def __init__(self, name, title, shape, task="new", is_cold=False, on_tmpfs=False,
                 has_others=False, has_variants=False):
        self.name = name
        self.title = title
        self.shape = shape
        self.task = task
        self.is_cold = is_cold
        self.on_tmpfs = on_tmpfs
        self.has_others = has_others
        self.has_variants = has_variants

    def has(self, contender):
        if not contender.does(self.task):
            return False
        if contender.kind in ("other", "rare"):
            return self.has_others
        # A program to compare with is asked for, so it is everywhere.
        return contender.kind != "variant" or self.has_variants or "before" in contender.name


# Those that share a tree stand together, so that it is made once.
SCENARIOS = [
    Scenario("small", "100,000 files of 1 to 8 KiB in 1,000 directories, to a new directory, warm",
             SMALL, has_others=True, has_variants=True),
    Scenario("small-cold", "100,000 files of 1 to 8 KiB in 1,000 directories, to a new directory, "
             "after dropping the caches", SMALL, is_cold=True,
             has_others=True, has_variants=True),
    Scenario("existing", "the 100,000 files of small into directories that exist, warm", SMALL,
             task="into", has_variants=True),
    Scenario("again", "the 100,000 files of small with nothing to do, warm", SMALL, task="again",
             has_variants=True),
    Scenario("medium", "10,000 files of 64 KiB in 100 directories, warm", MEDIUM, has_others=True),
    Scenario("medium-cold", "10,000 files of 64 KiB after dropping the caches", MEDIUM,
             is_cold=True, has_others=True),
    Scenario("large", "4 files of 1 GiB, warm", LARGE, has_others=True),
    Scenario("huge", "one file of 4 GiB, warm", HUGE),
    Scenario("wide", "100,000 empty files in one directory, warm", WIDE),
    Scenario("deep", "100 chains of 50 directories with 4 files in each, warm", DEEP),
    Scenario("tmpfs", "100,000 files of 1 to 8 KiB in 1,000 directories, tmpfs to tmpfs", SMALL,
             on_tmpfs=True),
]

BEST = "the best peer"
MEMORY_MAX_MB = 64

# (scenario, peer, figure, at least): how many times of weir's wall or CPU seconds the peer takes.
TARGETS = [
    ("small", "cp -a", "wall_s", 2.5),
    ("small", "rsync -a", "wall_s", 3.4),
    ("small", "cpz", "wall_s", 1 / 1.2),
    ("existing", "cp -a", "wall_s", 1.8),
    ("existing", "rsync -a", "wall_s", 2.4),
    ("small-cold", "cp -a", "wall_s", 5),
    ("small-cold", "rsync -a", "wall_s", 3.3),
    ("small-cold", BEST, "wall_s", 1.7),
    ("medium", "cp -a", "wall_s", 2),
    ("medium-cold", "cp -a", "wall_s", 3),
    ("large", BEST, "wall_s", 1.0),
    ("again", "rsync -a", "wall_s", 3),
    ("small", "cp -a", "cpu_s", 1.0),
    ("existing", "cp -a", "cpu_s", 1.0),
    ("medium", "cp -a", "cpu_s", 1.0),
    ("large", "cp -a", "cpu_s", 1.0),
]
