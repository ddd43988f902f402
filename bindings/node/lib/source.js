// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// Where a store gets its segment from. A server starts without one, tells each request's caller why, and tries again
// at most once a second: the segment may be made, or a permission be given, while it runs.
const { native } = require('./native.js')
const { open, Segment } = require('./segment.js')

const RETRY_MS = 1000

class Source {
  #segment
  #name
  #options
  #error
  #nextTry = 0

  // `segment` is a Segment, or the name of one to be opened with `options`.
  constructor (segment = 'default', options) {
    if (segment instanceof Segment) this.#segment = segment
    this.#name = segment
    this.#options = options
    if (this.#segment === undefined) this.#try()
    // What is wrong in the program does not go away.
    if (this.#error instanceof TypeError || this.#error?.code === 'EINVAL') throw this.#error
  }

  // The segment; or throws why there is none.
  get () {
    if (this.#segment !== undefined) return this.#segment
    if (native.monotonic() >= this.#nextTry) this.#try()
    if (this.#segment === undefined) throw this.#error
    return this.#segment
  }

  #try () {
    try {
      this.#segment = open(this.#name, this.#options)
      this.#error = undefined
    } catch (error) {
      this.#error = error
      this.#nextTry = native.monotonic() + RETRY_MS
    }
  }
}

// Made when it is first asked for, and kept: a limiter or counters of a segment that may not be there yet.
function lazily (source, make) {
  let made
  return () => {
    made ??= make(source.get())
    return made
  }
}

const EMPTY = '(empty)'

// Libraries for Node take any value for a key. librl does not limit an empty one, so it gets a name.
function keyOf (key) {
  if (key === '' || key?.length === 0) return EMPTY
  return typeof key === 'string' || key instanceof Uint8Array ? key : String(key)
}

module.exports = { Source, lazily, keyOf }
