// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// Calls leave nothing behind: the heap, and what the process has beside it, are where they were.
const { test } = require('node:test')
const assert = require('node:assert/strict')
const v8 = require('node:v8')
const vm = require('node:vm')
const { newSegment } = require('../support.js')
const { ExpressStore } = require('librl/express-rate-limit')

v8.setFlagsFromString('--expose-gc')
const collect = vm.runInNewContext('gc')

const CALLS = Number(process.env.RL_TEST_CALLS ?? 1_000_000)
const MEGABYTE = 2 ** 20

function settled () {
  for (let i = 0; i < 5; i++) collect()
  const { heapUsed, arrayBuffers, external, rss } = process.memoryUsage()
  return { heap: heapUsed + arrayBuffers + external, rss }
}

async function leavesNothing (what, call) {
  for (let i = 0; i < CALLS / 10; i++) await call(i)
  const before = settled()
  for (let i = 0; i < CALLS; i++) await call(i)
  const after = settled()
  const grown = (after.heap - before.heap) / MEGABYTE
  assert.ok(grown < 1, `${what}: the heap grew by ${grown} MB`)
  assert.ok((after.rss - before.rss) / MEGABYTE < 64, `${what}: the process grew from ${before.rss} to ${after.rss}`)
}

test('a million checks', async () => {
  const segment = newSegment()
  const limiter = segment.define('r', { capacity: 5, windowMs: 1000 })
  const key = Buffer.from('bytes')
  await leavesNothing('check', (i) => {
    limiter.check(`user ${i % 1000}`)
    if (i % 10 === 0) limiter.check(key, 2, { now: Date.now() })
    if (i % 10 === 1) limiter.check(i % 1000, 1, { keep: true }).refund()
    if (i % 100 === 2) assert.throws(() => limiter.check('a', -1))
  })
  segment.close()
})

test('a million hits of a store', async () => {
  const store = new ExpressStore({ segment: newSegment(), prefix: 'memory' })
  store.init({ windowMs: 1000, limit: 5 })
  await leavesNothing('increment', (i) => store.increment(`user ${i % 1000}`))
})

test('opening and closing', async () => {
  const open = newSegment()
  const { rl } = require('../support.js')
  for (let i = 0; i < 1000; i++) {
    const segment = rl.open(open.name)
    segment.define('r', '5/min').check('a')
    segment.close()
  }
  const before = settled()
  for (let i = 0; i < 5000; i++) {
    const segment = rl.open(open.name)
    segment.define('r', '5/min').check('a')
    segment.close()
  }
  const after = settled()
  assert.ok(after.heap - before.heap < MEGABYTE, `the heap grew by ${after.heap - before.heap}`)
})
