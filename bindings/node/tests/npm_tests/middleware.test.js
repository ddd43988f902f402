// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// librl's own middleware in a real express, koa and fastify: each case in all three.
const { test, describe } = require('node:test')
const assert = require('node:assert/strict')
const { once } = require('node:events')
const http = require('node:http')
const { Readable } = require('node:stream')
const expressOf = require('express')
const Koa = require('koa')
const fastifyOf = require('fastify')
const { rl, segmentName, newSegment, get, storm, listen, rlctl, until } = require('../support.js')
const middleware = require('librl/middleware')

const rule = { algorithm: 'fixed_window', capacity: 2, windowMs: 86_400_000 }

const PROBLEMS = 'https://iana.org/assignments/http-problem-types#'

// What the body of a refusal says.
function problemOf ({ status, headers, body }) {
  assert.match(headers['content-type'], /^application\/problem\+json\b/)
  const told = JSON.parse(body)
  assert.deepEqual([told.status, told.type.startsWith(PROBLEMS)], [status, true])
  return { status, type: told.type.slice(PROBLEMS.length), policies: told['violated-policies'] }
}

const frameworks = {
  async express (options, work) {
    const app = expressOf()
    app.use(middleware.express(options))
    app.use(async (request, response) => response.send(await work(request)))
    app.use((error, request, response, next) => response.status(error.status ?? 500).send(error.message))
    const server = http.createServer(app)
    return { port: await listen(server), close: () => server.close() }
  },
  async koa (options, work) {
    const app = new Koa()
    app.silent = true
    app.use(middleware.koa(options))
    app.use(async (context) => { context.body = await work(context.req) })
    const server = http.createServer(app.callback())
    return { port: await listen(server), close: () => server.close() }
  },
  async fastify (options, work) {
    const app = fastifyOf({ forceCloseConnections: true })
    await app.register(middleware.fastify, options)
    app.get('/*', async (request) => work(request.raw))
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: app.server.address().port, close: () => app.close() }
  },
}

for (const [name, start] of Object.entries(frameworks)) {
  const serving = async (options, call, work = async () => 'ok') => {
    const server = await start(options, work)
    try {
      return await call((path, headers) => get(server.port, path, headers), server)
    } finally {
      await server.close()
    }
  }

  describe(name, () => {
    test('lets through what is allowed, denies the rest, and says so', async () => {
      const segment = newSegment()
      const limiter = segment.define('api', rule)
      await serving({ limiter }, async (ask) => {
        const [one, two, three] = [await ask(), await ask(), await ask()]
        assert.deepEqual([one.status, two.status, three.status], [200, 200, 429])
        assert.equal(one.headers['ratelimit-policy'], '"api";q=2;w=86400')
        assert.match(one.headers.ratelimit, /^"api";r=1;t=\d+$/)
        assert.match(three.headers.ratelimit, /^"api";r=0;t=\d+$/)
        assert.equal(three.headers['retry-after'], three.headers.ratelimit.split('t=')[1])
        assert.equal(one.headers['retry-after'], undefined)
        assert.deepEqual(problemOf(three), { status: 429, type: 'quota-exceeded', policies: ['api'] })
      })
      assert.match(rlctl('--segment', segment.name, 'get', '127.0.0.1'), /2/)
      segment.close()
    })

    test('fields by a version of the draft', async () => {
      const segment = newSegment()
      await serving({ limiter: segment.define('api', rule), headers: 'ietf-7' }, async (ask) => {
        const { headers } = await ask()
        assert.equal(headers['ratelimit-policy'], '2;w=86400')
        assert.match(headers.ratelimit, /^limit=2, remaining=1, reset=\d+$/)
      })
      segment.close()
    })

    test('older fields, or none; another status and message', async () => {
      const segment = newSegment()
      const limiter = segment.define('api', { ...rule, capacity: 1 })
      await serving({ limiter, headers: 'x', status: 503, message: 'later' }, async (ask) => {
        const [one, two] = [await ask(), await ask()]
        assert.deepEqual([one.headers['x-ratelimit-limit'], one.headers['x-ratelimit-remaining']], ['1', '0'])
        assert.match(one.headers['x-ratelimit-reset'], /^\d+$/)
        assert.deepEqual([two.status, two.body, one.headers.ratelimit], [503, 'later', undefined])
      })
      await serving({ limiter, headers: false }, async (ask) => {
        const { status, headers } = await ask()
        assert.deepEqual([status, headers.ratelimit, headers['retry-after']], [429, undefined, undefined])
      })
      segment.close()
    })

    test('whose request it is: a key, or the client behind trusted proxies', async () => {
      const segment = newSegment()
      const keyOf = (request) => (request.headers ?? request.req.headers).user
      await serving({ limiter: segment.define('key', rule), key: keyOf }, async (ask) => {
        const as = async (user) => (await ask('/', { user })).status
        assert.deepEqual([await as('a'), await as('a'), await as('a'), await as('b')], [200, 200, 429, 200])
      })
      await serving({ limiter: segment.define('proxy', rule), trust: ['127.0.0.0/8'] }, async (ask) => {
        const from = async (value) => (await ask('/', { 'x-forwarded-for': value })).status
        assert.deepEqual([await from('6.6.6.6, 203.0.113.1'), await from('7.7.7.7, 203.0.113.1'), await from('203.0.113.1'),
          await from('203.0.113.2')], [200, 200, 429, 200])
        assert.deepEqual([await from('2001:db8::1'), await from('2001:db8::2'), await from('2001:db8::3')], [200, 200, 429])
      })
      await serving({ limiter: segment.define('untrusted', rule) }, async (ask) => {
        const from = async (value) => (await ask('/', { 'x-forwarded-for': value })).status
        assert.deepEqual([await from('1.1.1.1'), await from('2.2.2.2'), await from('3.3.3.3')], [200, 200, 429])
      })
      segment.close()
    })

    test('what it costs; more than is ever allowed is forbidden', async () => {
      const segment = newSegment()
      const cost = (request) => Number((request.url ?? request.req.url).slice(1))
      await serving({ limiter: segment.define('api', rule), cost }, async (ask) => {
        const never = await ask('/3')
        assert.match(JSON.parse(never.body).detail, /costs more than its limit admits/)
        assert.deepEqual([never.status, (await ask('/2')).status, (await ask('/1')).status], [403, 200, 429])
        segment.ban('127.0.0.1')
        assert.deepEqual(problemOf(await ask('/1')), { status: 429, type: 'abnormal-usage-detected', policies: ['api'] })
      })
      segment.close()
    })

    test('a request that is skipped is not counted; an own answer to who is denied', async () => {
      const segment = newSegment()
      const limiter = segment.define('api', { ...rule, capacity: 1 })
      const skip = (request) => (request.url ?? request.req.url) === '/health'
      const onDenied = {
        express: (request, response) => response.status(418).end('no'),
        koa: (context) => { context.status = 418 },
        fastify: (request, reply) => reply.code(418).send('no'),
      }[name]
      await serving({ limiter, skip, onDenied }, async (ask) => {
        const all = []
        for (const path of ['/health', '/health', '/', '/', '/health']) all.push((await ask(path)).status)
        assert.deepEqual(all, [200, 200, 200, 418, 200])
      })
      segment.close()
    })

    test('without a segment: an error, or allowed, or denied, as said, and not in silence', async () => {
      const missing = { name: 'api', limit: '5/min', segmentOptions: { existing: true } }
      for (const [onUndecided, status] of [['error', 503], ['allow', 200], ['deny', 429]]) {
        const segment = segmentName()
        const errors = []
        await serving({ ...missing, segment, onUndecided, onError: (error) => errors.push(error.code) }, async (ask) => {
          const answer = await ask()
          assert.equal(answer.status, status, onUndecided)
          if (onUndecided === 'deny') assert.deepEqual(problemOf(answer), { status, type: 'temporary-reduced-capacity', policies: undefined })
          rl.open(segment).close()
          await until(async () => (await ask()).headers.ratelimit !== undefined, 'the segment')
        })
        assert.equal(errors[0], 'ENOENT')
      }
      const warned = new Promise((resolve) => process.once('warning', resolve))
      await serving({ ...missing, segment: segmentName(), onUndecided: 'allow' }, (ask) => ask())
      assert.match((await warned).message, /allowed unlimited/)
    })

    test('a key that is empty or none is not let through in silence', async () => {
      const segment = newSegment()
      const limiter = segment.define('api', rule)
      for (const key of [() => '', () => undefined, async () => { throw new Error('no key') }]) {
        await serving({ limiter, key }, async (ask) => assert.equal((await ask()).status, 503))
      }
      segment.close()
    })

    test('of answers some count, and what others were charged is given back before the client has them', async () => {
      const segment = newSegment()
      const statusOf = (request) => Number((request.url ?? request.req.url).slice(1))
      let used
      for (const [countStatus, counted, others] of [[[401, '5xx'], [401, 500, 503], [200, 404]], [401, [401], [400]],
        ['4xx', [404], [500]], [(status, request) => status === 404 && statusOf(request) === 404, [404], [401]]]) {
        const limiter = segment.define('failed', { ...rule, capacity: 100 })
        limiter.resetAll()
        const work = async (request) => {
          const status = statusOf(request)
          if (status !== 200) throw Object.assign(new Error('told'), { status, statusCode: status })
          return 'ok'
        }
        await serving({ limiter, countStatus }, async (ask) => {
          for (const status of [...counted, ...others]) {
            used = limiter.peek('127.0.0.1').used
            assert.equal((await ask(`/${status}`)).status, status)
            assert.equal(limiter.peek('127.0.0.1').used - used, counted.includes(status) ? 1 : 0, `${String(countStatus)} ${status}`)
          }
        }, work)
      }
      segment.close()
    })

    test('of 50 wrong guesses at once 5 come through; 1,000 right ones leave nothing', async () => {
      const segment = newSegment()
      const limiter = segment.define('login', { ...rule, capacity: 5 })
      const guesses = []
      let reached = 0
      const work = (request) => {
        reached++
        if (request.url === '/right') return 'ok'
        const wrong = Object.assign(new Error('wrong'), { status: 401, statusCode: 401 })
        return new Promise((resolve, reject) => guesses.push(() => reject(wrong)))
      }
      await serving({ limiter, countStatus: [401] }, async (ask, { port }) => {
        const right = await storm(port, 1000, 4, '/right')
        assert.deepEqual([[...right], limiter.peek('127.0.0.1').used], [[[200, 1000]], 0])
        reached = 0
        const all = Array.from({ length: 50 }, () => ask('/wrong'))
        await until(() => guesses.length === 5, 'the guesses')
        assert.equal((await Promise.race(all)).status, 429)
        guesses.forEach((answer) => answer())
        const statuses = (await Promise.all(all)).map(({ status }) => status)
        assert.deepEqual([statuses.filter((one) => one === 401).length, statuses.filter((one) => one === 429).length, reached], [5, 45, 5])
      }, work)
      segment.close()
    })

    test('a request whose client is gone counts, and its unit in flight comes back', async () => {
      const segment = newSegment()
      const limiter = segment.define('both', [rule, { algorithm: 'in_flight', capacity: 1 }])
      const usedOf = () => limiter.checkLimits('127.0.0.1', 0).limits.map(({ used }) => used)
      let isAsked = false
      const work = () => { isAsked = true; return new Promise(() => {}) }
      await serving({ limiter, countStatus: [401] }, async (ask, { port }) => {
        const broken = http.get({ port, host: '127.0.0.1', agent: false }).on('error', () => {})
        await until(() => isAsked, 'the request')
        assert.deepEqual(usedOf(), [1, 1])
        broken.destroy()
        await until(() => usedOf()[1] === 0, 'the unit')
        assert.deepEqual(usedOf(), [1, 0])
      }, work)
      segment.close()
    })

    test('a unit in flight stays until the answer is over, though that does not count', async () => {
      const segment = newSegment()
      const limiter = segment.define('both', [rule, { algorithm: 'in_flight', capacity: 1 }])
      const usedOf = () => limiter.checkLimits('127.0.0.1', 0).limits.map(({ used }) => used)
      let finish
      const work = (request) => {
        const body = new Readable({ read () {} })
        body.push('begun')
        finish = () => body.push(null)
        return body
      }
      const streaming = { express: async (request) => request.res.type('text') && work(request).pipe(request.res) && new Promise(() => {}) }[name]
      await serving({ limiter, countStatus: [401] }, async (ask, { port }) => {
        const request = http.get({ port, host: '127.0.0.1', agent: false })
        const [response] = await once(request, 'response')
        assert.deepEqual([response.statusCode, ...usedOf()], [200, 0, 1])
        response.resume()
        finish()
        await until(() => usedOf()[1] === 0, 'the unit')
      }, streaming ?? work)
      segment.close()
    })

    test('a function that fails lets the answer count, and is told of', async () => {
      const segment = newSegment()
      const limiter = segment.define('failed', rule)
      const errors = []
      const countStatus = () => { throw new Error('no idea') }
      await serving({ limiter, countStatus, onError: (error) => errors.push(error.message) }, async (ask) => {
        assert.equal((await ask()).status, 200)
        assert.deepEqual([limiter.peek('127.0.0.1').used, errors], [1, ['no idea']])
      })
      segment.close()
    })

    test('an IPv6 client is as many bits as are said, and a mapped address is an IPv4 one', async () => {
      const segment = newSegment()
      for (const [prefixV6, key] of [[undefined, '2001:db8:0:7::'], [56, '2001:db8::'], [128, '2001:db8:0:7::1']]) {
        const limiter = segment.define(`bits${prefixV6}`, rule)
        await serving({ limiter, prefixV6, trust: ['127.0.0.0/8'] }, async (ask) => {
          await ask('/', { 'x-forwarded-for': '2001:db8:0:7::1' })
          for (const address of ['::ffff:192.0.2.1', '192.0.2.1']) await ask('/', { 'x-forwarded-for': address })
          assert.deepEqual([limiter.peek(key).used, limiter.peek('192.0.2.1').used], [1, 2])
        })
      }
      segment.close()
    })

    test('units in flight come back with the end of the answer, also of one that is broken off', async () => {
      const segment = newSegment()
      const limiter = segment.define('slots', { algorithm: 'in_flight', capacity: 1 })
      let finish
      const work = () => new Promise((resolve) => { finish = resolve })
      await serving({ limiter }, async (ask, { port }) => {
        const first = ask('/')
        await until(() => finish !== undefined, 'the first request')
        const denied = await ask('/')
        assert.deepEqual([denied.status, denied.headers['retry-after']], [429, undefined])
        finish('done')
        assert.equal((await first).status, 200)
        await until(() => limiter.peek('127.0.0.1').used === 0, 'the unit')
        finish = undefined
        const broken = http.get({ port, host: '127.0.0.1', agent: false }).on('error', () => {})
        await until(() => finish !== undefined, 'the second request')
        broken.destroy()
        await until(() => limiter.peek('127.0.0.1').used === 0, 'the unit of who is gone')
        finish('done')
      }, work)
      segment.close()
    })

    test('a leaky bucket makes requests wait', async () => {
      const segment = newSegment()
      const limiter = segment.define('slow', { algorithm: 'leaky_bucket', capacity: 20, windowMs: 1000, burst: 5 })
      await serving({ limiter }, async (ask) => {
        const start = performance.now()
        const all = await Promise.all([ask(), ask(), ask()])
        assert.deepEqual(all.map(({ status }) => status), [200, 200, 200])
        assert.ok(performance.now() - start >= 49)
      })
      segment.close()
    })

    test('the policy of a bucket is its rate, and follows an administrator', async () => {
      const segment = newSegment()
      const limiter = segment.define('bucket', { algorithm: 'token_bucket', capacity: 10, windowMs: 60_000, burst: 20 })
      await serving({ limiter }, async (ask) => {
        assert.equal((await ask()).headers['ratelimit-policy'], '"bucket";q=10;w=60')
        segment.define('bucket', { algorithm: 'token_bucket', capacity: 7, windowMs: 60_000, burst: 20 })
        await until(async () => (await ask()).headers['ratelimit-policy'] === '"bucket";q=7;w=60', 'the new policy')
      })
      segment.close()
    })

    test('options that cannot be are refused when it is made', async () => {
      const segment = newSegment()
      const limiter = segment.define('api', rule)
      const bad = [{}, { limiter, headers: 'all' }, { limiter, onUndecided: 'hope' }, { limiter, countStatus: [] }, { limiter, countStatus: ['6xx'] }, { limiter, trust: ['everybody'] },
        { limiter, field: 'x-real-ip' }, { name: 'api', segment: 'a/b' }]
      for (const options of bad) await assert.rejects(start(options), Error, JSON.stringify(Object.keys(options)))
      segment.close()
    })
  })
}
