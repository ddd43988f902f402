// SPDX-License-Identifier: BSD-2-Clause
'use strict'

const { native, answer, out, EPOCH } = require('./native.js')

// As enum rl_counter_op has them.
const GET = 0
const ADD = 1
const SET = 2
const SET_NEW = 3
const TOUCH = 4
const DROP = 5

// Counters by key, each with a lifetime: a space of rl_define_counters(3). `lifetimeMs` Infinity is without an end.
class Counters {
  #segment
  #at
  #epoch = -1
  #space

  constructor (segment, at, name) {
    this.name = name
    this.#segment = segment
    this.#at = at
    this.#resolve()
  }

  // Add an amount, which may be negative. One that is not there is made if amount > 0.
  add (key, amount, lifetimeMs, now) { return this.#count(ADD, key, amount, lifetimeMs, now) }
  get (key, now) { return this.#count(GET, key, undefined, undefined, now) }
  // With a lifetime of 0 one that is there keeps its own.
  set (key, value, lifetimeMs, now) { return this.#count(SET, key, value, lifetimeMs, now) }
  // Only if there is none.
  setNew (key, value, lifetimeMs, now) { return this.#count(SET_NEW, key, value, lifetimeMs, now) }
  // Another lifetime from now, shorter or longer.
  touch (key, lifetimeMs, now) { return this.#count(TOUCH, key, undefined, lifetimeMs, now) }
  // Whether there was one.
  drop (key, now) { return this.#ask(DROP, key, undefined, undefined, now) === 1 }

  // Forget one at once, whatever the time: whether there was something. rl_reset(3)
  reset (key) { return native.reset(this.#at, this.handle(), key) === 1 }

  // Forget all, or those of a pattern: { forgotten, unknown }.
  resetAll (pattern) { return this.#segment.resetMatching(this, pattern) }

  // For other calls of this library, not for programs.
  number () { return this.#at }
  handle () {
    if (this.#epoch !== out[EPOCH + this.#at]) this.#resolve()
    return this.#space
  }

  #resolve () {
    this.#space = native.defineCounters(this.#segment.number(), this.name)
    this.#epoch = out[EPOCH + this.#at]
  }

  #once (operation, key, value, lifetimeMs, now) {
    const space = this.handle()
    try {
      return native.counter(operation, this.#at, space, key, value, lifetimeMs, now)
    } catch (error) {
      if (error.code !== 'RL_EREMOVED') throw error
      this.#resolve()
      return native.counter(operation, this.#at, this.#space, key, value, lifetimeMs, now)
    }
  }

  #ask (operation, key, value, lifetimeMs, now) {
    let done = this.#once(operation, key, value, lifetimeMs, now)
    while (done === undefined) { // it is time to look whether the segment was replaced
      this.#segment.look()
      done = this.#once(operation, key, value, lifetimeMs, now)
    }
    return done
  }

  // `done`: the call did what it says. `value` 0 and expiresAfterMs 0: there is none.
  #count (operation, key, value, lifetimeMs, now) {
    const done = this.#ask(operation, key, value, lifetimeMs, now) === 1
    const count = { done, value: answer.time(0, 1), expiresAfterMs: answer.time(0, 0), isNew: out[7] !== 0 }
    if (typeof now === 'bigint') count.ns = { expiresAfter: answer.nanoseconds(0, 0) }
    return count
  }
}

module.exports = { Counters }
