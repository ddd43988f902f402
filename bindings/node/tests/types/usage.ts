// SPDX-License-Identifier: BSD-2-Clause
// Never run: tsc reads it, as CommonJS and as an ES module.
import { open, http, keyDigest, parseRate, type Result, type KeptResult, type Segment, type Limiter } from 'librl'
import { ExpressStore } from 'librl/express-rate-limit'
import { RateLimiterRl } from 'librl/rate-limiter-flexible'
import { fastifyStore, FastifyStore } from 'librl/fastify-rate-limit'
import * as middleware from 'librl/middleware'
import express from 'express'
import { rateLimit, type Store } from 'express-rate-limit'
import fastify from 'fastify'
import fastifyLimit from '@fastify/rate-limit'

const segment: Segment = open('web', { keys: 1000, onFull: 'deny', keyBytes: false })
const login: Limiter = segment.define('login', '5/min')
segment.define('api', [{ limit: '20/s', algorithm: 'token_bucket', burst: 40 }, '10000/day'])
const result: Result = login.check(Buffer.from('alice'), 2, { now: 1n, capacity: 7 })
const kept: KeptResult = login.check('alice', 1, { keep: true })
const given: number = kept.refund() + login.acquire(5n).release()
login.checkAsync('alice', 1, { signal: AbortSignal.timeout(5) }).then((asked) => asked.allowed)
login.spend('alice', 800, async (spent) => spent.settle(7)).then((done) => done.toFixed())
login.spend('alice', 800, ({ stream }) => stream(['a', 'b'], (text) => text.length).next())
const wait: number = result.retryAfterMs
const field: string | undefined = http.retryAfter(result)
const rate: bigint = parseRate('5/min').windowNs
segment.ban({ network: '192.0.2.0/24' }, Date.now() + wait)
segment.counters('c').add(keyDigest('x'), 1, Infinity).value.toFixed(given)

const store: Store = new ExpressStore({ prefix: 'login', segment })
const app = express()
app.use(rateLimit({ windowMs: 60_000, limit: 5, store }))
app.use(middleware.express({ limiter: login, key: (request) => request.socket.remoteAddress ?? '', headers: 'x' }))

const flexible = new RateLimiterRl({ storeClient: segment, points: 5, duration: 60 })
flexible.consume('alice', 1).then((res) => res.msBeforeNext.toFixed())

const server = fastify()
server.register(fastifyLimit, { max: 5, store: fastifyStore({ segment: 'web' }) })
server.register(fastifyLimit, { max: 5, store: FastifyStore })
server.register(middleware.fastify, { name: 'api', limit: '5/min', onUndecided: 'allow', countStatus: [401, '5xx'] })

// What is wrong is told.
// @ts-expect-error a key is no object
login.check({})
// @ts-expect-error nothing was kept
login.check('a').refund()
// @ts-expect-error there is no such policy
open('web', { onFull: 'panic' })
// @ts-expect-error a class of statuses is text
middleware.koa({ limiter: login, countStatus: { from: 400 } })
// @ts-expect-error a limiter or a name is needed
middleware.koa({})

export { rate, field }
