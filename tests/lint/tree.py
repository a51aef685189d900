"""The tree under inspection: which files there are, and what their code is without comments."""
import pathlib
import re
import subprocess

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(match):
    """Keeps the line breaks, so that line numbers stay true; strings become empty ones."""
    text = match.group(0)
    if text[0] == "/":
        return " " + "\n" * text.count("\n")
    return text[0] * 2


class Tree:
    def __init__(self, source, build=None):
        self.root = pathlib.Path(source)
        self.build = pathlib.Path(build) if build else None
        self._names = None

    def names(self):
        """Paths of all files that belong to the repository, committed or about to be."""
        if self._names is None:
            self._names = sorted(self._from_git() or self._from_disk())
        return self._names

    def _from_git(self):
        """Nothing when this is no repository of its own, or git refuses to look at it."""
        if not (self.root / ".git").exists():
            return []
        answer = subprocess.run(
            ["git", "-C", str(self.root), "ls-files", "-z", "-co", "--exclude-standard"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if answer.returncode != 0:
            return []
        names = answer.stdout.decode("utf-8", "surrogateescape").split("\0")
        return [n for n in names if n and (self.root / n).is_file()]

    def _from_disk(self):
        names = []
        for path in self.root.rglob("*"):
            name = path.relative_to(self.root)
            is_made = name.parts[0].startswith("build") or name.parts[0] in (".git", ".cache")
            if path.is_file() and not is_made:
                names.append(str(name))
        return names

    def matching(self, pattern):
        return [n for n in self.names() if re.fullmatch(pattern, n)]

    def text(self, name):
        return (self.root / name).read_text("utf-8", "replace")

    def code(self, name):
        """The text of a C file with comments and the contents of strings taken out."""
        return TOKEN.sub(blank, self.text(name))

    def includes(self, name):
        """(line number, '<' or '"', header) for each #include."""
        found = []
        for number, line in enumerate(self.text(name).splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if match:
                found.append((number, match.group(1), match.group(2)))
        return found


def run(*command, stdin=""):
    """(exit status, what it said) of a command."""
    answer = subprocess.run([str(c) for c in command], input=stdin, text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return answer.returncode, answer.stdout
