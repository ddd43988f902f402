#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""damage.py SEGMENT WHAT: make a fault in a segment that has one key, of a sliding window with six
sub-buckets. WHAT is status, free, twice, sum, rule, or claim, which is no fault. See layout_slot.h."""

import struct
import sys

WORD = struct.Struct("<Q")


def areas(file):
    """Where the rules, the table and the rings begin; ring entries and buckets."""
    file.seek(32)
    (buckets, ring, _, rules, limits, overrides, bans, stripes, _, _, changes, holders, _, _,
     events) = struct.unpack("<9I2H4I", file.read(56))
    at, starts = 4096, []
    filters = 64 + 2 * 8 * sum(slots // 14 + 1 for slots in (bans, overrides))
    for size in (rules * 256, limits * 128, 2 * overrides * 16, bans * 16, filters, holders * 16,
                 stripes * rules * 256, stripes * limits * 16, rules * 3840, events and 64 + 64 * events + 64 + 64 * changes + 64 * 128, buckets * 192):
        starts.append(at)
        at = -(-(at + size) // 4096) * 4096
    return starts[0], starts[-1], at, ring, buckets


def load(file, at):
    file.seek(at)
    return WORD.unpack(file.read(8))[0]


def store(file, at, value):
    file.seek(at)
    file.write(WORD.pack(value % 2**64))


def damage(file, what):
    rows, table, rings, ring, buckets = areas(file)
    tags = [table + slot // 8 * 192 + slot % 8 * 8 for slot in range(8 * buckets)]
    live = next(slot for slot, at in enumerate(tags) if load(file, at) >> 62 == 2)
    free = tags[live ^ 1]
    if what == "status":
        store(file, free, 3 << 62)
    elif what == "free":
        store(file, free, 42)
    elif what == "claim":
        store(file, free, 1 << 62 | 42)
    elif what == "twice":
        store(file, free, load(file, tags[live]))
    elif what == "rule":
        store(file, rows + 2 * 256, 42)
    else:
        entry = next(at for at in range(rings + live * ring * 8, rings + (live + 1) * ring * 8, 8)
                     if load(file, at) >> 36 > 0)
        store(file, entry, load(file, entry) + (1 << 36))


with open(f"/dev/shm/rl.{sys.argv[1]}", "r+b", buffering=0) as segment:
    damage(segment, sys.argv[2])
