#!/usr/bin/python3
"""The blocks of code of a document: doc_blocks.py DOCUMENT FOLDER

Each becomes FOLDER/N.LANGUAGE, N = 1, 2, 3, ... Of a pipeline (a workflow of GitHub, a job of GitLab)
the commands of each job become FOLDER/N.sh beside it: as written, since that is how they are run.
"""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

import schema  # noqa: E402

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def commands_of(value):
    for job in value.get("jobs", {}).values():
        yield from (step["run"] for step in job["steps"] if "run" in step)
    for job in value.values():
        if isinstance(job, dict):
            yield from job.get("script", [])


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def main(document, folder):
    with open(document, encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    for number, (language, text) in enumerate(blocks, 1):
        write(folder, f"{number}.{language}", text)
        if language == "yaml":
            commands = list(commands_of(schema.read_yaml(text)))
            if commands:
                write(folder, f"{number}.sh", "\n".join(commands) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except schema.Unknown as reason:
        print(reason)
        sys.exit(schema.CANNOT_SAY)
