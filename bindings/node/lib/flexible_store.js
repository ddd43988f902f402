// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// A limiter of rate-limiter-flexible, on counters by key: points and duration come with each call.
const { RateLimiterRes } = require('rate-limiter-flexible')
const RateLimiterStoreAbstract = require('rate-limiter-flexible/lib/RateLimiterStoreAbstract')
const { Source, lazily, keyOf } = require('./source.js')
const { movedNow } = require('./clock.js')

const SPACE = 'rate-limiter-flexible'

// Points are whole; the library lets a text of digits pass.
function wholePoints (points) {
  const number = typeof points === 'string' && /^-?\d+$/.test(points) ? Number(points) : points
  if (Number.isSafeInteger(number)) return number
  throw new RangeError(`rl: points: ${points}; a whole number is allowed`)
}

// 0 means without an end.
const lifetimeOf = (ms) => (ms > 0 ? Math.ceil(ms) : Infinity)

// A promise's place for what is there already: it goes on at once, and not in a turn of its own.
class Ready {
  constructor (value, isError) {
    this.value = value
    this.isError = isError
  }

  then (onValue, onError) {
    const on = this.isError ? onError : onValue
    if (typeof on !== 'function') return this
    try {
      return new Ready(on(this.value), false)
    } catch (error) {
      return new Ready(error, true)
    }
  }

  catch (onError) { return this.then(undefined, onError) }
}

const NOW = new Ready(undefined, false)

class RateLimiterRl extends RateLimiterStoreAbstract {
  // storeClient: a Segment or the name of one, which is opened with segmentOptions; space: of its counters.
  constructor (opts = {}) {
    super(opts)
    this.client = new Source(opts.storeClient, opts.segmentOptions)
    this._counters = lazily(this.client, (segment) => segment.counters(opts.space ?? SPACE))
  }

  // Where no other limiter is to be asked after an error, one promise is enough.
  consume (key, points = 1, options = {}) {
    return this.insuranceLimiter || super._consume === undefined ? super.consume(key, points, options) : super._consume(key, points, options)
  }

  _upsert (rlKey, points, msDuration, forceExpire = false) {
    return NOW.then(() => {
      const counters = this._counters()
      const amount = wholePoints(points)
      const lifetime = lifetimeOf(msDuration)
      return forceExpire
        ? counters.set(keyOf(rlKey), amount, lifetime, movedNow())
        : counters.add(keyOf(rlKey), amount, lifetime, movedNow())
    })
  }

  _get (rlKey) {
    return NOW.then(() => {
      const count = this._counters().get(keyOf(rlKey), movedNow())
      return count.done ? count : null
    })
  }

  _delete (rlKey) {
    return NOW.then(() => this._counters().drop(keyOf(rlKey), movedNow()))
  }

  // A count below 0 there is not; a limiter of negative points is blocked by 0 as well.
  _block (rlKey, initPoints, msDuration, options) {
    return super._block(rlKey, Math.max(initPoints, 0), msDuration, options)
  }

  _getRateLimiterRes (rlKey, changedPoints, count) {
    const msBeforeNext = count.expiresAfterMs === Infinity ? -1 : count.expiresAfterMs
    return new RateLimiterRes(Math.max(this.points - count.value, 0), msBeforeNext, count.value, count.value === changedPoints)
  }
}

module.exports = { RateLimiterRl }
