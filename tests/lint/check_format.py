"""The layout of C files is what clang-format makes of them."""
from tree import run


def check(tree):
    names = tree.matching(r".*\.[ch]")
    if not names:
        yield "there are C files", ["no .c or .h file was found"]
        return
    _, said = run("clang-format", "--dry-run", "-Werror", "-style=file",
                  *(tree.root / n for n in names))
    prefix = str(tree.root) + "/"
    problems = [line.replace(prefix, "") for line in said.splitlines() if "error:" in line]
    if problems:
        files = sorted({p.split(":")[0] for p in problems})
        problems.append("cure: clang-format -i " + " ".join(files))
    elif said:
        problems = said.splitlines()
    yield f"clang-format agrees with {len(names)} files", problems
