// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// A share of a cluster's limit is waited for: run by tests/support/lent.py, beside a store and rld.
const { test } = require('node:test')
const assert = require('node:assert/strict')
const http = require('node:http')
const { rl, get, listen, until } = require('../support.js')
const { WAITERS_MAX } = require('../node_modules/librl/lib/wait.js')

const segment = rl.open(process.env.RL_LENT_SEGMENT, { existing: true })
const [five, none] = ['five', 'none'].map((name) => segment.limiter(name))
const store = Number(process.env.RL_LENT_STORE)

// What is asked for meanwhile is lent by nobody.
async function withoutStore (call) {
  process.kill(store, 'SIGSTOP')
  try {
    await call()
  } finally {
    process.kill(store, 'SIGCONT')
  }
}

// What a busy machine may keep from happening within the second of a wait: with one of ten keys it does.
const inTime = async (key, holds) => {
  for (let i = 0; ; i++) {
    try {
      return await holds(key + i)
    } catch (error) {
      if (i === 9) throw error
    }
  }
}

const allowed = async (times, ask) => {
  const answers = []
  for (let i = 0; i < times; i++) answers.push((await ask()).allowed)
  return answers
}

test('five of five are admitted, and no more', () => inTime('a', async (key) => {
  assert.equal(five.check(key).reason, 'share') // who does not wait
  assert.deepEqual(await allowed(7, () => five.checkAsync(key)), [true, true, true, true, true, false, false])
}))

test('several at once', () => inTime('b', async (key) => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => five.checkAsync(key)))
  assert.equal(answers.filter((one) => one.allowed).length, 5)
}))

test('several limits', () => inTime('c', async (key) => {
  const both = () => segment.checkAllAsync([{ limiter: five, key }, { limiter: segment.limiter('unasked'), key: 'c' }])
  assert.deepEqual(await allowed(6, both), [true, true, true, true, true, false])
}))

test('nobody waits where the limit says so', async () => {
  const result = await none.checkAsync('d')
  assert.deepEqual([result.allowed, result.reason, result.delayMs], [false, 'share', 0])
})

test('the event loop goes on, and a wait ends when the limit says so', () => inTime('e', (key) => withoutStore(async () => {
  const began = performance.now()
  const asked = five.checkAsync(key)
  let turns = 0
  const turn = setInterval(() => turns++, 10)
  assert.equal((await asked).allowed, false)
  clearInterval(turn)
  const took = performance.now() - began
  assert.ok(took >= 990 && took < 5000 && turns > 10, `${took} ms, ${turns} turns`)
})))

test('one that is given up was not charged', () => inTime('f', async (key) => {
  await withoutStore(async () => {
    const asked = five.checkAsync(key, 1, { signal: AbortSignal.timeout(20) })
    await assert.rejects(asked, { name: 'TimeoutError' })
  })
  assert.equal((await allowed(6, () => five.checkAsync(key))).filter(Boolean).length, 5)
}))

test('a thousand wait, and the next one is denied at once', () => inTime('g', (key) => withoutStore(async () => {
  const all = Array.from({ length: WAITERS_MAX }, () => five.checkAsync(key))
  const late = await Promise.race([five.checkAsync('h'), all[0]])
  assert.deepEqual([late.reason, late.delayMs], ['share', 0])
  await Promise.all(all)
})))

test('the middleware waits, and not for a client that is gone', () => inTime('i', async (key) => {
  const gate = require('librl/middleware').koa({ limiter: five, key: () => key })
  const server = http.createServer((request, res) => {
    const context = { request, res, socket: request.socket, state: {}, set () {} }
    const served = () => { context.status = 200 }
    gate(context, served).then(() => { res.statusCode = context.status; res.end() })
  })
  const port = await listen(server)
  await withoutStore(async () => {
    const gone = http.get({ port, host: '127.0.0.1', agent: false }).on('error', () => {})
    const connected = new Promise((resolve) => server.once('request', resolve))
    await connected
    gone.destroy()
    await new Promise((resolve) => setTimeout(resolve, 50))
  })
  const statuses = []
  for (let i = 0; i < 6; i++) statuses.push((await get(port)).status)
  server.close()
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429])
  await until(() => segment.limiter('five').peek(key).used === 5, 'five are charged')
}))
