// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// @fastify/rate-limit on its store here.
const { test, beforeEach, afterEach } = require('node:test')
const assert = require('node:assert/strict')
const fastifyOf = require('fastify')
const plugin = require('@fastify/rate-limit')
const { segmentName, newSegment, MovedClock, rlctl } = require('../support.js')
const { fastifyStore } = require('librl/fastify-rate-limit')

const START = 1_800_000_000_000
let segment
let clock
let apps

beforeEach(() => {
  segment = newSegment()
  clock = new MovedClock(START)
  apps = []
})
afterEach(async () => {
  clock.restore()
  for (const app of apps) await app.close()
  segment.close()
})

async function serve (options, routes = (app) => app.get('/', async () => 'hello')) {
  const app = fastifyOf()
  apps.push(app)
  await app.register(plugin, { max: 2, timeWindow: 1000, store: fastifyStore({ segment }), ...options })
  routes(app)
  return (url = '/', more) => app.inject({ url, ...more })
}

const told = ({ statusCode, headers }) => [statusCode, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining'],
  headers['x-ratelimit-reset'], headers['retry-after']]

test('so many in a window, and header fields', async () => {
  const ask = await serve()
  assert.deepEqual(told(await ask()), [200, '2', '1', '1', undefined])
  assert.deepEqual(told(await ask()), [200, '2', '0', '1', undefined])
  assert.deepEqual(told(await ask()), [429, '2', '0', '1', '1'])
  clock.tick(1000)
  assert.deepEqual(told(await ask()), [200, '2', '1', '1', undefined])
})

test('fields count down with the window', async () => {
  const ask = await serve({ timeWindow: 60_000 })
  await ask()
  clock.tick(20_001)
  assert.equal((await ask()).headers['x-ratelimit-reset'], '40')
})

test('a window as a text, and one by a function', async () => {
  const ask = await serve({ timeWindow: '1 minute' })
  assert.equal((await ask()).headers['x-ratelimit-reset'], '60')
  const other = await serve({ timeWindow: (request, key) => (key === '127.0.0.1' ? 5000 : 1), keyGenerator: () => '127.0.0.1', store: fastifyStore({ segment, prefix: 'other-' }) })
  assert.equal((await other()).headers['x-ratelimit-reset'], '5')
})

test('a limit by a function', async () => {
  const ask = await serve({ max: (request, key) => (key === 'vip' ? 3 : 1), keyGenerator: (request) => request.headers.user })
  const as = async (user, count) => {
    const all = []
    for (let i = 0; i < count; i++) all.push((await ask('/', { headers: { user } })).statusCode)
    return all
  }
  assert.deepEqual(await as('vip', 4), [200, 200, 200, 429])
  assert.deepEqual(await as('guest', 2), [200, 429])
})

test('whoever goes on too long is banned', async () => {
  const reached = []
  const ask = await serve({ max: 1, ban: 1, onBanReach: (request, key) => reached.push(key) })
  const all = []
  for (let i = 0; i < 4; i++) all.push((await ask()).statusCode)
  assert.deepEqual(all, [200, 429, 403, 403])
  assert.deepEqual(reached, ['127.0.0.1', '127.0.0.1'])
  clock.tick(1000)
  assert.equal((await ask()).statusCode, 200)
})

test('continueExceeding: who goes on is not let in', async () => {
  const ask = await serve({ max: 1, continueExceeding: true })
  await ask()
  for (let i = 0; i < 5; i++) {
    clock.tick(900)
    assert.equal((await ask()).statusCode, 429)
  }
  clock.tick(1000)
  assert.equal((await ask()).statusCode, 200)
})

test('exponentialBackoff: and longer each time', async () => {
  const ask = await serve({ max: 1, exponentialBackoff: true })
  const resets = []
  for (let i = 0; i < 5; i++) resets.push((await ask()).headers['x-ratelimit-reset'])
  assert.deepEqual(resets, ['1', '1', '2', '4', '8'])
  clock.tick(7999)
  assert.equal((await ask()).statusCode, 429)
})

test('routes have limits of their own, and groups', async () => {
  const ask = await serve({ global: false }, (app) => {
    app.get('/one', { config: { rateLimit: { max: 1, timeWindow: 1000 } } }, async () => '')
    app.get('/two', { config: { rateLimit: { max: 3, groupId: 'g' } } }, async () => '')
    app.get('/free', async () => '')
  })
  const status = async (url, count) => {
    const all = []
    for (let i = 0; i < count; i++) all.push((await ask(url)).statusCode)
    return all
  }
  assert.deepEqual(await status('/one', 2), [200, 429])
  assert.deepEqual(await status('/two', 4), [200, 200, 200, 429])
  assert.deepEqual(await status('/free', 9), Array(9).fill(200))
})

test('limiters made by hand, and a look that counts nothing', async () => {
  const ask = await serve({ global: false }, (app) => {
    const check = app.createRateLimit({ max: 2, timeWindow: 1000 })
    app.get('/look', async (request) => check(request, { increment: false }))
    app.get('/hit', async (request) => check(request))
  })
  const hit = async (url) => {
    const { remaining, ttl, isExceeded } = (await ask(url)).json()
    return [remaining, ttl, isExceeded]
  }
  assert.deepEqual(await hit('/look'), [2, 0, false])
  assert.deepEqual(await hit('/hit'), [1, 1000, false])
  clock.tick(100)
  assert.deepEqual(await hit('/look'), [1, 900, false])
  assert.deepEqual([await hit('/hit'), await hit('/hit')], [[0, 900, false], [0, 900, true]])
})

test('two servers of one segment share the limit', async () => {
  const [one, two] = [await serve(), await serve()]
  const all = []
  for (const ask of [one, two, one, two]) all.push((await ask()).statusCode)
  assert.deepEqual(all, [200, 200, 429, 429])
})

test('without a segment a request fails, or passes if the application says so', async () => {
  const store = () => fastifyStore({ segment: segmentName(), segmentOptions: { existing: true } })
  const failing = await (await serve({ store: store() }))()
  assert.equal(failing.statusCode, 500)
  assert.match(failing.body, /open segment/)
  const passing = await serve({ store: store(), skipOnError: true })
  assert.deepEqual([(await passing()).statusCode, (await passing()).statusCode, (await passing()).statusCode], [200, 200, 200])
})

test('rlctl shows the keys', async () => {
  clock.ms = Number(segment.now() / 1_000_000n)
  const ask = await serve({ timeWindow: 60_000 }, (app) => app.get('/login', { config: { rateLimit: { max: 1 } } }, async () => ''))
  await ask('/login')
  assert.match(rlctl('--segment', segment.name, 'list'), /GET\/login-127\.0\.0\.1/)
})
