#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""conforms.py SCHEMA VERB: check that every JSON document on stdin is as the schema says of VERB."""

import json
import sys

import jsonschema


def documents(text):
    decoder = json.JSONDecoder()
    text = text.lstrip()
    while text:
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:].lstrip()


def main(path, verb):
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    if verb not in schema["definitions"]:
        sys.exit(f"the schema knows no verb {verb}")
    validator = jsonschema.Draft7Validator({**schema, "$ref": f"#/definitions/{verb}"})
    seen = 0
    for document in documents(sys.stdin.read()):
        seen += 1
        for error in validator.iter_errors(document):
            sys.exit(f"{verb}: /{'/'.join(map(str, error.absolute_path))}: {error.message}")
    if seen == 0:
        sys.exit(f"{verb}: no document")


main(*sys.argv[1:])
