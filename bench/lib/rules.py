"""What our rules are made of, which weir tells: for the limits, which search for it."""
import json
import subprocess

LITERALS = 300
LITERAL_MIN = 4


def evenly(items, count):
    """So many of them, from all over the list."""
    return [items[i * len(items) // count] for i in range(min(count, len(items)))]


def call(command):
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=False)
    if answer.returncode != 0:
        said = answer.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ValueError(said[-1] if said else f"'{command[0]}' failed")
    return json.loads(answer.stdout)


def rules_of(weir):
    return call([weir, "rules", "list", "--json"])


def words_of(rules):
    return sorted({word.lower() for rule in rules for word in rule["keywords"] if word})


def searchable(words):
    """So many of them that are long enough to be searched for, one in a line."""
    return evenly([w for w in words if len(w) >= LITERAL_MIN and "\n" not in w], LITERALS)
