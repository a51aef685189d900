"""What is scanned, how, and by whom; and what is to be reached."""


class Scenario:
    def __init__(self, name, title, material=None, task="paths", repeat=(1, 1), unit="s",
                 is_single=False, has_rate=False, kinds=("weir", "variant", "peer", "limit"),
                 is_rare=False, is_memory_summed=False, rounds=None, cases=(),
                 seconds_max=600):
        self.name = name
        self.title = title
        self.material = material or name    # of corpus.py
        self.task = task                    # of contenders.py
        self._repeat = repeat               # starts in one round; with --quick
        self.unit = unit                    # s or ms
        self.is_single = is_single          # one thread
        self.has_rate = has_rate
        self.kinds = kinds
        self.is_rare = is_rare              # only when it is named
        self.is_memory_summed = is_memory_summed
        self.rounds = rounds                # other than usual
        self.cases = cases                  # (case of the material, title): rows of one contender
        self._seconds_max = seconds_max     # for all starts of a round

    def repeat(self, is_quick):
        return self._repeat[1 if is_quick else 0]

    def seconds_max(self, is_quick):
        return self._seconds_max // 10 if is_quick else self._seconds_max

    def has(self, contender):
        if contender.kind not in self.kinds or not contender.does(self.task):
            return False
        return not contender.scenarios or self.name in contender.scenarios


SCENARIOS = [
    Scenario("tree", "a tree of source code", has_rate=True),
    Scenario("start", "one empty file: what starting takes", material="empty", repeat=(50, 10),
             unit="ms"),
    Scenario("staged", "one new file in a repository, waiting to be committed", task="staged",
             repeat=(20, 5), unit="ms"),
    Scenario("text", "one file of source code, one thread", is_single=True, has_rate=True),
    Scenario("small", "100,000 files of 200 to 2,000 bytes in 1,000 directories", has_rate=True),
    Scenario("dense", "a file that is all matches beside one of source code, one thread",
             is_single=True, has_rate=True, kinds=("weir",),
             cases=(("none", "source code"), ("near", "near misses"),
                    ("same", "one token over and over"),
                    ("distinct", "a token of its own in each line"))),
    Scenario("memory", "100 GB of sparse files and a million small ones, --max-memory 256M",
             task="memory", kinds=("weir",), is_rare=True, is_memory_summed=True, rounds=1,
             seconds_max=3600),
]

TREE_CPU_S_MAX = 0.15
TREE_PEER_RATIO_MIN = 4
START_MS_MAX = 10
STAGED_MS_MAX = 30
TEXT_MB_S_MIN = 500
DENSE_RATIO_MAX = 3
MEMORY_MB_MAX = 256

# Not measured here: what others took elsewhere, on another tree of about that size (18 MB in 4,449
# files, a machine of 2 cores), in CPU seconds. To know the order of magnitude, not to compare.
ELSEWHERE = (("noseyparker 0.24", 0.60), ("betterleaks 1.7", 1.33), ("gitleaks 8.30", 2.49),
             ("titus 1.1", 3.9), ("trufflehog 3.60", 6.5))
