// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// express-rate-limit on its store here, in a real express: what clients are told, to the second.
const { test, beforeEach, afterEach } = require('node:test')
const assert = require('node:assert/strict')
const http = require('node:http')
const expressOf = require('express')
const { rateLimit } = require('express-rate-limit')
const { segmentName, newSegment, MovedClock, get, listen } = require('../support.js')
const { ExpressStore } = require('librl/express-rate-limit')

const START = 1_800_000_000_000
const MINUTE = 60_000
let segment
let clock
let servers
let stores = 0

beforeEach(() => {
  segment = newSegment({ rules: 200 })
  clock = new MovedClock(START)
  servers = []
})
afterEach(async () => {
  clock.restore()
  for (const server of servers) await new Promise((resolve) => server.close(resolve))
  segment.close()
})

const newStore = (options) => new ExpressStore({ segment, prefix: `test-${stores++}`, ...options })

// A server with a limiter of these options before `handle`; asking it is by its port.
async function serve (options, handle = (request, response) => response.send('hi')) {
  const app = expressOf()
  const limiter = rateLimit({ store: newStore(), validate: false, ...options })
  app.use(limiter)
  app.all('/{*any}', handle)
  app.use((error, request, response, next) => response.status(500).send(error.message))
  const server = http.createServer(app)
  servers.push(server)
  return Object.assign((path, headers) => get(server.address().port, path, headers), { limiter, port: await listen(server) })
}

const statuses = async (ask, count, path) => {
  const all = []
  for (let i = 0; i < count; i++) all.push((await ask(path)).status)
  return all
}

test('so many are let through in a window, and the next one begins with its first hit', async () => {
  const ask = await serve({ windowMs: MINUTE, limit: 2 })
  assert.deepEqual(await statuses(ask, 4), [200, 200, 429, 429])
  clock.tick(MINUTE - 1)
  assert.deepEqual(await statuses(ask, 1), [429])
  clock.tick(1)
  assert.deepEqual(await statuses(ask, 3), [200, 200, 429])
})

test('the library checks nothing about the store that it complains of', async () => {
  const complaints = []
  const logger = { warn: (...all) => complaints.push(all), error: (...all) => complaints.push(all) }
  const ask = await serve({ windowMs: MINUTE, limit: 1, validate: { default: true, creationStack: false }, logger })
  await statuses(ask, 3)
  assert.deepEqual(complaints, [])
})

test('legacy header fields', async () => {
  const ask = await serve({ windowMs: MINUTE, limit: 5, legacyHeaders: true })
  clock.tick(12_300)
  const { headers } = await ask()
  assert.deepEqual([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining'], headers['x-ratelimit-reset']],
    ['5', '4', String(Math.ceil((START + 12_300 + MINUTE) / 1000))])
  for (let i = 0; i < 5; i++) await ask()
  const denied = await ask()
  assert.deepEqual([denied.headers['x-ratelimit-remaining'], denied.headers['retry-after']], ['0', '60'])
})

test('header fields of the drafts', async () => {
  const said = {
    'draft-6': { 'ratelimit-policy': '5;w=60', 'ratelimit-limit': '5', 'ratelimit-remaining': '4', 'ratelimit-reset': '60' },
    'draft-7': { 'ratelimit-policy': '5;w=60', ratelimit: 'limit=5, remaining=4, reset=60' },
    'draft-8': { ratelimit: '"5-in-1min"; r=4; t=60' },
  }
  for (const [standardHeaders, fields] of Object.entries(said)) {
    const ask = await serve({ windowMs: MINUTE, limit: 5, standardHeaders, legacyHeaders: false })
    const { headers } = await ask()
    for (const [name, value] of Object.entries(fields)) assert.equal(headers[name], value, standardHeaders)
    clock.tick(20_001)
    const later = (await ask()).headers
    const reset = later['ratelimit-reset'] ?? later.ratelimit
    assert.match(reset, /\b40$/, standardHeaders)
  }
})

test('a limit that a function tells at each request', async () => {
  const ask = await serve({ windowMs: MINUTE, limit: (request) => Number(request.query.limit) })
  assert.deepEqual(await statuses(ask, 3, '/?limit=2'), [200, 200, 429])
  assert.deepEqual(await statuses(ask, 2, '/?limit=4'), [200, 429])
})

test('a limit of 0 lets nobody through', async () => {
  const ask = await serve({ windowMs: MINUTE, limit: 0 })
  assert.deepEqual(await statuses(ask, 2), [429, 429])
})

test('requests that succeeded are not counted, or those that failed', async () => {
  const handle = (request, response) => response.status(Number(request.query.status)).send('')
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  for (const [option, free, counted] of [['skipSuccessfulRequests', 200, 400], ['skipFailedRequests', 400, 200]]) {
    const ask = await serve({ windowMs: MINUTE, limit: 2, [option]: true }, handle)
    for (let i = 0; i < 5; i++) {
      assert.equal((await ask(`/?status=${free}`)).status, free, option)
      await settle()
    }
    assert.deepEqual(await statuses(ask, 3, `/?status=${counted}`), [counted, counted, 429], option)
  }
})

test('each client has hits of its own', async () => {
  const ask = await serve({ windowMs: MINUTE, limit: 1, keyGenerator: (request) => request.query.key })
  assert.deepEqual([...await statuses(ask, 2, '/?key=a'), ...await statuses(ask, 2, '/?key=b')], [200, 429, 200, 429])
  assert.deepEqual(await statuses(ask, 2, '/'), [200, 429], 'no key at all is one client')
})

test('a client is told, and forgotten, by the limiter', async () => {
  const ask = await serve({ windowMs: MINUTE, limit: 2, keyGenerator: () => 'a' })
  await statuses(ask, 3)
  const { totalHits, resetTime } = await ask.limiter.getKey('a')
  assert.deepEqual([totalHits, resetTime.getTime()], [3, START + MINUTE])
  ask.limiter.resetKey('a')
  assert.equal(await ask.limiter.getKey('a'), undefined)
  assert.deepEqual(await statuses(ask, 3), [200, 200, 429])
})

test('two limiters of one request count each for itself', async () => {
  const app = expressOf()
  const limiters = [5, 2].map((limit) => rateLimit({ windowMs: MINUTE, limit, store: newStore(), validate: false }))
  app.use(...limiters)
  app.get('/', (request, response) => response.send('hi'))
  const server = http.createServer(app)
  servers.push(server)
  const port = await listen(server)
  assert.deepEqual(await statuses(() => get(port), 3), [200, 200, 429])
})

test('without a segment a request fails, or passes if the application says so', async () => {
  const logger = { warn () {}, error () {} }
  const missing = () => newStore({ segment: segmentName(), segmentOptions: { existing: true } })
  const failing = await serve({ windowMs: MINUTE, limit: 1, store: missing(), logger })
  const { status, body } = await failing()
  assert.equal(status, 500)
  assert.match(body, /open segment/)
  const passing = await serve({ windowMs: MINUTE, limit: 1, store: missing(), logger, passOnStoreError: true })
  assert.deepEqual(await statuses(passing, 3), [200, 200, 200])
})

test('requests at once are counted each', async () => {
  const ask = await serve({ windowMs: MINUTE, limit: 10 })
  const all = await Promise.all(Array.from({ length: 40 }, () => ask()))
  assert.equal(all.filter(({ status }) => status === 200).length, 10)
})
