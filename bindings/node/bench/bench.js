// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// What a call costs, in one run: librl's own rl_check() in C, the addon's, and each store beside its library's memory
// store and its store on Redis (ioredis over a unix socket). Rounds take turns: of calls the best, in CPU time, for what
// else runs only adds to it; of hits the median, in time of the clock. Idle, and beside a
// process of the lowest priority on each CPU that keeps it awake: a round trip to a server pays for waking it.
const { spawn, execFileSync } = require('node:child_process')
const os = require('node:os')
const Redis = require('ioredis')
const { MemoryStore } = require('express-rate-limit')
const { RedisStore } = require('rate-limit-redis')
const { RateLimiterMemory, RateLimiterRedis } = require('rate-limiter-flexible')
const LocalStore = require('@fastify/rate-limit/store/LocalStore')
const FastifyRedisStore = require('@fastify/rate-limit/store/RedisStore')
const rl = require('librl')
const { ExpressStore } = require('librl/express-rate-limit')
const { RateLimiterRl } = require('librl/rate-limiter-flexible')
const { FastifyStore } = require('librl/fastify-rate-limit')

const [bare, socket] = process.argv.slice(2)
const ROUNDS = 5
const KEY = '203.0.113.7'
const name = `node-bench-${process.pid}`
const HOUR = 3_600_000

const segment = rl.open(name)
process.on('exit', () => rl.unlink(name))
const redis = new Redis(socket)

const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)]

// Of the CPU, which other programs do not change much; what waits for a server takes time of the clock.
function time (calls, call) {
  const start = process.cpuUsage()
  for (let i = 0; i < calls; i++) call(i)
  const { user, system } = process.cpuUsage(start)
  return (user + system) * 1000 / calls
}

async function timeAsync (calls, call) {
  const start = process.hrtime.bigint()
  for (let i = 0; i < calls; i++) await call(i)
  return Number(process.hrtime.bigint() - start) / calls
}

const many = { capacity: 2 ** 28 - 1, windowMs: HOUR }
const allowed = segment.define('allowed', many)
const few = segment.define('few', { capacity: 1, windowMs: HOUR })
const counters = segment.counters('counted')
const bytes = Buffer.from(KEY)

const calls = {
  'limiter.check, allowed': () => allowed.check(KEY),
  'limiter.check, denied': () => few.check(KEY),
  'limiter.check, a Buffer': () => allowed.check(bytes),
  'limiter.check, with options': () => allowed.check(KEY, 1, { now: 1_800_000_000_000 }),
  'counters.add': () => counters.add(KEY, 1, HOUR),
}

function expressStore (store) {
  store.init({ windowMs: HOUR, limit: 1e6 })
  return () => store.increment(KEY)
}

const incr = (store) => () => new Promise((resolve, reject) => {
  store.incr(KEY, (error, hit) => (error ? reject(error) : resolve(hit)), HOUR, 1e6)
})

const points = { points: 1e9, duration: 3600 }
const stores = {
  'express-rate-limit': {
    librl: expressStore(new ExpressStore({ segment, prefix: 'express' })),
    memory: expressStore(new MemoryStore()),
    ioredis: expressStore(new RedisStore({ sendCommand: (...args) => redis.call(...args) })),
  },
  'rate-limiter-flexible': {
    librl: ((limiter) => () => limiter.consume(KEY))(new RateLimiterRl({ ...points, storeClient: segment })),
    memory: ((limiter) => () => limiter.consume(KEY))(new RateLimiterMemory(points)),
    ioredis: ((limiter) => () => limiter.consume(KEY))(new RateLimiterRedis({ ...points, storeClient: redis })),
  },
  '@fastify/rate-limit': {
    librl: incr(new FastifyStore({}, { segment })),
    memory: incr(new LocalStore(false, false)),
    ioredis: incr(new FastifyRedisStore(false, false, redis)),
  },
}

function bareRounds () {
  const lines = execFileSync(bare, [name, String(ROUNDS)], { encoding: 'utf8' }).trim().split('\n').map((line) => JSON.parse(line))
  return { allowed: Math.min(...lines.map((line) => line.allowed)), denied: Math.min(...lines.map((line) => line.denied)) }
}

function callRounds () {
  const all = Object.fromEntries(Object.keys(calls).map((what) => [what, []]))
  for (let i = 0; i <= ROUNDS; i++) {
    for (const [what, call] of Object.entries(calls)) all[what].push(time(500_000, call))
  }
  return Object.fromEntries(Object.entries(all).map(([what, times]) => [what, Math.min(...times)]))
}

async function storeRounds () {
  const told = {}
  for (const [library, kinds] of Object.entries(stores)) {
    const times = { librl: [], memory: [], ioredis: [] }
    for (let i = 0; i <= ROUNDS; i++) {
      for (const [kind, call] of Object.entries(kinds)) times[kind].push(await timeAsync(kind === 'ioredis' ? 2000 : 100_000, call))
    }
    told[library] = Object.fromEntries(Object.entries(times).map(([kind, all]) => [kind, median(all.slice(1))]))
  }
  return told
}

const ns = (value) => Math.round(value).toLocaleString('en-US')
const times = (value, of) => (value / of).toFixed(value / of < 10 ? 1 : 0)

async function measure (what) {
  const c = bareRounds()
  console.log(`\n## ${what}\n\n| a call | ns of CPU time | times rl_check() in C |\n|---|--:|--:|`)
  console.log(`| rl_check() in C, allowed; denied | ${ns(c.allowed)}; ${ns(c.denied)} | 1 |`)
  for (const [call, value] of Object.entries(callRounds())) {
    console.log(`| ${call} | ${ns(value)} | ${times(value, call.includes('denied') ? c.denied : c.allowed)} |`)
  }
  console.log('\n| a hit | librl, ns | the library\'s memory | ioredis | ioredis / librl |\n|---|--:|--:|--:|--:|')
  for (const [library, t] of Object.entries(await storeRounds())) {
    console.log(`| ${library} | ${ns(t.librl)} | ${ns(t.memory)} | ${ns(t.ioredis)} | ${times(t.ioredis, t.librl)} |`)
  }
}

// A process on each CPU that others interrupt at any time.
function keepAwake () {
  return os.cpus().map(() => {
    const child = spawn(process.execPath, ['-e', 'for (;;) ;'], { stdio: 'ignore' })
    os.setPriority(child.pid, 19)
    return child
  })
}

async function main () {
  await measure('idle')
  const awake = keepAwake()
  try {
    await measure('awake')
  } finally {
    for (const child of awake) child.kill('SIGKILL')
    redis.disconnect()
  }
}

main()
