#!/usr/bin/env python3
"""Whether GitLab would take a report of secret detection: check_gitlab.py REPORT

What its schema 15.0.7 (secret-detection-report-format.json, which no package has) asks of the members
that ours have.
"""
import json
import re
import sys

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def is_text(value, longest=None):
    return isinstance(value, str) and value != "" and (longest is None or len(value) <= longest)


def check_tool(tool, where):
    for name in ("id", "name", "version"):
        if not is_text(tool[name]):
            yield f"{where}.{name}"
    if not is_text(tool["vendor"]["name"]):
        yield f"{where}.vendor.name"


def check_scan(scan):
    yield from check_tool(scan["analyzer"], "scan.analyzer")
    yield from check_tool(scan["scanner"], "scan.scanner")
    for name in ("start_time", "end_time"):
        if not TIME.fullmatch(scan[name]):
            yield f"scan.{name}: {scan[name]!r}"
    if scan["type"] != "secret_detection" or scan["status"] not in ("success", "failure"):
        yield "scan.type or scan.status"
    for message in scan["messages"]:
        if message["level"] not in ("info", "warn", "fatal") or not is_text(message["value"]):
            yield f"scan.messages: {message}"


def check_vulnerability(one):
    if not is_text(one["id"]) or not is_text(one["name"], 255):
        yield "id or name"
    if not isinstance(one["description"], str) or len(one["description"]) > 1048576:
        yield "description"
    if one["severity"] not in ("Info", "Unknown", "Low", "Medium", "High", "Critical"):
        yield "severity"
    if not one["identifiers"]:
        yield "no identifiers"
    for identifier in one["identifiers"]:
        if not all(is_text(identifier[name]) for name in ("type", "name", "value")):
            yield f"identifiers: {identifier}"
    location = one["location"]
    if not is_text(location["commit"]["sha"]) or not isinstance(location["file"], str):
        yield "location"
    if not all(isinstance(location[name], int) for name in ("start_line", "end_line")):
        yield "lines of location"


def check(report):
    if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", report["version"]):
        yield "version"
    yield from check_scan(report["scan"])
    ids = [one["id"] for one in report["vulnerabilities"]]
    if len(set(ids)) != len(ids):
        yield "an id stands twice"
    for one in report["vulnerabilities"]:
        yield from (f"vulnerability: {problem}" for problem in check_vulnerability(one))


def main(path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    try:
        problems = list(check(report))
    except (KeyError, TypeError) as error:
        problems = [f"lacks {error}"]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
