// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// Middleware for express, koa and fastify: one limiter, and fields of HTTP as rl_http.h writes them.
const { native } = require('./native.js')
const http = require('./http.js')
const { Limiter } = require('./limiter.js')
const { Source, lazily } = require('./source.js')
const { undecided } = require('./errors.js')
const { movedNow } = require('./clock.js')
const { waited } = require('./wait.js')

const POLICY_MS = 1000
const WARN_MS = 60_000
const FORBIDDEN = 403
const TOO_MANY = 429
const UNAVAILABLE = 503
const PROBLEM = { 'content-type': 'application/problem+json' }

const DEFAULTS = { cost: 1, headers: 'ietf', status: TOO_MANY, onUndecided: 'error' }
const CHOICES = { headers: ['ietf', 'ietf-11', 'ietf-7', 'x', false], onUndecided: ['error', 'allow', 'deny'] }

function checkChoices (options) {
  for (const [name, allowed] of Object.entries(CHOICES)) {
    if (allowed.includes(options[name])) continue
    throw new RangeError(`rl: ${name}: ${String(options[name])}; ${allowed.map(String).join(', ')} are allowed`)
  }
}

// A function of a status and the request that says whether the answer counts; undefined: all answers do.
function statusMatcher (given) {
  if (given === undefined || typeof given === 'function') return given
  const all = [].concat(given).map((one) => String(one).toLowerCase())
  const wrong = all.find((text) => !/^[1-5](xx|\d\d)$/.test(text))
  if (wrong !== undefined || all.length === 0) {
    throw new RangeError(`rl: countStatus: ${wrong ?? 'nothing'}; statuses such as 401 and '4xx', or a function, are allowed`)
  }
  return (status) => all.includes(String(status)) || all.includes(`${Math.floor(status / 100)}xx`)
}

// How a request of one framework is read and answered is told by the functions that use this.
class Guard {
  #options
  #limiter
  #field
  #isCounted
  #policy = {}
  #warnAt = 0

  // { limiter } or { segment, segmentOptions, name, limit }, and what DEFAULTS has; key, trust, field, prefixV4,
  // prefixV6; skip, countStatus, onDenied, onError.
  constructor (options) {
    this.#options = { ...DEFAULTS, ...options }
    checkChoices(this.#options)
    this.#isCounted = statusMatcher(this.#options.countStatus)
    this.#limiter = this.#findLimiter()
    this.#field = this.#options.field ?? 'x-forwarded-for'
    this.#clientOf('127.0.0.1', {}) // a bad network is refused now
  }

  get options () { return this.#options }

  // What is to be done with a request: { result, fields, status, error, waitMs }. Status 0: serve it.
  async decide (request, from, response) {
    const { skip } = this.#options
    if (skip !== undefined && await skip(request)) return { fields: [], status: 0, waitMs: 0 }
    try {
      return this.#answer(await this.#ask(request, from, response))
    } catch (error) {
      return this.#fail(error, request)
    }
  }

  // What a request that is served was charged comes back if its answer does not count, before the first byte of that; its
  // units in flight when the answer is over, however it ends.
  watch (result, request, response) {
    if (result === undefined || !result.allowed) return
    if (this.#isCounted !== undefined) atHead(response, (status) => this.#judge(result, status, request))
    atEnd(response, () => result.release())
  }

  #judge (result, status, request) {
    try {
      if (!this.#isCounted(status, request)) result.refund(undefined, { holds: false })
    } catch (error) { // the answer is there, and counts
      this.#tell(error, request, 'an answer counts that may not')
    }
  }

  #findLimiter () {
    const { limiter, name, limit, segment, segmentOptions } = this.#options
    if (limiter instanceof Limiter) return () => limiter
    if (typeof name !== 'string') throw new TypeError('rl: a limiter, or the name of one, is to be given')
    const find = (opened) => (limit === undefined ? opened.limiter(name) : opened.define(name, limit))
    return lazily(new Source(segment, segmentOptions), find)
  }

  #clientOf (address, headers) {
    const { trust, prefixV4, prefixV6 } = this.#options
    const lines = trust === undefined ? [] : (headers[this.#field] ?? [])
    return http.client(address ?? '', { trust, field: this.#field, lines, prefixV4, prefixV6 }).address
  }

  async #ask (request, { ip, peer, headers }, response) {
    const { key, cost, trust } = this.#options
    const by = key === undefined ? this.#clientOf(trust === undefined ? ip : peer, headers) : await key(request)
    const price = typeof cost === 'function' ? await cost(request) : cost
    const ask = (waits) => this.#limiter().acquire(by, price, { now: movedNow(), waits })
    const result = await waited(ask, (answer) => answer, () => response.destroyed)
    if (result.verdict === 'undecided' || result.error === 'RL_EEMPTY') {
      throw undecided(result.error, this.#limiter().name)
    }
    return result
  }

  #answer (result) {
    const status = result.allowed ? 0 : result.verdict === 'never' ? FORBIDDEN : this.#options.status
    return { result, status, fields: this.#fields(result), waitMs: result.allowed ? result.delayMs : 0 }
  }

  // The body of a refusal, and its fields: the program's message, or what kind of refusal it is, for programs.
  refusal (status, result) {
    const { message } = this.#options
    if (message !== undefined) return { body: message, of: {} }
    return { body: http.problem(status, result && this.#limiter().name, result), of: PROBLEM }
  }

  #fields (result) {
    if (this.#options.headers === false) return []
    const retryAfter = http.retryAfter(result)
    const fields = this.#options.headers === 'x' ? xFields(result) : this.#ietfFields(result)
    if (retryAfter !== undefined) fields.push(['Retry-After', retryAfter])
    return fields
  }

  // A result that no limit has decided says nothing of one.
  #ietfFields (result) {
    if (result.limit === 0) return []
    const name = this.#limiter().name
    return [['RateLimit-Policy', this.#policyOf(name, result)], ['RateLimit', http.rateLimit(name, result, this.#options.headers)]]
      .filter(([, value]) => value !== undefined)
  }

  // An administrator may change a rule: its policy is looked up anew each second.
  #policyOf (name, result) {
    const p = this.#policy
    if (p.index !== result.index || p.limit !== result.limit || native.monotonic() >= p.until) {
      const rule = this.#limiter().info()?.limits[result.index]
      this.#policy = {
        index: result.index, limit: result.limit, until: native.monotonic() + POLICY_MS,
        text: http.rateLimitPolicy(name, policyOf(rule, result), this.#options.headers),
      }
    }
    return this.#policy.text
  }

  #fail (error, request) {
    const { onUndecided, status } = this.#options
    if (onUndecided === 'error') {
      this.#options.onError?.(error, request)
      error.status ??= UNAVAILABLE
      error.statusCode ??= UNAVAILABLE
      return { error, fields: [], status: UNAVAILABLE, waitMs: 0 }
    }
    this.#tell(error, request, `requests are ${onUndecided === 'deny' ? 'denied' : 'allowed'} unlimited`)
    return { fields: [], status: onUndecided === 'deny' ? status : 0, waitMs: 0 }
  }

  // Nothing of it happens in silence.
  #tell (error, request, what) {
    const { onError } = this.#options
    if (onError !== undefined) onError(error, request)
    else if (native.monotonic() >= this.#warnAt) {
      this.#warnAt = native.monotonic() + WARN_MS
      process.emitWarning(`${what}: ${error.message}`, { type: 'RlWarning', code: error.code })
    }
  }
}

const isBucket = (rule) => rule?.algorithm === 'token_bucket' || rule?.algorithm === 'leaky_bucket'

// Of a bucket the limit told is its burst; what comes in a window is the rule's capacity.
function policyOf (rule, result) {
  const unit = rule?.algorithm === 'in_flight' ? 'concurrent-requests' : undefined
  return { quota: isBucket(rule) ? rule.capacity : result.limit, windowMs: result.windowMs, unit }
}

function xFields (result) {
  if (result.limit === 0) return []
  const triple = http.xRateLimit(result) ?? {}
  return [['X-RateLimit-Limit', triple.limit], ['X-RateLimit-Remaining', triple.remaining],
    ['X-RateLimit-Reset', triple.reset]].filter(([, value]) => value !== undefined)
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

// Node writes the head of each answer by this call, its own ones too.
function atHead (response, call) {
  const { writeHead } = response
  let isWritten = false
  response.writeHead = function (status, ...rest) {
    if (!isWritten) call(status)
    isWritten = true
    return writeHead.call(this, status, ...rest)
  }
}

function atEnd (response, call) {
  if (response.destroyed || response.writableFinished) call()
  else response.once('close', call)
}

const refuse = (response, status, { body, of }) => response.writeHead(status, of).end(body)

async function answerExpress (guard, request, response, next) {
  const { result, fields, status, error, waitMs } =
    await guard.decide(request, { ip: request.ip, peer: request.socket.remoteAddress, headers: request.headers }, response)
  if (error !== undefined) throw error
  request.rl = result
  for (const [name, value] of fields) response.setHeader(name, value)
  if (status === 0) {
    guard.watch(result, request, response)
    if (waitMs > 0) await sleep(waitMs)
    return true
  }
  if (guard.options.onDenied !== undefined) await guard.options.onDenied(request, response, next, result)
  else refuse(response, status, guard.refusal(status, result))
  return false
}

// app.use(express({ limiter })); version 4 has nobody for a promise that is rejected
function express (options) {
  const guard = new Guard(options)
  return (request, response, next) => answerExpress(guard, request, response, next)
    .then((isServed) => { if (isServed) next() }, next)
}

// app.use(koa({ limiter }))
function koa (options) {
  const guard = new Guard(options)
  return async (context, next) => {
    const { request } = context
    const { result, fields, status, error, waitMs } =
      await guard.decide(context, { ip: request.ip, peer: context.socket.remoteAddress, headers: request.headers }, context.res)
    if (error !== undefined) throw error
    context.state.rl = result
    for (const [name, value] of fields) context.set(name, value)
    if (status === 0) {
      guard.watch(result, context, context.res)
      if (waitMs > 0) await sleep(waitMs)
      return next()
    }
    if (guard.options.onDenied !== undefined) return guard.options.onDenied(context, result)
    const { body, of } = guard.refusal(status, result)
    context.status = status
    context.body = body
    context.set(of)
  }
}

// fastify.register(fastify, { limiter }): for all routes of the instance that registers it
async function fastify (instance, options) {
  const guard = new Guard(options)
  instance.decorateRequest('rl', null)
  instance.addHook('onRequest', async (request, reply) => {
    const { result, fields, status, error, waitMs } =
      await guard.decide(request, { ip: request.ip, peer: request.socket.remoteAddress, headers: request.headers }, reply.raw)
    if (error !== undefined) throw error
    request.rl = result
    for (const [name, value] of fields) reply.header(name, value)
    if (status === 0) {
      guard.watch(result, request, reply.raw)
      if (waitMs > 0) await sleep(waitMs)
      return
    }
    if (guard.options.onDenied !== undefined) return guard.options.onDenied(request, reply, result)
    const { body, of } = guard.refusal(status, result)
    return reply.code(status).headers(of).send(body)
  })
}
fastify[Symbol.for('skip-override')] = true // it is for the instance, not for a child of it
fastify[Symbol.for('fastify.display-name')] = 'librl'

module.exports = { express, koa, fastify }
