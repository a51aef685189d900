"""Every primitive has its page, with the five sections, and a man page that mandoc accepts."""
import re
import shutil

from tree import run

NOT_PRIMITIVES = {"defs", "weir", "error", "clock", "deadline", "cancel", "lock", "histogram",
                  "fault", "turn", "vector"}
SECTIONS = ["properties", "operation", "safety", "cost", "rejected choices"]


def check(tree):
    headers = tree.matching(r"include/weir/[^/]+\.h")
    primitives = sorted({h.split("/")[-1][:-2] for h in headers} - NOT_PRIMITIVES)
    names = set(tree.names())
    yield "every primitive has a page in docs/core", [
        f"docs/core/{p}.md: missing" for p in primitives if f"docs/core/{p}.md" not in names]
    yield "every page has its five sections", [
        f"docs/core/{p}.md: no section '{section}'" for p in primitives
        if f"docs/core/{p}.md" in names for section in missing_sections(tree, p)]
    yield "every primitive has a man page", [
        f"man/weir_{p}.3: missing" for p in primitives if f"man/weir_{p}.3" not in names]
    problems = []
    for name in tree.matching(r"man/.*\.[1-8]"):
        status, said = run("mandoc", "-T", "lint", "-W", "warning", tree.root / name)
        if status:
            problems += said.replace(str(tree.root) + "/", "").splitlines()
    yield "mandoc accepts every man page", problems
    yield "man pages fit into 80 columns", too_wide(tree)
    yield "links between pages lead somewhere", bad_links(tree)


def too_wide(tree):
    """Lines that cannot be broken, which man warns of; by groff, where it is there."""
    problems = []
    for name in tree.matching(r"man/.*\.[1-8]") if shutil.which("groff") else []:
        _, said = run("groff", "-mdoc", "-Tutf8", "-rLL=78n", "-wbreak", "-z", tree.root / name)
        problems += said.replace(str(tree.root) + "/", "").splitlines()
    return problems


def missing_sections(tree, primitive):
    headings = re.findall(r"^#+\s+(.*)$", tree.text(f"docs/core/{primitive}.md"), re.M)
    titles = [h.strip().lower() for h in headings]
    return [s for s in SECTIONS if not any(t.startswith(s) for t in titles)]


def bad_links(tree):
    problems = []
    for name in tree.matching(r".*\.md"):
        folder = (tree.root / name).parent
        text = re.sub(r"```.*?```", "", tree.text(name), flags=re.S)
        for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
            if not re.match(r"[a-z]+:", target) and not (folder / target).exists():
                problems.append(f"{name}: link to '{target}', which is not there")
    return problems
