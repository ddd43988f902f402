// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// Texts such as '5/min', read as rl.json(5) reads them.

const SECOND = 1_000_000_000n
const CAPACITY_MAX = (1n << 28n) - 1n
const WINDOW_MIN = SECOND / 100n
const WINDOW_MAX = 400n * 86_400n * SECOND

const PERIODS = new Map([
  ['s', SECOND], ['sec', SECOND], ['second', SECOND],
  ['m', 60n * SECOND], ['min', 60n * SECOND], ['minute', 60n * SECOND],
  ['h', 3600n * SECOND], ['hour', 3600n * SECOND],
  ['d', 86_400n * SECOND], ['day', 86_400n * SECOND],
])
// From the longest to the shortest, the order in which a duration has them.
const UNITS = [['d', 86_400n * SECOND], ['h', 3600n * SECOND], ['m', 60n * SECOND], ['s', SECOND],
  ['ms', 1_000_000n], ['us', 1000n], ['ns', 1n]]

// Nanoseconds of '1h30m', or undefined.
function duration (text) {
  const parts = text.match(/\d+(?:\.\d{1,18})?[a-z]+/g)
  if (parts === null || parts.join('') !== text) return undefined
  let sum = 0n
  let last = -1
  for (const part of parts) {
    const [, number, fraction = '', name] = /^(\d+)(?:\.(\d+))?([a-z]+)$/.exec(part)
    const at = UNITS.findIndex(([unit]) => unit === name)
    if (at <= last) return undefined
    last = at
    const unit = UNITS[at][1]
    const scale = 10n ** BigInt(fraction.length)
    const parted = BigInt(fraction || '0') * unit
    if (parted % scale !== 0n) return undefined
    sum += BigInt(number) * unit + parted / scale
  }
  return sum
}

// '5min' is five minutes, 'min' is one.
function period (text) {
  const [, count, name] = /^(\d*)([a-z]*)$/.exec(text) ?? []
  if (PERIODS.has(name)) return BigInt(count || '1') * PERIODS.get(name)
  return duration(text)
}

// '100/min' -> { capacity, windowNs }
function parseRate (text) {
  const [, count, of] = /^(\d+)\/(.+)$/.exec(text) ?? []
  const windowNs = of === undefined ? undefined : period(of)
  const capacity = windowNs === undefined ? 0n : BigInt(count)
  if (capacity < 1n || capacity > CAPACITY_MAX || windowNs < WINDOW_MIN || windowNs > WINDOW_MAX) {
    const error = new RangeError(`rl: limit: '${text}'; a rate such as '100/min' or '5/10s' is expected, ` +
      'from 1 to 268435455 in 10 ms to 400 days')
    error.code = 'EINVAL'
    throw error
  }
  return { capacity: Number(capacity), windowNs }
}

// How many sub-buckets a window of rl.json has by default: some 60, of a length that people would choose; fewer in a shorter
// ring. One of 1 is what a segment has that nobody has asked for more: there the definition is refused, and says why.
function granularityOf (windowNs, ring) {
  const unit = windowNs >= 60n * SECOND ? SECOND : windowNs >= 60_000_000n ? 1_000_000n : 1000n
  const best = ring > 1 ? Math.min(ring, 60) : 60
  for (let n = best; n > best / 2; n--) {
    if (windowNs % (BigInt(n) * unit) === 0n) return n
  }
  return best
}

// A limit as the addon takes it. A text alone is what rl.json makes of it: a sliding window, hard.
function limitOf (limit, ring) {
  if (typeof limit === 'string') {
    const { capacity, windowNs } = parseRate(limit)
    return { capacity, windowMs: windowNs, hard: true, granularity: granularityOf(windowNs, ring) }
  }
  if (limit?.limit === undefined) return limit
  const { limit: rate, ...rest } = limit
  const { capacity, windowNs } = parseRate(rate)
  return { capacity, windowMs: windowNs, ...rest }
}

module.exports = { parseRate, limitOf }
