#!/usr/bin/python3
"""Checks SARIF files and prints TAP: check_sarif.py SCHEMA FILE...

Two points for each: that the schema of SARIF 2.1.0 takes it, skipped where the schema is not there, and
that it keeps what the schema leaves to the text of the standard and readers rely on: indices that point
somewhere, locations that differ, regions that do not end before they begin, messages without links and
blanks, and URIs, whose form a schema only names.
"""
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))

import schema  # noqa: E402

SHOWN_MAX = 20
URI_SIGNS = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def check_log(log):
    """Yields what is wrong."""
    if not SCHEME.match(log["$schema"]):
        yield "$schema is no URI"
    for run in log["runs"]:
        yield from check_run(run)


def check_run(run):
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    if rules != sorted(set(rules)):
        yield "rules are not in order, or one stands twice"
    used = set()
    for number, result in enumerate(run["results"]):
        where, index = f"result {number}", result["ruleIndex"]
        used.add(result["ruleId"])
        if not 0 <= index < len(rules) or rules[index] != result["ruleId"]:
            yield f"{where}: ruleIndex does not lead to {result['ruleId']!r}"
        if not result["partialFingerprints"]:
            yield f"{where}: no fingerprint"
        if len(result["locations"]) != 1:
            yield f"{where}: not one location"
        yield from check_locations(result, where)
        yield from check_text(result["message"]["text"], where)
    if used != set(rules):
        yield "there are other rules than those of the results"
    for invocation in run["invocations"]:
        yield from check_invocation(invocation)


def check_locations(result, where):
    related = result.get("relatedLocations", [])
    if [location["id"] for location in related] != list(range(1, len(related) + 1)):
        yield f"{where}: ids of locations are not 1, 2, 3, ..."
    if result["occurrenceCount"] < 1 + len(related):
        yield f"{where}: more locations than occurrences"
    for location in result["locations"] + related:
        yield from check_place(location["physicalLocation"], where)


def check_place(place, where):
    yield from check_address(place["artifactLocation"], where)
    region = place.get("region", {})
    if "startLine" in region:
        begin = (region["startLine"], region.get("startColumn", 1))
        end = (region.get("endLine", begin[0]), region.get("endColumn", begin[1]))
        if end < begin:
            yield f"{where}: ends before it begins"


def check_address(artifact, where):
    uri = artifact["uri"]
    is_absolute = SCHEME.match(uri) is not None
    if not URI_SIGNS.fullmatch(uri) or not uri:
        yield f"{where}: {uri!r} is no URI"
    if is_absolute == ("uriBaseId" in artifact) or uri.startswith("/"):
        yield f"{where}: {uri!r} and its base do not fit"


def check_invocation(invocation):
    notifications = invocation["toolExecutionNotifications"]
    if invocation["executionSuccessful"] != (not notifications):
        yield "a run is complete when there is nothing to notify, and only then"
    for number, notification in enumerate(notifications):
        where = f"notification {number}"
        yield from check_text(notification["message"]["text"], where)
        for location in notification.get("locations", []):
            yield from check_address(location["physicalLocation"]["artifactLocation"], where)


def check_text(text, where):
    """No link and no blank to be filled in."""
    if re.search(r"(?<!\\)(?:\\\\)*\[[^\]]*\]\(", text):
        yield f"{where}: a link in {text!r}"
    if re.search(r"\{\d+\}", text.replace("{{", "").replace("}}", "")):
        yield f"{where}: a blank in {text!r}"


class Points:
    def __init__(self):
        self.count, self.failed = 0, 0

    def tell(self, name, problems, skipped=""):
        self.count += 1
        self.failed += bool(problems)
        for problem in problems[:SHOWN_MAX]:
            print(f"# {problem}")
        print(f"{'not ok' if problems else 'ok'} {self.count} - {name}{skipped}")


def main(arguments):
    points, validator, why = Points(), None, ""
    try:
        validator = schema.validator_of(arguments[0])
    except schema.Unknown as reason:
        why = f" # SKIP {reason}"
    for path in arguments[1:]:
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            log = json.load(file)
        problems = list(schema.problems_of(validator, log)) if validator else []
        points.tell(f"{name}: the schema of SARIF 2.1.0 takes it", problems, why)
        try:
            problems = list(check_log(log))
        except (KeyError, TypeError, IndexError) as error:
            problems = [f"lacks what ours always have: {error!r}"]
        points.tell(f"{name}: it keeps what the schema cannot say", problems)
    print(f"1..{points.count}")
    return 1 if points.failed or not points.count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
