#!/usr/bin/python3
"""Judges JSON and YAML files by a JSON schema: schema.py SCHEMA FILE...

Prints what is wrong with each file. Ends with 0 if nothing is, with 1 if something is, and with 77 and
the reason if that cannot be said: the schema is not there (script/setup gets it, where npm is there),
or a module of Python is not. The interpreter is Debian's, which has the modules that script/packages
names.

Formats (uri, date-time, ...) are not judged: that would need more modules than it is worth.
"""
import json
import os
import re
import sys

SHOWN_MAX = 20
CANNOT_SAY = 77


class Unknown(Exception):
    """Why nothing can be said."""


def validator_of(path):
    try:
        import jsonschema
    except ImportError as error:
        raise Unknown("python3 has no module 'jsonschema'") from error
    if not os.path.exists(path):
        raise Unknown(f"'{os.path.basename(path)}' is not there: npm could not get it")
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def read(path):
    with open(path, encoding="utf-8") as file:
        if not path.endswith((".yml", ".yaml")):
            return json.load(file)
        return read_yaml(file)


def read_yaml(text):
    """As YAML 1.2 has it, where "on" is a word and no truth."""
    try:
        import yaml
    except ImportError as error:
        raise Unknown("python3 has no module 'yaml'") from error

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {
            sign: [(tag, form) for tag, form in forms if tag != "tag:yaml.org,2002:bool"]
            for sign, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()}

    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("true|false"), list("tf"))
    return yaml.load(text, Loader)


def problems_of(validator, value):
    """In words, with the place."""
    for error in validator.iter_errors(value):
        place = "/".join(str(part) for part in error.absolute_path) or "the whole"
        yield f"{place}: {error.message[:400]}"


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    is_good = True
    try:
        validator = validator_of(arguments[0])
        for path in arguments[1:]:
            problems = list(problems_of(validator, read(path)))
            is_good = is_good and not problems
            for problem in problems[:SHOWN_MAX]:
                print(f"{os.path.basename(path)}: {problem}")
    except Unknown as reason:
        print(reason)
        return CANNOT_SAY
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
