#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What pages and schemas say of fields and errors is what the lists in include/*.def have.

Each field of a limit that a file takes is in rl.json(5) and in its schema, with its bounds; each member is in rl_define(3), which
leaves those that rl.json(5) calls by the same name to it, or of options in rl_open(3), or of a result in rl_check(3). What a seat
takes is in its stubs or its page, or that leaves it to rl.json(5). Who reads a result by hand reads all of it. Each error of rl.h has
its line, and each line its place in rl_strerror(3). rl(3) leads to each call.
Run from the top.
"""
import glob
import json
import os
import re
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def headers():
    return "".join(read(path) for path in glob.glob("include/*.h"))


def value(text, known):
    """The number that a macro of rl.h, or an expression of such and numbers, stands for."""
    text = re.sub(r"UINT(?:32|64)_C\((\d+)\)", r"\1", text)
    while names := set(re.findall(r"\bRL_\w+", text)):
        for name in names:
            text = re.sub(rf"\b{name}\b", f"({known[name]})", text)
        text = re.sub(r"UINT(?:32|64)_C\((\d+)\)", r"\1", text)
    return eval(text.replace("UINT32_MAX", str(2 ** 32 - 1)), {"__builtins__": {}})  # numbers and operators alone


def split(arguments):
    """At commas, but not in strings."""
    return [part.strip() for part in re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^,"])+', arguments)]


def fields(path, macro):
    text = re.sub(r"/\*.*?\*/", "", read(path), flags=re.S)
    for found in re.finditer(rf"^{macro}\(((?:\"(?:[^\"\\]|\\.)*\"|[^\"])*?)\)\n(?=RL_|\Z|#)", text, re.M):
        yield split(found[1].replace("\n", " "))


def items(page):
    return set(re.findall(r"\b[a-z_0-9]+\b", " ".join(re.findall(r"^\.(?:It )?(?:Cm|Fa) (.*)$", read(page), re.M))))


def schema_of(schema, name):
    """The definitions of a member in all places of rl.json's schema, references followed."""
    def walk(node):
        if isinstance(node, dict):
            for key, inner in node.get("properties", {}).items():
                if key == name:
                    reference = inner.get("$ref", "").rsplit("/", 1)[-1]
                    yield schema["$defs"].get(reference, inner)
            for inner in node.values():
                yield from walk(inner)
        elif isinstance(node, list):
            for inner in node:
                yield from walk(inner)
    return list(walk(schema))


def limits(known):
    schema = json.loads(read("config/rl.schema.json"))
    page, definition = items("man/rl.json.5"), items("man/rl_define.3")
    for name, word, kind, least, most, _, _, _, _, marks, *_ in fields("include/rl_limit_fields.def", "RL_LIMIT_FIELD"):
        word = word.strip('"')
        if name not in definition and not (name == word and word in page):
            yield f"man/rl_define.3: no {name} of a limit"
        if "NOT_IN_FILES" in marks:
            continue
        if word not in page:
            yield f"man/rl.json.5: no {word} of a limit"
        places = schema_of(schema, word)
        if not places:
            yield f"config/rl.schema.json: no {word} of a limit"
        text = json.dumps(places)
        if kind == "COUNT" and places and f'"maximum": {value(most, known)}' not in text:
            yield f"config/rl.schema.json: {word} of a limit: no maximum of {value(most, known)}"
        if kind == "COUNT" and places and f'"minimum": {value(least, known)}' not in text:
            yield f"config/rl.schema.json: {word} of a limit: no minimum of {value(least, known)}"


def options(known):
    schema, page, file_page = json.loads(read("config/rl.schema.json")), read("man/rl_open.3"), items("man/rl.json.5")
    for name, word, kind, least, most, _, _, none, _, marks, *_ in fields("include/rl_option_fields.def", "RL_OPTION_FIELD"):
        word = word.strip('"')
        if not re.search(rf"^\.It Fa .*\b{name}\b", page, re.M):
            yield f"man/rl_open.3: no {name} of options"
        if "NOT_IN_FILES" in marks:
            continue
        if word not in file_page:
            yield f"man/rl.json.5: no {word} of a segment"
        text = json.dumps(schema_of(schema, word))
        if text == "[]":
            yield f"config/rl.schema.json: no {word} of a segment"
        elif kind == "COUNT" and f'"maximum": {value(most, known)}' not in text:
            yield f"config/rl.schema.json: {word} of a segment: no maximum of {value(most, known)}"


# Where a seat says which options of a segment, fields of a limit and fields of a result it has. Node's names are in camel case.
OPTION_SEATS = ("bindings/lua/README.md", "bindings/node/types/index.d.ts", "bindings/perl/lib/RL.pm", "bindings/php/ext/rl.stub.php",
                "bindings/python/rl/__init__.pyi", "bindings/python/src/rlpy.h", "bindings/ruby/README.md",
                "servers/apache/README.md", "servers/apache/directives.c", "servers/nginx/README.md")
LIMIT_SEATS = ("bindings/node/types/index.d.ts",)
RESULT_SEATS = ("bindings/node/types/index.d.ts", "bindings/perl/lib/RL.pm", "bindings/php/ext/rl.stub.php",
                "bindings/python/rl/__init__.pyi", "bindings/ruby/sig/rl.rbs")


def spellings(name):
    """As a seat may write it: with or without its unit and its is_, in either case."""
    for text in (name, re.sub("_ns$", "", name), re.sub("_ns$", "_ms", name), re.sub("^is_", "", name)):
        yield text
        yield re.sub(r"_([a-z])", lambda m: m[1].upper(), text)


def lacking(path, names):
    """Of tuples of names for one thing, those of which none stands there."""
    text = read(path)
    for same in names:
        if not any(re.search(rf"\b{spelling}\b", text) for name in same for spelling in spellings(name)):
            yield f"{path}: no {same[0]}"


def taken(seat, path, macro):
    why = "NOT_IN_DIRECTIVES" if seat.startswith("servers/") else "NOT_IN_BINDINGS"
    return [(word.strip('"'), name) for name, word, *rest in fields(path, macro) if not any(why in part for part in rest)]


def seats():
    if not os.path.isdir("bindings"):  # a copy of the library alone
        return
    for paths, path, macro in ((OPTION_SEATS, "include/rl_option_fields.def", "RL_OPTION_FIELD"),
                               (LIMIT_SEATS, "include/rl_limit_fields.def", "RL_LIMIT_FIELD")):
        for seat in paths:
            yield from lacking(seat, taken(seat, path, macro))
    for seat in RESULT_SEATS:
        yield from lacking(seat, [(name,) for name, *_ in fields("include/rl_result_fields.def", "RL_RESULT_FIELD")])
    yield from readers()


def errors():
    numbers = set(re.findall(r"^#define (RL_E[A-Z]+) \(-E", headers(), re.M))
    lines = {number: token for number, token in re.findall(r'^RL_ERROR\(([^,]+), "(\w+)"', read("include/rl_errors.def"), re.M)}
    page = dict(re.findall(r"^\.It (?:Dv )?(\S+) Ta Cm (\w+)$", read("man/rl_strerror.3"), re.M))
    for number in sorted(numbers - set(lines)):
        yield f"include/rl_errors.def: no {number}, which rl.h has"
    if lines != page:
        yield f"man/rl_strerror.3: other errors than include/rl_errors.def: {sorted(set(lines.items()) ^ set(page.items()))}"


SCREEN = 20  # lines of a list that is seen at once


def newcomers():
    """rl(3) leads to each call of rl.h, and what most programs need is on a screen."""
    page, calls = read("man/rl.3"), set(re.findall(r"^(?!#|static)[a-z][^\n(]*\b(rl_\w+)\(", read("include/rl.h"), re.M))
    first = page.split("Most programs need")[1].split(".El")[0]
    if not calls or not 0 < first.count("\n.It ") <= SCREEN:
        yield f"man/rl.3: of what most programs need there are {first.count(chr(10) + '.It ')} lines, and {SCREEN} fit a screen"
    described = {name for of in re.findall(r"^\.It Xr (\w+) 3$", page, re.M) for name in re.findall(r"^\.Nm (\w+)", read(f"man/{of}.3"), re.M)}
    for call in sorted(calls - described):
        yield f"man/rl.3: names no page that has {call}()"


# Where the fields of a result are read by hand, one after the other, and why is said there: each has a line of its own.
# {name} is the member, {word} what it is called in Python, {camel} the same in camel case. Of a duration {word} is without its
# unit, in which it is given, too: _ns in Python, Ns in PHP, and in Node milliseconds, Ms, beside `ns`.
RESULT_READERS = (
    ("bindings/php/ext/php_result.c", r"\bRESULT->r\.{name}\b", r"Rl_Result, {camel}\)|READER\({camel},", r"READER\({camel}Ns,"),
    ("bindings/node/src/decide.c", r"\bWHOLE_\w+\] = .*r->{name};|put_time\(to, \d, r->{name}\);", "", ""),
    ("bindings/node/lib/result.js", "", r"\bthis\.{bare}(?:Ms)? = ", r"\bthis\.{camel}Ms = (?s:.*)\b{camel}\b.*= \["),
    ("bindings/python/src/result.c", "", r'\{{"{word}", |MEMBER\({word},', r"MEMBER\({name},"),
)


def readers():
    for path, member, word, unit in RESULT_READERS:
        text = read(path)
        for name, kind, *_ in fields("include/rl_result_fields.def", "RL_RESULT_FIELD"):
            plain = re.sub("_ns$", "", name)
            camel, bare = (re.sub(r"_([a-z])", lambda m: m[1].upper(), of) for of in (plain, re.sub("^is_", "", plain)))
            for pattern in (member, word, unit if kind == "DURATION" else ""):
                wanted = pattern.format(name=name, word=plain, camel=camel, bare=bare)
                if not re.search(wanted, text):
                    yield f"{path}: {name} of a result is not read: nothing there is like {wanted}"


def results():
    page = read("man/rl_check.3")
    for name, *_ in fields("include/rl_result_fields.def", "RL_RESULT_FIELD"):
        if not re.search(rf"^\.It Fa .*\b{name}\b", page, re.M):
            yield f"man/rl_check.3: no {name} of a result"


def main():
    known = dict(re.findall(r"^#define (RL_\w+) (.*?)(?:\s*/\*.*)?$", headers(), re.M))
    found = list(limits(known)) + list(options(known)) + list(results()) + list(seats()) + list(errors()) + list(newcomers())
    print("\n".join(found) if found else "pages and schemas are as the lists")
    return 1 if found else 0


sys.exit(main())
