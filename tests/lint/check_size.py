"""Files and functions stay short enough to be read at one sitting."""
FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 70


def check(tree):
    names = tree.matching(r"src/.*\.[ch]")
    yield f"no file in src is over {FILE_LINES_MAX} lines", [
        f"{name}: {count} lines" for name in names
        if (count := len(tree.text(name).splitlines())) > FILE_LINES_MAX]
    problems = []
    for name in names:
        for first, count, title in functions(tree.code(name).splitlines()):
            if count > FUNCTION_LINES_MAX:
                problems.append(f"{name}:{first}: '{title}' has {count} lines")
    yield f"no function in src is over {FUNCTION_LINES_MAX} lines", problems


def functions(lines):
    """(line, lines, head) of each function. The layout is checked, so that a body begins with a
    brace alone in the first column and ends with the next one there."""
    begin = None
    for number, line in enumerate(lines, 1):
        if line.rstrip() == "{" and begin is None:
            begin = number
        elif line.startswith("}") and begin is not None:
            yield begin, number - begin + 1, head(lines, begin)
            begin = None


def head(lines, begin):
    """The name of the function whose body begins there."""
    for line in reversed(lines[max(0, begin - 6):begin - 1]):
        if line and not line[0].isspace() and "(" in line:
            return line.split("(")[0].split()[-1].lstrip("*")
    return "?"
