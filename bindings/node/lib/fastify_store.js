// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// A store for @fastify/rate-limit, on counters by key: window and limit come with each hit, and may be others each
// time. A route's keys begin with its method and path, as those of the library's store on Redis.
const { Source, lazily, keyOf } = require('./source.js')
const { movedNow } = require('./clock.js')

const SPACE = 'fastify-rate-limit'
// librl knows times until 2109: a window that is longer than this has no end, and is told as it was asked for.
const LONGEST = 50 * 365 * 86_400_000

const lifetimeOf = (window) => (window > LONGEST ? Infinity : Math.ceil(window))

const ttlOf = (count, window) => (count.expiresAfterMs === Infinity ? window : count.expiresAfterMs)

const bytesOf = (prefix, key) => {
  if (prefix === '') return keyOf(key)
  if (key instanceof Uint8Array) return Buffer.concat([Buffer.from(prefix), key])
  return prefix + String(key)
}

class FastifyStore {
  #counters
  #prefix
  #children = 0
  #continueExceeding
  #backoff

  // `params` are the plugin's. fastifyStore() gives the rest.
  constructor (params = {}, { segment = 'default', segmentOptions, space = SPACE, prefix = '' } = {}, counters) {
    this.#prefix = prefix
    this.#continueExceeding = Boolean(params.continueExceeding)
    this.#backoff = Boolean(params.exponentialBackoff)
    this.#counters = counters ?? lazily(new Source(segment, segmentOptions), (opened) => opened.counters(space))
  }

  incr (key, done, timeWindow, max) {
    let hit
    try {
      hit = this.#hit(bytesOf(this.#prefix, key), timeWindow, max, movedNow())
    } catch (error) {
      done(error, null)
      return
    }
    done(null, hit)
  }

  read (key, done, timeWindow) {
    let count
    try {
      count = this.#counters().get(bytesOf(this.#prefix, key), movedNow())
    } catch (error) {
      done(error, null)
      return
    }
    done(null, { current: count.value, ttl: ttlOf(count, timeWindow) })
  }

  // A limiter of a route; of one without a route, the same one in all workers, for all run the same program.
  child (routeOptions) {
    const { method, url } = routeOptions.routeInfo ?? {}
    const name = url === undefined ? `#${++this.#children}-` : `${method}${url}-`
    return new FastifyStore(routeOptions, { prefix: this.#prefix + name }, this.#counters)
  }

  #hit (key, window, max, now) {
    if (!(window > 0)) return { current: 1, ttl: 0 } // it is over when it begins
    const hit = this.#counters().add(key, 1, lifetimeOf(window), now)
    const longer = hit.value > max ? this.#longer(window, hit.value - max) : 0
    if (longer === 0) return { current: hit.value, ttl: ttlOf(hit, window) }
    this.#counters().touch(key, lifetimeOf(longer), now)
    return { current: hit.value, ttl: longer }
  }

  // The window of a hit that is `over` beyond the limit, from now; 0: it goes on as it is.
  #longer (window, over) {
    if (this.#continueExceeding) return window
    return this.#backoff ? Math.min(window * 2 ** (over - 1), Number.MAX_SAFE_INTEGER) : 0
  }
}

// The class that the plugin's option `store` takes. { segment, segmentOptions, space, prefix }
function fastifyStore (options = {}) {
  return class extends FastifyStore {
    constructor (params) { super(params, options) }
  }
}

module.exports = { FastifyStore, fastifyStore }
