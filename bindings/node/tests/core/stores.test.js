// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// The stores as their libraries call them, without the libraries; time is moved.
const { test, describe, beforeEach, afterEach } = require('node:test')
const assert = require('node:assert/strict')
const fs = require('node:fs')
const { rl, segmentName, newSegment, pathOf, rlctl, rlctlJson, MovedClock } = require('../support.js')
const { ExpressStore } = require('librl/express-rate-limit')
const { FastifyStore, fastifyStore } = require('librl/fastify-rate-limit')

const MINUTE = 60_000
const START = 1_800_000_000_000
let clock
let segment

beforeEach(() => {
  segment = newSegment({ rules: 200 })
  clock = new MovedClock(START)
})
afterEach(() => {
  clock.restore()
  segment.close()
})

let stores = 0
function expressStore (options = {}) {
  const store = new ExpressStore({ segment, prefix: `store-${stores++}` })
  store.init({ windowMs: MINUTE, limit: 5, ...options })
  return store
}

describe('a store of express-rate-limit', () => {
  test('counts each hit, beyond the limit too, in a window that begins with the first', async () => {
    const store = expressStore()
    clock.tick(12_345)
    for (let i = 1; i <= 8; i++) {
      const { totalHits, resetTime } = await store.increment('a')
      assert.deepEqual([totalHits, resetTime.getTime()], [i, START + 12_345 + MINUTE])
      clock.tick(1)
    }
    assert.equal((await store.increment('b')).totalHits, 1)
    clock.tick(MINUTE - 8)
    assert.equal((await store.increment('a')).totalHits, 1, 'another window')
  })

  test('a hit a millisecond before the end counts in the window, at the end in the next', async () => {
    const store = expressStore()
    await store.increment('a')
    clock.tick(MINUTE - 1)
    assert.equal((await store.increment('a')).totalHits, 2)
    clock.tick(1)
    const { totalHits, resetTime } = await store.increment('a')
    assert.deepEqual([totalHits, resetTime.getTime()], [1, START + 2 * MINUTE])
  })

  test('takes a hit back, and never below none', async () => {
    const store = expressStore()
    await store.increment('a')
    await store.increment('a')
    await store.decrement('a')
    assert.equal((await store.increment('a')).totalHits, 2)
    for (let i = 0; i < 5; i++) await store.decrement('a')
    await store.decrement('nobody')
    assert.equal((await store.increment('a')).totalHits, 1)
    assert.equal((await store.increment('nobody')).totalHits, 1)
  })

  test('a window from which all was taken back is there until it ends, or is reset', async () => {
    const store = expressStore()
    await store.increment('a')
    clock.tick(1000)
    await store.decrement('a')
    const { totalHits, resetTime } = await store.get('a')
    assert.deepEqual([totalHits, resetTime.getTime()], [0, START + MINUTE])
    await store.resetKey('a')
    clock.tick(1)
    assert.equal(await store.get('a'), undefined)
    await store.increment('a')
    await store.decrement('a')
    clock.tick(MINUTE)
    assert.equal(await store.get('a'), undefined)
  })

  test('takes back hits beyond the limit', async () => {
    const store = expressStore({ limit: 2 })
    for (let i = 0; i < 5; i++) await store.increment('a')
    for (let i = 0; i < 4; i++) await store.decrement('a')
    assert.equal((await store.increment('a')).totalHits, 2)
  })

  test('tells a key without counting it', async () => {
    const store = expressStore()
    assert.equal(await store.get('a'), undefined)
    await store.increment('a')
    clock.tick(1000)
    const { totalHits, resetTime } = await store.get('a')
    assert.deepEqual([totalHits, resetTime.getTime()], [1, START + MINUTE])
    assert.equal((await store.get('a')).totalHits, 1)
    for (let i = 0; i < 9; i++) await store.increment('a')
    assert.equal((await store.get('a')).totalHits, 10)
    clock.tick(MINUTE)
    assert.equal(await store.get('a'), undefined)
  })

  test('forgets a key, or all keys of this store', async () => {
    const [store, other] = [expressStore(), expressStore()]
    for (const key of ['a', 'b']) for (const one of [store, other]) await one.increment(key)
    await store.resetKey('a')
    assert.deepEqual([(await store.increment('a')).totalHits, (await store.increment('b')).totalHits], [1, 2])
    await store.resetAll()
    assert.deepEqual([(await store.increment('b')).totalHits, (await other.increment('b')).totalHits], [1, 2])
  })

  test('has what the library asks of a shared store', () => {
    const store = expressStore()
    assert.equal(store.localKeys, false)
    assert.match(store.prefix, /^store-/)
    assert.notEqual(new ExpressStore({ segment }).prefix, new ExpressStore({ segment }).prefix)
  })

  test('two stores of one prefix count together', async () => {
    const [one, two] = [1, 2].map(() => new ExpressStore({ segment, prefix: 'same' }))
    for (const store of [one, two]) store.init({ windowMs: MINUTE, limit: 5 })
    await one.increment('a')
    assert.equal((await two.increment('a')).totalHits, 2)
  })

  test('a limit that is 0, a part of one, unknown or more than librl counts', async () => {
    for (const [limit, allowed] of [[0, 0], [2.5, 2], [() => 3, Infinity], [Infinity, Infinity], [2 ** 40, Infinity]]) {
      const store = expressStore({ limit })
      for (let i = 1; i <= 5; i++) {
        const { totalHits } = await store.increment('a')
        assert.equal(totalHits, i, String(limit))
        if (typeof limit === 'number') assert.equal(totalHits <= limit, i <= allowed)
      }
    }
  })

  test('what an administrator says holds: a ban, another capacity, an exemption', async () => {
    const store = expressStore({ limit: 5 })
    rlctl('--segment', segment.name, 'ban', 'mallory', '--for', '1h')
    rlctl('--segment', segment.name, 'allow', 'friend', '--for', '1h')
    clock.ms = Number(segment.now() / 1_000_000n)
    const banned = await store.increment('mallory')
    assert.equal(banned.totalHits, 6)
    assert.ok(banned.resetTime.getTime() > clock.ms + 3_000_000)
    for (let i = 0; i < 9; i++) assert.equal((await store.increment('friend')).totalHits, 1)
    segment.define(store.prefix, { algorithm: 'anchored_window', capacity: 2, windowMs: MINUTE, countDenied: true })
    const hits = []
    for (let i = 0; i < 4; i++) hits.push((await store.increment('a')).totalHits)
    assert.deepEqual(hits, [4, 5, 6, 6], 'what remains is 1, 0, and then it is denied')
    segment.define(store.prefix, { algorithm: 'anchored_window', capacity: 10, windowMs: MINUTE, countDenied: true })
    for (let i = 0; i < 6; i++) assert.ok((await store.increment('a')).totalHits <= 5)
    assert.ok((await store.increment('a')).totalHits > 5)
  })

  test('rlctl shows its limit and its keys', async () => {
    const store = expressStore({ limit: 2 })
    clock.ms = Number(segment.now() / 1_000_000n)
    for (let i = 0; i < 3; i++) await store.increment('203.0.113.7')
    const text = JSON.stringify(rlctlJson('--segment', segment.name, 'get', store.prefix, '203.0.113.7'))
    assert.match(text, /"used":3/)
    assert.match(text, /"limit":2|"capacity":2/)
  })

  test('keys that are empty, numbers, bytes, long or no keys at all', async () => {
    const store = expressStore()
    for (const key of ['', 5, Buffer.from('b'), 'x'.repeat(10_000), undefined, null, '\ud800', '__proto__']) {
      assert.deepEqual([(await store.increment(key)).totalHits, (await store.increment(key)).totalHits], [1, 2], String(key))
      await store.decrement(key)
      assert.equal((await store.get(key)).totalHits, 1)
    }
  })

  test('a window that cannot be is refused when the limiter is made', () => {
    for (const windowMs of [0, 1, -1, NaN, 1e15]) {
      assert.throws(() => expressStore({ windowMs }), { code: 'EINVAL' }, String(windowMs))
    }
    assert.throws(() => new ExpressStore({ segment, prefix: 'bad name' }).init({ windowMs: MINUTE, limit: 1 }), { code: 'EINVAL' })
    assert.throws(() => new ExpressStore({ segment: 'a/b' }), { code: 'EINVAL' })
  })

  test('without a segment each hit is told why, until there is one', async () => {
    const name = segmentName()
    const store = new ExpressStore({ segment: name, segmentOptions: { existing: true }, prefix: 'later' })
    store.init({ windowMs: MINUTE, limit: 5 })
    await assert.rejects(store.increment('a'), { code: 'ENOENT', message: new RegExp(name) })
    await assert.rejects(store.get('a'), { code: 'ENOENT' })
    rl.open(name).close()
    for (let i = 0; ; i++) {
      const hit = await store.increment('a').catch((error) => error)
      if (hit.totalHits === 1) break
      assert.ok(i < 6000, hit)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    fs.rmSync(pathOf(name))
  })
})

const incr = (store, key, window, max) => new Promise((resolve, reject) => {
  store.incr(key, (error, hit) => (error ? reject(error) : resolve(hit)), window, max)
})
const read = (store, key, window) => new Promise((resolve, reject) => {
  store.read(key, (error, hit) => (error ? reject(error) : resolve(hit)), window)
})
const route = (method, url, more) => ({ routeInfo: { method, url }, ...more })

describe('a store of @fastify/rate-limit', () => {
  const newStore = (params, prefix = '') => new FastifyStore(params, { segment, prefix })

  test('counts each hit in a window that begins with the first', async () => {
    const store = newStore()
    for (let i = 1; i <= 4; i++) {
      assert.deepEqual(await incr(store, 'a', 1000, 2), { current: i, ttl: 1000 - (i - 1) * 100 })
      clock.tick(100)
    }
    assert.deepEqual(await read(store, 'a', 1000), { current: 4, ttl: 600 })
    clock.tick(600)
    assert.deepEqual(await read(store, 'a', 1000), { current: 0, ttl: 0 })
    assert.deepEqual(await incr(store, 'a', 1000, 2), { current: 1, ttl: 1000 })
  })

  test('continueExceeding: each hit beyond the limit begins the window anew', async () => {
    const store = newStore({ continueExceeding: true })
    await incr(store, 'a', 1000, 1)
    clock.tick(900)
    assert.deepEqual(await incr(store, 'a', 1000, 1), { current: 2, ttl: 1000 })
    clock.tick(900)
    assert.deepEqual(await incr(store, 'a', 1000, 1), { current: 3, ttl: 1000 })
    clock.tick(1000)
    assert.deepEqual(await incr(store, 'a', 1000, 1), { current: 1, ttl: 1000 })
  })

  test('exponentialBackoff: twice as long with each hit beyond the limit', async () => {
    const store = newStore({ exponentialBackoff: true })
    const ttls = []
    for (let i = 0; i < 6; i++) ttls.push((await incr(store, 'a', 1000, 2)).ttl)
    assert.deepEqual(ttls, [1000, 1000, 1000, 2000, 4000, 8000])
    for (let i = 0; i < 60; i++) ttls.push((await incr(store, 'a', 1000, 2)).ttl)
    assert.equal(ttls.at(-1), Number.MAX_SAFE_INTEGER)
  })

  test('windows that are nothing, longer than times are known, and not whole', async () => {
    const store = newStore()
    assert.deepEqual(await incr(store, 'none', 0, 1), { current: 1, ttl: 0 })
    assert.deepEqual(await incr(store, 'none', 0, 1), { current: 1, ttl: 0 })
    assert.deepEqual(await incr(store, 'long', 9e15, 1), { current: 1, ttl: 9e15 })
    assert.deepEqual(await incr(store, 'long', 9e15, 1), { current: 2, ttl: 9e15 })
    assert.deepEqual(await incr(store, 'part', 10.5, 1), { current: 1, ttl: 11 })
  })

  test('each route has keys of its own, in all workers the same', async () => {
    const [one, two] = [1, 2].map(() => newStore({}, 'app-'))
    const child = (store) => store.child(route('GET', '/login'))
    await incr(child(one), 'a', 1000, 5)
    assert.equal((await incr(child(two), 'a', 1000, 5)).current, 2)
    assert.equal((await incr(one.child(route('POST', '/login')), 'a', 1000, 5)).current, 1)
    assert.equal((await incr(one, 'a', 1000, 5)).current, 1)
    const unnamed = (store) => [store.child({ routeInfo: {} }), store.child({ routeInfo: {} })]
    const hits = [...unnamed(one), ...unnamed(two)].map((store) => incr(store, 'a', 1000, 5))
    assert.deepEqual((await Promise.all(hits)).map(({ current }) => current), [1, 1, 2, 2])
  })

  test('a route\'s own options hold for it', async () => {
    const store = newStore({ continueExceeding: true })
    const child = store.child(route('GET', '/', { continueExceeding: false }))
    for (const one of [store, child]) for (let i = 0; i < 2; i++) await incr(one, 'a', 1000, 1)
    clock.tick(400)
    assert.equal((await incr(child, 'a', 1000, 1)).ttl, 600)
    assert.equal((await incr(store, 'a', 1000, 1)).ttl, 1000)
  })

  test('keys that are numbers, bytes, empty or nothing', async () => {
    for (const store of [newStore(), newStore({}, 'p-')]) {
      for (const key of ['', 7, undefined, null, Buffer.from('bytes'), 'x'.repeat(9000)]) {
        const hits = [await incr(store, key, 1000, 5), await incr(store, key, 1000, 5)].map(({ current }) => current)
        assert.deepEqual(hits, [1, 2], String(key))
      }
    }
  })

  test('the class for the plugin has its segment; an error is told to the callback, once', async () => {
    const Store = fastifyStore({ segment, prefix: 'x-' })
    assert.equal((await incr(new Store({}), 'a', 1000, 1)).current, 1)
    const Missing = fastifyStore({ segment: segmentName(), segmentOptions: { existing: true } })
    const missing = new Missing({})
    await assert.rejects(incr(missing, 'a', 1000, 1), { code: 'ENOENT' })
    await assert.rejects(read(missing, 'a', 1000), { code: 'ENOENT' })
    let calls = 0
    const boom = () => { calls++; throw new Error('the callback\'s own') }
    assert.throws(() => new Store({}).incr('b', boom, 1000, 1), /the callback's own/)
    assert.equal(calls, 1)
  })
})

test('fake timers begin at 0', async () => {
  clock.ms = 0
  const [express, fastify] = [expressStore(), new FastifyStore({}, { segment })]
  const hits = async () => {
    const { totalHits, resetTime } = await express.increment('a')
    return [totalHits, resetTime.getTime(), await incr(fastify, 'a', MINUTE, 5)]
  }
  assert.deepEqual(await hits(), [1, MINUTE, { current: 1, ttl: MINUTE }])
  clock.tick(MINUTE - 1)
  assert.deepEqual(await hits(), [2, MINUTE, { current: 2, ttl: 1 }])
  clock.tick(1)
  assert.deepEqual(await hits(), [1, 2 * MINUTE, { current: 1, ttl: MINUTE }])
})

test('librl\'s own clock counts where nobody has moved time', async () => {
  clock.restore()
  const store = expressStore()
  const before = Date.now()
  const { resetTime } = await store.increment('a')
  assert.ok(resetTime.getTime() >= before + MINUTE && resetTime.getTime() <= Date.now() + MINUTE)
  const fastify = new FastifyStore({}, { segment })
  assert.deepEqual(await incr(fastify, 'now', MINUTE, 5), { current: 1, ttl: MINUTE })
  assert.ok((await incr(fastify, 'now', MINUTE, 5)).ttl <= MINUTE)
})
