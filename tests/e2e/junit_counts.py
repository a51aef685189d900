#!/usr/bin/env python3
"""Whether a JUnit report counts what it has: junit_counts.py REPORT PLAIN

PLAIN becomes the same without the attribute "file" of tests, which GitLab and others read and the schema
of Jenkins does not know.
"""
import sys
import xml.etree.ElementTree as tree


def check(suites):
    """Yields what is wrong."""
    for suite in [suites, *suites.findall("testsuite")]:
        cases = list(suite.iter("testcase"))
        counted = {"tests": len(cases), "failures": len(list(suite.iter("failure"))),
                   "errors": len(list(suite.iter("error")))}
        for name, count in counted.items():
            if suite.get(name) != str(count):
                yield f"{suite.tag}: {name} is {suite.get(name)!r} and not {count}"
    if suites.find(".//testcase") is None:
        yield "no test, which many readers take for an error"
    for case in suites.iter("testcase"):
        if "file" not in case.attrib and case.get("classname") != "weir scan":
            yield f"{case.get('name')!r}: its file is not told"


def main(report, plain):
    root = tree.parse(report)
    problems = list(check(root.getroot()))
    for case in root.iter("testcase"):
        case.attrib.pop("file", None)
    root.write(plain, encoding="utf-8", xml_declaration=True)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
