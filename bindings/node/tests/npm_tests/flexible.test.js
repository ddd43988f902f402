// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// rate-limiter-flexible's interface, as its own limiters answer it.
const { test, beforeEach, afterEach } = require('node:test')
const assert = require('node:assert/strict')
const { BurstyRateLimiter, RateLimiterMemory, RateLimiterQueue, RateLimiterRes, RateLimiterUnion, RLWrapperBlackAndWhite } =
  require('rate-limiter-flexible')
const { segmentName, newSegment, MovedClock, rlctl } = require('../support.js')
const { RateLimiterRl } = require('librl/rate-limiter-flexible')

const START = 1_800_000_000_000
let segment
let clock

beforeEach(() => {
  segment = newSegment()
  clock = new MovedClock(START)
})
afterEach(() => {
  clock.restore()
  segment.close()
})

const newLimiter = (options) => new RateLimiterRl({ storeClient: segment, points: 2, duration: 5, ...options })

// What a call said: [did it pass, consumed, remaining, ms, is it the first].
async function said (promise) {
  const [passed, res] = await promise.then((res) => [true, res], (res) => [false, res])
  assert.ok(res instanceof RateLimiterRes, res)
  return [passed, res.consumedPoints, res.remainingPoints, res.msBeforeNext, res.isFirstInDuration]
}

test('points are consumed until there are none, and come back all at once', async () => {
  const limiter = newLimiter()
  assert.deepEqual(await said(limiter.consume('a')), [true, 1, 1, 5000, true])
  clock.tick(1000)
  assert.deepEqual(await said(limiter.consume('a')), [true, 2, 0, 4000, false])
  assert.deepEqual(await said(limiter.consume('a')), [false, 3, 0, 4000, false])
  assert.deepEqual(await said(limiter.consume('b', 3)), [false, 3, 0, 5000, true])
  clock.tick(4000)
  assert.deepEqual(await said(limiter.consume('a', 2)), [true, 2, 0, 5000, true])
})

test('penalty, reward, get, set, delete', async () => {
  const limiter = newLimiter({ points: 3 })
  await limiter.consume('a')
  assert.equal((await limiter.penalty('a', 4)).consumedPoints, 5)
  assert.equal((await limiter.reward('a', 3)).consumedPoints, 2)
  assert.deepEqual(await said(limiter.get('a')), [true, 2, 1, 5000, false])
  assert.equal(await limiter.get('nobody'), null)
  assert.equal((await limiter.set('a', 12)).consumedPoints, 12)
  assert.deepEqual(await said(limiter.get('a')), [true, 12, 0, 5000, false])
  await limiter.set('a', 1, 2)
  assert.equal((await limiter.get('a')).msBeforeNext, 2000)
  assert.deepEqual([await limiter.delete('a'), await limiter.delete('a'), await limiter.get('a')], [true, false, null])
})

test('a reward never leaves less than none', async () => {
  const limiter = newLimiter()
  assert.deepEqual(await said(limiter.reward('a', 5)), [true, 0, 2, 0, false])
  await limiter.consume('a')
  assert.equal((await limiter.reward('a', 5)).consumedPoints, 0)
})

test('who has consumed no more than this is the first in its duration, as their store on Redis tells it', async () => {
  const limiter = newLimiter({ points: 3 })
  await limiter.set('a', 0, 5)
  assert.deepEqual(await said(limiter.get('a')), [true, 0, 3, 5000, true])
  assert.deepEqual(await said(limiter.consume('a', 2)), [true, 2, 1, 5000, true])
  assert.deepEqual(await said(limiter.consume('a')), [true, 3, 0, 5000, false])
  await limiter.reward('a', 3)
  assert.deepEqual(await said(limiter.consume('a')), [true, 1, 2, 5000, true])
  assert.deepEqual(await said(limiter.consume('b', 0)), [true, 0, 3, 0, true])
})

test('a duration of 0 has no end, nor has a set or a block for 0', async () => {
  const limiter = newLimiter({ duration: 0 })
  await limiter.consume('a')
  clock.tick(1e12)
  assert.deepEqual(await said(limiter.consume('a')), [true, 2, 0, -1, false])
  const other = newLimiter({ keyPrefix: 'other' })
  await other.set('a', 12, 0)
  await other.block('b', 0)
  clock.tick(1e11)
  assert.deepEqual(await said(other.get('a')), [true, 12, 0, -1, false])
  assert.deepEqual(await said(other.get('b')), [true, 3, 0, -1, false])
})

test('a duration of the call\'s own', async () => {
  const limiter = newLimiter()
  for (const verb of ['consume', 'penalty']) {
    assert.equal((await limiter[verb](verb, 1, { customDuration: 1 })).msBeforeNext, 1000)
    assert.equal((await limiter[verb](`${verb} forever`, 1, { customDuration: 0 })).msBeforeNext, -1)
  }
  assert.ok((await limiter.reward('r', 1, { customDuration: 1 })).msBeforeNext <= 1000)
})

test('a key that has consumed too much is blocked, once, for as long as that is to be', async () => {
  const limiter = newLimiter({ points: 1, duration: 1, blockDuration: 2 })
  assert.deepEqual(await said(limiter.consume('a', 2)), [false, 2, 0, 2000, true])
  clock.tick(1001)
  assert.deepEqual(await said(limiter.consume('a')), [false, 3, 0, 999, false])
  clock.tick(999)
  assert.deepEqual(await said(limiter.consume('a')), [true, 1, 0, 1000, true])
})

test('blockOnConsumed blocks later than the limit', async () => {
  const limiter = newLimiter({ points: 1, duration: 10, blockDuration: 100, blockOnConsumed: 3 })
  await limiter.consume('a')
  assert.equal((await said(limiter.consume('a')))[3], 10_000)
  assert.equal((await said(limiter.consume('a')))[3], 100_000)
  assert.equal((await limiter.get('a')).msBeforeNext, 100_000)
})

test('any key is blocked by hand', async () => {
  const limiter = newLimiter({ points: 1, duration: 1 })
  assert.equal((await limiter.block('a', 2)).consumedPoints, 2)
  assert.deepEqual(await said(limiter.consume('a')), [false, 3, 0, 2000, false])
  const negative = newLimiter({ points: -1, keyPrefix: 'n' })
  await negative.block('a', 2)
  assert.equal((await said(negative.consume('a', 0)))[0], false)
})

test('a process that knows a key to be blocked does not ask', async () => {
  const limiter = newLimiter({ points: 1, duration: 5, inMemoryBlockOnConsumed: 2, inMemoryBlockDuration: 10 })
  await limiter.consume('a')
  assert.equal((await said(limiter.consume('a')))[3], 10_000)
  await said(limiter.consume('a'))
  assert.equal((await limiter.get('a')).consumedPoints, 2)
  clock.tick(6000)
  assert.deepEqual(await said(limiter.consume('a')), [false, 0, 0, 4000, false])
  limiter.deleteInMemoryBlockedAll()
  assert.equal((await limiter.consume('a')).consumedPoints, 1)
})

test('another limiter stands in where there is no segment, and without one the error is told', async () => {
  const missing = { storeClient: segmentName(), segmentOptions: { existing: true }, points: 2, duration: 5 }
  await assert.rejects(new RateLimiterRl(missing).consume('a'), { code: 'ENOENT' })
  const insured = new RateLimiterRl({ ...missing, insuranceLimiter: new RateLimiterMemory({ points: 1, duration: 5 }) })
  assert.equal((await insured.consume('a')).consumedPoints, 1)
  await assert.rejects(insured.consume('a'), RateLimiterRes)
  assert.equal((await insured.get('a')).consumedPoints, 2)
  assert.equal(await insured.delete('a'), true)
  assert.equal((await insured.set('a', 1, 5)).consumedPoints, 1)
})

test('points are whole, and as many as librl counts', async () => {
  const limiter = newLimiter({ points: 2 ** 40 })
  for (const points of [1.5, NaN, '1.5', 'many', 2 ** 53, 2 ** 48]) {
    await assert.rejects(limiter.consume('a', points), /points|value/, String(points))
  }
  assert.equal((await limiter.consume('a', '3')).consumedPoints, 3)
  assert.equal((await limiter.consume('a', 2 ** 39)).consumedPoints, 2 ** 39 + 3)
  assert.throws(() => newLimiter({ points: undefined }), /points/)
})

test('limiters of one prefix count together, of another by themselves; keys of any kind', async () => {
  await newLimiter({ keyPrefix: 'one' }).consume('a')
  assert.equal((await newLimiter({ keyPrefix: 'one' }).consume('a')).consumedPoints, 2)
  assert.equal((await newLimiter({ keyPrefix: 'two' }).consume('a')).consumedPoints, 1)
  const bare = newLimiter({ keyPrefix: '' })
  for (const key of ['', 5, 'x'.repeat(9000), '__proto__', undefined, Buffer.from('b')]) {
    assert.deepEqual([(await bare.consume(key)).consumedPoints, (await bare.consume(key)).consumedPoints], [1, 2], String(key))
  }
  clock.ms = Number(segment.now() / 1_000_000n)
  await newLimiter({ keyPrefix: 'shown' }).consume('alice')
  assert.match(rlctl('--segment', segment.name, 'list'), /shown:alice/)
})

test('evenly over the duration', async () => {
  const limiter = newLimiter({ points: 100, duration: 1, execEvenly: true, execEvenlyMinDelayMs: 20 })
  await limiter.consume('a')
  const start = performance.now()
  await limiter.consume('a')
  assert.ok(performance.now() - start >= 19)
})

test('wrappers of the library take it: bursts, a union, lists, a queue', async () => {
  const bursty = new BurstyRateLimiter(newLimiter({ keyPrefix: 'slow' }), newLimiter({ keyPrefix: 'burst', points: 1 }))
  for (let i = 0; i < 3; i++) await bursty.consume('a')
  await assert.rejects(bursty.consume('a'))
  const union = new RateLimiterUnion(newLimiter({ keyPrefix: 'u1', points: 1 }), newLimiter({ keyPrefix: 'u2' }))
  assert.equal((await union.consume('a')).u1.consumedPoints, 1)
  await assert.rejects(union.consume('a'))
  const lists = new RLWrapperBlackAndWhite({ limiter: newLimiter({ keyPrefix: 'l' }), blackList: ['bad'] })
  await assert.rejects(lists.consume('bad'))
  assert.equal((await lists.consume('good')).consumedPoints, 1)
  const queue = new RateLimiterQueue(newLimiter({ keyPrefix: 'q' }))
  assert.equal(await queue.removeTokens(1, 'a'), 1)
})
