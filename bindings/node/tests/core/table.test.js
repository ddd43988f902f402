// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// bindings/table.json: this binding says what librl says.
const { test } = require('node:test')
const assert = require('node:assert/strict')
const fs = require('node:fs')
const { rl } = require('../support.js')
const { native, out } = require('../node_modules/librl/lib/native.js')

const table = JSON.parse(fs.readFileSync(process.env.RL_TEST_TABLE, 'utf8'))
const NEVER = 0xffff_ffff_ffff_ffffn

// '123' is nanoseconds; absent is nothing.
const nsOf = (text) => (text === 'never' ? Infinity : text === undefined ? undefined : BigInt(text))
const timeOf = (text) => nsOf(text) ?? 0n
const textOf = (ns) => (ns === NEVER ? 'never' : String(ns))

function keyOf (step) {
  if (step.key_hex !== undefined) return Buffer.from(step.key_hex, 'hex')
  return (step.key ?? '').repeat(step.times ?? 1)
}

const NAMES = {
  window_ns: 'windowMs', count_denied: 'countDenied', prefix_v4: 'prefixV4', prefix_v6: 'prefixV6',
}

function limitOf (limit) {
  const to = { granularity: 0 } // the default of rl.h, and not of rl.json
  for (const [name, value] of Object.entries(limit)) to[NAMES[name] ?? name] = name === 'window_ns' ? nsOf(value) : value
  return to
}

// Without the members that are 0, as the table has it.
function trim (object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) =>
    value !== 0 && value !== false && value !== null && value !== undefined && value !== '0'))
}

function answerOf (result) {
  const error = result.error
  if (result.verdict === 'undecided') return trim({ verdict: 'undecided', error })
  return trim({
    verdict: result.verdict,
    error,
    reason: result.reason === 'limit' ? undefined : result.reason,
    index: result.index,
    limit: result.limit,
    remaining: result.remaining,
    used: result.used,
    is_shadow_denied: Number(result.shadowDenied),
    retry_after_ns: textOf(result.ns.retryAfter),
    reset_after_ns: textOf(result.ns.resetAfter),
    delay_ns: textOf(result.ns.delay),
    window_ns: textOf(result.ns.window),
  })
}

const countOf = (count) => trim({
  done: Number(count.done), value: count.value, expires_after_ns: textOf(count.ns.expiresAfter), is_new: Number(count.isNew),
})

const patternOf = (step) => ({ [step.match]: keyOf(step) })

// A message without what this binding puts before it: "rl: define r: ".
const ruleText = (message) => message.replace(/^rl: define [^:]*: /, '')

class Player {
  constructor (one) {
    const { key_bytes: keyBytes, ...options } = one.options ?? {}
    this.segment = rl.openPrivate({ ...options, ...(keyBytes === undefined ? {} : { keyBytes }) })
    this.limiters = {}
    this.requests = {}
    this.counters = {}
    for (const rule of one.rules ?? []) this.define(rule)
    for (const name of one.spaces ?? []) this.counters[name] = this.segment.counters(name)
  }

  define ({ name, limits, keep }) {
    this.limiters[name] = this.segment.define(name, limits.map(limitOf), { keep })
  }

  options (step) {
    const { capacity, burst, undelayed } = step
    return { now: timeOf(step.at_ns), capacity, burst, undelayed, keep: step.request !== undefined }
  }

  decided (step, result) {
    this.last = { name: step.rule, result }
    if (step.request !== undefined) this.requests[step.request] = result
    return answerOf(result)
  }

  check (step) {
    if (this.limiters[step.rule] === undefined) return this.misused('check', -1, keyOf(step))
    return this.decided(step, this.limiters[step.rule].check(keyOf(step), step.cost, this.options(step)))
  }

  peek (step) {
    return this.decided(step, this.limiters[step.rule].peek(keyOf(step), { now: timeOf(step.at_ns) }))
  }

  reserve (step) {
    const wait = timeOf(step.max_wait_ns)
    return this.decided(step, this.limiters[step.rule].reserve(keyOf(step), step.cost, wait, this.options(step)))
  }

  check_limits (step) {
    const result = this.limiters[step.rule].checkLimits(keyOf(step), step.cost, this.options(step))
    const limits = result.limits.map(answerOf)
    return { ...this.decided(step, result), limits }
  }

  items (step) {
    return step.items.map((item) => ({
      limiter: this.limiters[item.rule], key: keyOf(item), cost: item.cost, capacity: item.capacity,
      keep: item.request !== undefined,
    }))
  }

  check_all (step) {
    const { verdict, decided, results } = this.segment.checkAll(this.items(step), { now: timeOf(step.at_ns) })
    return { verdict, results: results.map(answerOf), ...(decided >= 0 ? { decided } : {}) }
  }

  check_many (step) {
    const results = this.segment.checkMany(this.items(step), { now: timeOf(step.at_ns) })
    return { results: results.map(answerOf) }
  }

  refund (step) { return trim({ done: this.requests[step.request].refund(timeOf(step.at_ns)) }) }
  release (step) { return trim({ done: this.requests[step.request].release() }) }

  settle (step) { return trim({ done: this.requests[step.request].settle(step.actual, timeOf(step.at_ns)) }) }

  refund_key (step) {
    return trim({ done: this.limiters[step.rule].refund(keyOf(step), step.cost, this.options(step)) })
  }

  // A rule taken for a space, or the other way round, which objects of this binding cannot be.
  misused (call, handle, key) {
    const at = Object.values(this.limiters)[0].number()
    if (call === 'counter') native.counter(1, at, handle, key)
    else native.check(at, handle, key)
    return { verdict: 'undecided', error: native.error(out[1])[0] }
  }

  counter (verb, step, ...args) {
    if (this.counters[step.space] === undefined) return this.misused('counter', this.limiters[step.space].handle(), keyOf(step))
    return countOf(this.counters[step.space][verb](keyOf(step), ...args, timeOf(step.at_ns)))
  }

  counter_add (step) { return this.counter('add', step, step.value ?? 0, timeOf(step.lifetime_ns)) }
  counter_get (step) { return this.counter('get', step) }
  counter_set (step) { return this.counter('set', step, step.value ?? 0, timeOf(step.lifetime_ns)) }
  counter_set_new (step) { return this.counter('setNew', step, step.value ?? 0, timeOf(step.lifetime_ns)) }
  counter_touch (step) { return this.counter('touch', step, timeOf(step.lifetime_ns)) }

  counter_drop (step) {
    return trim({ done: Number(this.counters[step.space].drop(keyOf(step), timeOf(step.at_ns))) })
  }

  ban (step) { return trim({ done: this.except('ban', step, nsOf(step.until_ns)) }) }
  allow (step) { return trim({ done: this.except('allow', step, nsOf(step.until_ns)) }) }
  unban (step) { return trim({ done: this.except('unban', step) }) }

  except (verb, step, ...until) {
    const of = step.rule === undefined ? this.segment : this.limiters[step.rule]
    return Number(of[verb](patternOf(step), ...until) ?? 0)
  }

  reset (step) { return trim({ done: Number((this.limiters[step.rule] ?? this.counters[step.rule]).reset(keyOf(step))) }) }

  reset_matching (step) {
    const limiter = this.limiters[step.rule] ?? this.counters[step.rule]
    const counts = this.segment.resetMatching(limiter, step.match === undefined ? undefined : patternOf(step))
    return trim({ done: 0, ...counts })
  }

  forget (step) { return trim({ done: Number(this.segment.forget(step.rule)) }) }
  key_digest (step) { return { text: rl.keyDigest(keyOf(step)) } }

  headers (step) {
    const { name, result } = this.last
    const rule = this.limiters[name].info().limits[result.index]
    const isBucket = rule.algorithm.endsWith('_bucket')
    const triple = rl.http.xRateLimit(result, timeOf(step.at_ns))
    const unit = rule.algorithm === 'in_flight' ? 'concurrent-requests' : undefined
    const policy = { quota: isBucket ? rule.capacity : result.limit, windowMs: result.windowMs, unit }
    return trim({
      'RateLimit-Policy': rl.http.rateLimitPolicy(name, policy, step.set),
      RateLimit: rl.http.rateLimit(name, result, step.set),
      'Retry-After': rl.http.retryAfter(result),
      'X-RateLimit-Limit': triple.limit,
      'X-RateLimit-Remaining': triple.remaining === '0' ? '00' : triple.remaining,
      'X-RateLimit-Reset': triple.reset === '0' ? '00' : triple.reset,
    })
  }

  client (step) {
    return rl.http.client(step.peer, {
      trust: step.trusted, field: step.field, lines: step.lines, prefixV4: step.prefix_v4, prefixV6: step.prefix_v6,
    })
  }

  rate (step) {
    const { capacity, windowNs } = rl.parseRate(step.rate)
    return { capacity, window_ns: String(windowNs) }
  }

  play (step) {
    try {
      if (step.call === 'define') {
        this.define(step.define)
        return { }
      }
      return this[step.call](step)
    } catch (error) {
      assert.ok(error.code, `${step.call} threw what is no error of rl: ${error.stack}`)
      const text = step.answer.text === undefined ? {} : { text: ruleText(error.message) }
      return { error: error.code, ...text }
    }
  }
}

// X-RateLimit-Remaining of 0 is sent, and an absent one is not: trim() must not take it for nothing.
const sent = (answer) => Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, value === '00' ? '0' : value]))

// `done: 0` is told in the table where it matters, and left out where it does not.
const plain = (answer) => Object.fromEntries(Object.entries(answer).filter(([name, value]) => name !== 'done' || value !== 0))

let steps = 0
for (const one of table.cases) {
  test(one.name, () => {
    const player = new Player(one)
    one.steps.forEach((step, i) => {
      const what = `step ${i}: ${JSON.stringify(step)}`
      assert.deepEqual(sent(plain(player.play(step))), plain(step.answer), what)
      steps++
    })
    player.segment.close()
  })
}

test('all of the table was played', () => {
  assert.equal(steps, table.cases.reduce((sum, { steps: of }) => sum + of.length, 0))
  assert.ok(steps > 300)
})
