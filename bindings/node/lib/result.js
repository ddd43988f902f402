// SPDX-License-Identifier: BSD-2-Clause
'use strict'

const { native, TICKET_BYTES, WHOLES } = require('./native.js')
const { codeOf } = require('./errors.js')

const VERDICTS = ['allowed', 'denied', 'never', 'undecided']
const REASONS = ['limit', 'ban', 'exemption', 'reserve', 'share']

// What librl answered. Times are milliseconds, rounded up; Infinity is never. By hand, see put_result() in src/decide.c.
class Result {
  constructor (from, at = 0) {
    const { whole } = from
    const of = at * WHOLES
    const verdict = whole[of]
    this.allowed = verdict === 0
    this.verdict = VERDICTS[verdict]
    this.error = whole[of + 1] === 0 ? null : codeOf(whole[of + 1])
    this.reason = REASONS[whole[of + 2]]
    this.index = whole[of + 3]
    this.limit = whole[of + 4]
    this.remaining = whole[of + 5]
    this.used = whole[of + 6] >>> 0
    this.shadowDenied = whole[of + 7] !== 0
    this.retryAfterMs = from.time(at, 0)
    this.resetAfterMs = from.time(at, 1)
    this.delayMs = from.time(at, 2)
    this.windowMs = from.time(at, 3)
  }
}

// One that kept what it was charged, so that it can be given back.
class KeptResult extends Result {
  #limiter
  #ticket
  #epoch

  constructor (from, at, limiter, ticket) {
    super(from, at)
    this.#limiter = limiter
    this.#ticket = ticket
    this.#epoch = limiter.epoch()
  }

  // Give back what was charged: 1 given back, 0 it was too late, or done before. With `holds: false` units in flight stay,
  // for release(). rl_refund(3)
  refund (now, { holds = true } = {}) {
    return this.#isOfSegment() ? native.refund(this.#limiter.number(), this.#ticket, now, holds ? undefined : true) : 0
  }

  // Say what the request has cost: less than was charged comes back, more is charged from now on, beyond the limit if need be.
  // 1 something that counts has changed, 0 nothing has. Once: a second time throws RL_ESETTLED. rl_settle(3)
  settle (actual, now) {
    return this.#isOfSegment() ? native.settle(this.#limiter.number(), this.#ticket, actual, now) : 0
  }

  // Yield what is iterated, and settle to the sum of count(chunk) of what was taken, however that ends: also if the client is
  // gone, and pipeline() ends it.
  async * stream (chunks, count) {
    let spent = 0
    try {
      for await (const chunk of chunks) {
        spent += count(chunk)
        yield chunk
      }
    } finally {
      this.settle(spent)
    }
  }

  // Give back units in flight. 1 given back, 0 there was nothing. rl_release(3)
  release () {
    return this.#isOfSegment() ? native.release(this.#limiter.number(), this.#ticket) : 0
  }

  // A charge of a segment that was replaced meanwhile is gone with it.
  #isOfSegment () {
    return this.#epoch === this.#limiter.epoch()
  }
}

// Whoever passes a time in nanoseconds is told nanoseconds, too.
function addNanoseconds (result, from, at = 0) {
  const [retryAfter, resetAfter, delay, window] = [0, 1, 2, 3].map((which) => from.nanoseconds(at, which))
  result.ns = { retryAfter, resetAfter, delay, window }
  return result
}

const newTicket = () => new ArrayBuffer(TICKET_BYTES)

module.exports = { Result, KeptResult, addNanoseconds, newTicket, VERDICTS, REASONS }
