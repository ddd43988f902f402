#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""spans.py WINDOW_MS LOG...: the most requests that were allowed in any span of the window.

A log has a line "BEFORE AFTER" for each, in nanoseconds, between which it was decided. Counted are those that
surely lie in the span.
"""
import bisect
import sys


def read(paths):
    for path in paths:
        with open(path, encoding="ascii") as file:
            for line in file:
                words = line.split()
                if len(words) == 2:
                    yield int(words[0]), int(words[1])


def most(pairs, window):
    """Spans that begin with a request are enough."""
    found = 0
    pairs = sorted(pairs)
    for i, (begin, _) in enumerate(pairs):
        inside = pairs[i:bisect.bisect_left(pairs, (begin + window, 0))]
        found = max(found, sum(after < begin + window for _, after in inside))
    return found


print(most(read(sys.argv[2:]), int(sys.argv[1]) * 1000000))
