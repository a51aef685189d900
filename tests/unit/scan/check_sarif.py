#!/usr/bin/env python3
"""Checks SARIF files against the schema of SARIF 2.1.0 and prints TAP: check_sarif.py FILE...

The table holds what the schema says of every object that our reports have: the members that it
allows, those that it requires, and the type of each. An object that is not in the table, and a
member that the schema does not know, are failures. What the schema leaves to the text of the standard
and readers rely on is checked behind it: indices that point somewhere, regions that do not end before
they begin, URIs.
"""
import json
import re
import sys

NAME = "[string]"  # a dictionary of strings
BAG = "{bag}"      # a property bag

# object: (required, one of these is required, members). A type ends with "[]" for an array and "[!]"
# for one without duplicates; "int>=1" has a minimum, "a|b" is a choice of words.
LEVEL = "none|note|warning|error"
OBJECTS = {
    "log": (["version", "runs"], [], {
        "$schema": "uri", "version": "2.1.0|", "runs": "run[]",
        "inlineExternalProperties": None, "properties": BAG}),
    "run": (["tool"], [], {
        "tool": "tool", "invocations": "invocation[]", "results": "result[]",
        "columnKind": "utf16CodeUnits|unicodeCodePoints", "properties": BAG,
        "redactionTokens": "string[!]", "defaultEncoding": "string", "language": "string"}),
    "tool": (["driver"], [], {"driver": "component", "extensions": None, "properties": BAG}),
    "component": (["name"], [], {
        "name": "string", "version": "string", "semanticVersion": "string", "fullName": "string",
        "organization": "string", "product": "string", "informationUri": "uri",
        "downloadUri": "uri", "rules": "descriptor[!]", "notifications": "descriptor[!]",
        "properties": BAG}),
    "descriptor": (["id"], [], {
        "id": "string", "name": "string", "shortDescription": "format", "fullDescription": "format",
        "help": "format", "helpUri": "uri", "defaultConfiguration": "configuration",
        "properties": BAG}),
    "configuration": ([], [], {
        "enabled": "bool", "level": LEVEL, "rank": "number", "parameters": BAG,
        "properties": BAG}),
    "format": (["text"], [], {"text": "string", "markdown": "string", "properties": BAG}),
    "message": ([], ["text", "id"], {
        "text": "string", "markdown": "string", "id": "string", "arguments": "string[]",
        "properties": BAG}),
    "invocation": (["executionSuccessful"], [], {
        "executionSuccessful": "bool", "toolExecutionNotifications": "notification[]",
        "toolConfigurationNotifications": "notification[]", "exitCode": "int",
        "exitCodeDescription": "string", "commandLine": "string", "arguments": "string[]",
        "properties": BAG}),
    "notification": (["message"], [], {
        "message": "message", "level": LEVEL, "locations": "location[!]", "properties": BAG}),
    "result": (["message"], [], {
        "message": "message", "ruleId": "string", "ruleIndex": "int>=-1", "level": LEVEL,
        "kind": "notApplicable|pass|fail|review|open|informational", "locations": "location[]",
        "relatedLocations": "location[!]", "partialFingerprints": NAME, "fingerprints": NAME,
        "occurrenceCount": "int>=1", "rank": "number", "properties": BAG}),
    "location": ([], [], {
        "id": "int>=-1", "physicalLocation": "physical", "message": "message",
        "properties": BAG}),
    "physical": ([], ["artifactLocation", "address"], {
        "artifactLocation": "artifact", "region": "region", "contextRegion": "region",
        "address": None, "properties": BAG}),
    "artifact": ([], [], {
        "uri": "reference", "uriBaseId": "string", "index": "int>=-1", "description": "message",
        "properties": BAG}),
    "region": ([], [], {
        "startLine": "int>=1", "startColumn": "int>=1", "endLine": "int>=1", "endColumn": "int>=1",
        "charOffset": "int>=-1", "charLength": "int>=0", "byteOffset": "int>=-1",
        "byteLength": "int>=0", "snippet": "content", "message": "message", "properties": BAG}),
    "content": ([], [], {
        "text": "string", "binary": "string", "rendered": "format", "properties": BAG}),
}
URI_SIGNS = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def check(value, kind, where):
    """Yields what is wrong."""
    if kind is None:
        yield f"{where}: not known here"
    elif kind.endswith("[]") or kind.endswith("[!]"):
        yield from check_array(value, kind, where)
    elif kind in OBJECTS:
        yield from check_object(value, kind, where)
    elif kind == BAG:
        if not isinstance(value, dict):
            yield f"{where}: not an object"
        elif "tags" in value:
            yield from check_array(value["tags"], "string[!]", where + ".tags")
    elif kind == NAME:
        for key, text in value.items() if isinstance(value, dict) else [("", None)]:
            yield from check(text, "string", f"{where}.{key}")
    else:
        yield from check_simple(value, kind, where)


def check_array(value, kind, where):
    if not isinstance(value, list):
        yield f"{where}: not an array"
        return
    if kind.endswith("[!]"):
        texts = [json.dumps(item, sort_keys=True) for item in value]
        if len(set(texts)) != len(texts):
            yield f"{where}: has duplicates"
    for number, item in enumerate(value):
        yield from check(item, kind[:kind.index("[")], f"{where}[{number}]")


def check_object(value, kind, where):
    required, any_of, members = OBJECTS[kind]
    if not isinstance(value, dict):
        yield f"{where}: not an object"
        return
    for key in required:
        if key not in value:
            yield f"{where}: has no {key}"
    if any_of and not any(key in value for key in any_of):
        yield f"{where}: has none of {any_of}"
    for key, item in value.items():
        if key not in members:
            yield f"{where}: must not have {key}"
        else:
            yield from check(item, members[key], f"{where}.{key}")


def check_simple(value, kind, where):
    if kind.startswith("int"):
        least = int(kind[5:]) if ">=" in kind else None
        good = isinstance(value, int) and not isinstance(value, bool)
        good = good and (least is None or value >= least)
    elif kind == "bool":
        good = isinstance(value, bool)
    elif kind == "number":
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
    elif "|" in kind:
        good = value in kind.split("|")
    else:
        good = isinstance(value, str)
        if good and kind in ("uri", "reference"):
            good = URI_SIGNS.fullmatch(value) is not None
            good = good and (kind == "reference" or SCHEME.match(value) is not None)
    if not good:
        yield f"{where}: {value!r} is not {kind}"


def check_meaning(log):
    for run in log["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"].get("rules", [])]
        if len(set(rules)) != len(rules):
            yield "a rule stands twice"
        for number, result in enumerate(run.get("results", [])):
            index = result.get("ruleIndex", -1)
            if not (0 <= index < len(rules) and rules[index] == result["ruleId"]):
                yield f"result {number}: ruleIndex does not lead to {result['ruleId']!r}"
            if not result.get("partialFingerprints"):
                yield f"result {number}: no fingerprint"
            if len(result["locations"]) != 1:
                yield f"result {number}: not one location"
            for location in result["locations"] + result.get("relatedLocations", []):
                yield from check_place(location["physicalLocation"], f"result {number}")
            yield from check_text(result["message"]["text"], f"result {number}")


def check_place(place, where):
    uri = place["artifactLocation"]["uri"]
    is_absolute = SCHEME.match(uri) is not None
    if is_absolute == ("uriBaseId" in place["artifactLocation"]) or uri.startswith("/"):
        yield f"{where}: {uri!r} and its base do not fit"
    region = place.get("region", {})
    if "startLine" in region:
        begin = (region["startLine"], region.get("startColumn", 1))
        end = (region.get("endLine", begin[0]), region.get("endColumn", begin[1]))
        if end < begin:
            yield f"{where}: ends before it begins"


def check_text(text, where):
    """No link and no blank to be filled in."""
    if re.search(r"(?<!\\)(?:\\\\)*\[[^\]]*\]\(", text):
        yield f"{where}: a link in {text!r}"
    if re.search(r"\{\d+\}", text.replace("{{", "").replace("}}", "")):
        yield f"{where}: a blank in {text!r}"


def problems_of(name):
    with open(name, encoding="utf-8") as file:
        log = json.load(file)
    problems = list(check(log, "log", "log"))
    return problems or list(check_meaning(log))


def main(names):
    failed = 0
    for number, name in enumerate(names, 1):
        problems = problems_of(name)
        failed += bool(problems)
        for problem in problems[:20]:
            print(f"# {problem}")
        print(f"{'not ok' if problems else 'ok'} {number} - {name.rsplit('/', 1)[-1]} is SARIF 2.1.0")
    print(f"1..{len(names)}")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
