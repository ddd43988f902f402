// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// A store for express-rate-limit. A limiter is a rule: a window that begins with a key's first hit and counts denied
// hits, too. So rlctl shows its limit, and an administrator may change it, and ban or exempt a key.
const { Source, lazily, keyOf } = require('./source.js')
const { undecided } = require('./errors.js')
const { movedNow } = require('./clock.js')

const CAPACITY_MAX = 2 ** 28 - 1
const MINUTE = 60_000

// What librl is to limit to: at least 1; all it can where a function tells the limit at each request.
function capacityOf (limit) {
  return typeof limit === 'number' ? Math.min(Math.max(Math.floor(limit), 1), CAPACITY_MAX) : CAPACITY_MAX
}

// Limiters that are given no prefix have the same ones in all workers, for all run the same program.
let unnamed = 0

class ExpressStore {
  #source
  #limiter
  #windowMs = MINUTE
  #limit
  #error

  // { prefix, segment, segmentOptions }: `segment` is a name or a Segment.
  constructor ({ prefix, segment, segmentOptions } = {}) {
    this.localKeys = false
    this.prefix = prefix ?? `express-rate-limit${unnamed++ === 0 ? '' : `-${unnamed}`}`
    this.#source = new Source(segment, segmentOptions)
    this.#define()
  }

  init ({ windowMs, limit, max }) {
    this.#windowMs = windowMs ?? MINUTE
    this.#limit = limit ?? max
    this.#error = undefined
    this.#define()
    try {
      this.#limiter()
    } catch (error) {
      // That there is no segment yet is told to each request; a bad option now, too.
      if (error.code === 'EINVAL' || error instanceof TypeError) throw error
    }
  }

  async increment (key) {
    const result = this.#limiter().check(keyOf(key), 1, this.#options())
    return { totalHits: this.#hits(result), resetTime: resetTimeOf(result) }
  }

  async get (key) {
    const result = this.#limiter().check(keyOf(key), 0, this.#options())
    if (result.used === 0 && result.allowed && result.resetAfterMs === 0) return undefined
    return { totalHits: this.#hits(result, 0), resetTime: resetTimeOf(result) }
  }

  async decrement (key) { this.#limiter().refund(keyOf(key), 1, this.#options()) }
  async resetKey (key) { this.#limiter().reset(keyOf(key)) }
  async resetAll () { this.#limiter().resetAll() }

  #define () {
    const limits = {
      algorithm: 'anchored_window',
      capacity: capacityOf(this.#limit),
      windowMs: this.#windowMs,
      countDenied: true,
    }
    this.#limiter = lazily(this.#source, (segment) => segment.define(this.prefix, limits))
  }

  #options () {
    const now = movedNow()
    return now === undefined ? undefined : { now }
  }

  // Hits, so that the library decides as librl did: more than the limit if it is denied, and what remains is told if
  // an administrator has set another capacity.
  #hits (result, least = 1) {
    if (result.verdict === 'undecided') throw undecided(result.error, this.prefix)
    const capacity = capacityOf(this.#limit)
    const limit = typeof this.#limit === 'number' ? this.#limit : capacity
    if (!result.allowed) return Math.max(result.used, Math.floor(limit) + 1)
    const used = result.limit === capacity || result.limit === 0 ? result.used : Math.floor(limit) - result.remaining
    return Math.max(used, least)
  }
}

// The library subtracts Date.now() from it.
function resetTimeOf (result) {
  const ms = result.reason === 'ban' ? result.retryAfterMs : result.resetAfterMs
  return ms === Infinity ? undefined : new Date(Date.now() + ms)
}

module.exports = { ExpressStore }
