#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What programs call stays small: rl.h fits 600 lines, it and the three headers beside it have few
calls, and none of them a twin for a time, which requests say themselves. Each call of a public
header is exported, has a manual page, and is in Debian's list of symbols. Run from the top.
"""
import glob
import re
import sys

LINES = 600
CALLS = 40
NARROW = ["rl.h", "rl_flight.h", "rl_counter.h", "rl_ban.h"]


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def calls_of(path):
    code = re.sub(r"/\*.*?\*/", "", text_of(path), flags=re.S)
    return re.findall(r"^[a-z][\w *]*?\b(rl_\w+)\([^;{]*\);", code, re.M)


def complaints():
    lines = text_of("include/rl.h").count("\n")
    if lines > LINES:
        yield f"include/rl.h: {lines} lines; {LINES} are allowed"
    narrow = [call for header in NARROW for call in calls_of(f"include/{header}")]
    if len(narrow) > CALLS:
        yield f"{', '.join(NARROW)}: {len(narrow)} calls; {CALLS} are allowed"
    for call in narrow:
        if call.endswith("_at"):
            yield f"{call}(): a request says its time itself"
    calls = {call for path in glob.glob("include/*.h") for call in calls_of(path)}
    exported = set(re.findall(r"^\t\t(rl_\w+);", text_of("libshm/api/librl.map"), re.M))
    symbols = set(re.findall(r"^ (rl_\w+)@", text_of("debian/librl1.symbols"), re.M))
    named = {name for page in glob.glob("man/*.3") for name in re.findall(r"^\.Nm (rl_\w+)", text_of(page), re.M)}
    for what, have in (("libshm/api/librl.map", exported), ("debian/librl1.symbols", symbols)):
        for call in sorted(calls ^ have):
            yield f"{what}: {call} is {'missing' if call in calls else 'no call'}"
    for call in sorted(calls - named):
        yield f"man: {call} has no page"


found = list(complaints())
for complaint in found:
    print(complaint)
sys.exit(bool(found))
