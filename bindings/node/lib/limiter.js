// SPDX-License-Identifier: BSD-2-Clause
'use strict'

const { native, answer, newAnswer, out, EPOCH, VERDICT_LOOK } = require('./native.js')
const { Result, KeptResult, addNanoseconds, newTicket } = require('./result.js')
const { describe, undecided, Denied } = require('./errors.js')
const { waited } = require('./wait.js')

const { check: nativeCheck } = native // the hot one
const REMOVED = 'RL_EREMOVED'

const isTimeAlone = ({ capacity, burst, undelayed, keep }) =>
  capacity === undefined && burst === undefined && undelayed === undefined && !keep

// A rule of a segment. Its handle belongs to one segment: if that is replaced under its name, the rule is
// defined, or looked up, in the other one.
class Limiter {
  #segment
  #at // the segment's number
  #epochAt // in `out`
  #epoch = -1
  #rule
  #limits // undefined: it is defined by somebody else
  #keep

  constructor (segment, at, name, limits, keep) {
    this.name = name
    this.#segment = segment
    this.#at = at
    this.#epochAt = EPOCH + at
    this.#keep = keep
    this.#limits = limits === undefined ? undefined : [].concat(limits)
    this.#resolve()
  }

  get segment () { return this.#segment }

  // Decide about a request and charge it if it is allowed. rl_check(3), and with options rl_check_item(3)
  check (key, cost, options) {
    if (this.#epoch !== out[this.#epochAt]) this.#resolve()
    if (options !== undefined) return this.#checkWith(key, cost, options)
    if (cost === undefined) nativeCheck(this.#at, this.#rule, key)
    else nativeCheck(this.#at, this.#rule, key, cost)
    if (out[0] === VERDICT_LOOK || out[1] !== 0) this.#again(() => nativeCheck(this.#at, this.#rule, key, cost))
    return new Result(answer)
  }

  // check() that waits for a share of a cluster's limit for as long as the limit says: a promise. `signal`: who gives up
  checkAsync (key, cost, options = {}) {
    const { signal } = options
    return waited((waits) => {
      signal?.throwIfAborted()
      return this.#checkItem(key, cost, { ...options, waits })
    }, (result) => result)
  }

  // The same without a charge, for a cost of 1. rl_peek(3)
  peek (key, options = {}) {
    return this.#ask(options, () => native.peek(this.#at, this.#rule, key, options.now))
  }

  // Book ahead: allowed with the time to wait in delayMs, at most maxWaitMs. rl_reserve(3)
  reserve (key, cost = 1, maxWaitMs = 0, options = {}) {
    return this.#checkItem(key, cost, options, maxWaitMs)
  }

  // Take units in flight; give them back by release() of the answer. rl_release(3)
  acquire (key, cost = 1, options = {}) {
    return this.#checkItem(key, cost, { ...options, keep: true })
  }

  // Charge what a request will cost by an estimate, and call what settles it: a promise of what that returns. Who is not
  // allowed is a Denied. What is not settled stays, also after an exception; units in flight come back at the end.
  async spend (key, estimate, call, options = {}) {
    const spent = this.acquire(key, estimate, options)
    if (spent.verdict === 'undecided') throw undecided(spent.error, this.name)
    if (!spent.allowed) throw new Denied(this.name, spent)
    try {
      return await call(spent)
    } finally {
      spent.release()
    }
  }

  // The answer, and in `limits` one of each limit that counts the key. rl_check_limits(3)
  checkLimits (key, cost = 1, options = {}) {
    const all = newAnswer(8)
    let count = 0
    const result = this.#ask(options, () => {
      count = native.checkItem(this.#at, this.item(key, cost, options), options.now, undefined, undefined, all.ms)
    })
    result.limits = Array.from({ length: count }, (_, i) => this.#make(options, all, i))
    return result
  }

  // Give back by key what was charged, for a caller without the answer: how much. rl_refund_key(3)
  refund (key, cost = 1, options = {}) {
    return this.#call(() => native.refundKey(this.#at, this.item(key, cost, options), options.now))
  }

  // Forget what a key has used: whether there was something. rl_reset(3)
  reset (key) {
    return this.#call(() => native.reset(this.#at, this.#rule, key)) === 1
  }

  // Forget what all keys have used, or those of a pattern: { forgotten, unknown }. rl_reset_matching(3)
  resetAll (pattern) {
    return this.#segment.resetMatching(this, pattern)
  }

  ban (pattern, until) { return this.#segment.ban(pattern, until, this) }
  allow (pattern, until) { return this.#segment.allow(pattern, until, this) }
  unban (pattern) { return this.#segment.unban(pattern, this) }

  // The rule as it is in force: limits, and whose they are. undefined: it was removed. rl_rule_info(3)
  info () {
    return this.#call(() => native.ruleInfo(this.#at, this.#rule))
  }

  // For other calls of this library, not for programs.
  number () { return this.#at }
  epoch () { return out[this.#epochAt] }
  handle () {
    if (this.#epoch !== out[this.#epochAt]) this.#resolve()
    return this.#rule
  }

  item (key, cost = 1, { capacity = 0, burst = -1, undelayed = -1, waits = false } = {}) {
    return [this.handle(), key, cost, capacity, burst, undelayed, waits]
  }

  // The number of a segment that was closed may be another's.
  #resolve () {
    const info = native.info(this.#segment.number())
    if (this.#limits === undefined || info.isReadonly) {
      this.#rule = native.find(this.#at, this.name)
    } else {
      this.#rule = native.define(this.#at, this.name, this.#limits, this.#keep)
    }
    this.#epoch = out[this.#epochAt]
  }

  #look () {
    this.#segment.look()
    if (this.#epoch !== out[this.#epochAt]) this.#resolve()
  }

  #call (call) {
    if (this.#epoch !== out[this.#epochAt]) this.#resolve()
    return call()
  }

  // After an answer that is none yet: it is time to look at the segment; or somebody has dropped the rule, and it is
  // defined again, or taken what has its name now.
  #again (call) {
    while (out[0] === VERDICT_LOOK) { // twice if the process was stopped in between
      this.#look()
      call()
    }
    if (out[1] !== 0 && describe(out[1])[0] === REMOVED && this.#isBack()) call()
  }

  #isBack () {
    const [verdict, error] = out
    try {
      this.#resolve()
      return true
    } catch (thrown) {
      if (thrown.code !== 'ENOENT') throw thrown
      out[0] = verdict
      out[1] = error
      return false
    }
  }

  #ask (options, call, make = (from, at) => this.#make(options, from, at)) {
    this.#call(call)
    if (out[0] === VERDICT_LOOK || out[1] !== 0) this.#again(call)
    return make(answer, 0)
  }

  #make (options, from, at) {
    const result = new Result(from, at)
    return typeof options.now === 'bigint' ? addNanoseconds(result, from, at) : result
  }

  #checkWith (key, cost, options) {
    if (typeof options !== 'object') throw new TypeError('rl: options: an object is needed')
    if (!isTimeAlone(options)) return this.#checkItem(key, cost, options)
    const { now } = options
    nativeCheck(this.#at, this.#rule, key, cost, now)
    if (out[0] === VERDICT_LOOK || out[1] !== 0) this.#again(() => nativeCheck(this.#at, this.#rule, key, cost, now))
    return typeof now === 'bigint' ? addNanoseconds(new Result(answer), answer) : new Result(answer)
  }

  #checkItem (key, cost = 1, options, maxWaitMs) {
    const ticket = options.keep ? newTicket() : undefined
    const call = () => native.checkItem(this.#at, this.item(key, cost, options), options.now, ticket, maxWaitMs)
    if (ticket === undefined) return this.#ask(options, call)
    return this.#ask(options, call, () => {
      const result = new KeptResult(answer, 0, this, ticket)
      return typeof options.now === 'bigint' ? addNanoseconds(result, answer) : result
    })
  }
}

module.exports = { Limiter }
