// SPDX-License-Identifier: BSD-2-Clause
'use strict'

const { native, newAnswer, out, VERDICT_LOOK } = require('./native.js')
const { Limiter } = require('./limiter.js')
const { Counters } = require('./counters.js')
const { describe } = require('./errors.js')
const { waited } = require('./wait.js')
const { Result, KeptResult, addNanoseconds, newTicket, VERDICTS } = require('./result.js')

const ANY_RULE = -1
const MATCHES = ['key', 'prefix', 'network']
const BAN = 0
const ALLOW = 1
const UNBAN = 2
const NONE = {} // no item has denied

// A pattern is a key, or { key }, { prefix } or { network }.
function patternOf (pattern) {
  if (typeof pattern !== 'object' || pattern === null || ArrayBuffer.isView(pattern)) return [0, pattern]
  const match = MATCHES.findIndex((name) => name in pattern)
  if (match < 0) throw new TypeError('rl: a pattern is to be a key, { key }, { prefix } or { network }')
  return [match, pattern[MATCHES[match]]]
}

// A segment that this process has open. All its threads share one handle.
class Segment {
  #at
  #isOpen = true
  #isWarned = false

  constructor (at, name) {
    this.#at = at
    this.name = name
  }

  // Define a rule: a text such as '5/min', an object, or several of either. rl_define(3)
  define (name, limits, { keep = false } = {}) {
    return new Limiter(this, this.number(), name, limits, keep)
  }

  // A rule that the configuration or another program has defined. rl_find(3)
  limiter (name) {
    return new Limiter(this, this.number(), name, undefined, false)
  }

  // rl_forget(3): true if an application had defined it
  forget (name) { return native.forget(this.number(), name) === 1 }

  // rl_define_counters(3)
  counters (name) { return new Counters(this, this.number(), name) }

  // Several rules, all or nothing: items { limiter, key, cost, capacity, burst, undelayed, keep }. rl_check_all(3)
  checkAll (items, { now, maxWaitMs } = {}) {
    let decided
    const all = newAnswer(items.length)
    const tickets = items.map((item) => (item.keep ? newTicket() : undefined))
    this.#decide(() => {
      decided = native.checkAll(this.number(), this.#items(items), now, tickets, maxWaitMs, all.ms)
    })
    const verdict = VERDICTS[out[0]]
    const results = this.#results(items, all, tickets, now)
    return { allowed: verdict === 'allowed', verdict, decided: decided < items.length ? decided : -1, results }
  }

  // checkAll() that waits for shares of clusters' limits for as long as these say: a promise. `signal`: who gives up
  checkAllAsync (items, { signal } = {}) {
    return waited((waits) => {
      signal?.throwIfAborted()
      return this.checkAll(items.map((item) => ({ ...item, waits })))
    }, ({ decided, results }) => results[decided] ?? NONE)
  }

  // Many, each by itself, in the order given. rl_check_many(3)
  checkMany (items, { now } = {}) {
    const all = newAnswer(items.length)
    const tickets = items.map((item) => (item.keep ? newTicket() : undefined))
    this.#decide(() => native.checkMany(this.number(), this.#items(items), now, tickets, undefined, all.ms))
    return this.#results(items, all, tickets, now)
  }

  // Ban or exempt until a time, milliseconds since 1970; without one, for good. rl_ban(3)
  ban (pattern, until, limiter) { this.#except(BAN, pattern, until, limiter) }
  allow (pattern, until, limiter) { this.#except(ALLOW, pattern, until, limiter) }
  // Whether there was one.
  unban (pattern, limiter) { return this.#except(UNBAN, pattern, undefined, limiter) === 1 }

  // Forget what the keys of a pattern have used, or without one all, under a rule or under all. rl_reset_matching(3)
  resetMatching (limiter, pattern) {
    const counts = []
    const [match, key] = pattern === undefined ? [] : patternOf(pattern)
    const rule = this.#ruleOf(limiter)
    native.resetMatching(this.number(), rule, match, key, counts)
    return { forgotten: counts[0], unknown: counts[1] }
  }

  // rl_info(3)
  info () { return native.info(this.number()) }
  // The segment's clock, in nanoseconds since 1970, as a bigint. rl_now(3)
  now () { return native.now(this.number()) }
  // rl_prefetch_return(3)
  giveBack () { return native.giveBack(this.number()) }

  // Whether the name belongs to another segment now, which this one then is. Calls look once a second.
  look () {
    const answer = native.look(this.number())
    if (answer < 0 && !this.#isWarned) {
      const [code, text] = describe(answer)
      const what = `segment ${this.name} was removed or replaced, and there is no other yet (${text}): the old one counts on`
      process.emitWarning(what, { type: 'RlWarning', code })
    }
    this.#isWarned = answer < 0
    return answer === 1
  }

  // rl_close(3), once nobody in this process uses it any more.
  close () {
    if (this.#isOpen) native.close(this.#at)
    this.#isOpen = false
  }

  // For other calls of this library, not for programs.
  number () {
    if (this.#isOpen) return this.#at
    const error = new Error(`rl: segment ${this.name} is closed`)
    error.code = 'EBADF'
    throw error
  }

  #decide (call) {
    call()
    while (out[0] === VERDICT_LOOK) {
      this.look()
      call()
    }
  }

  // A limiter of another segment has a handle, too, which here is another rule's.
  #own (limiter) {
    if (limiter?.number?.() === this.#at) return limiter
    throw new TypeError('rl: limiter: one of this segment is needed')
  }

  #ruleOf (limiter) { return limiter === undefined ? ANY_RULE : this.#own(limiter).handle() }

  #items (items) {
    return items.map((item) => this.#own(item.limiter).item(item.key, item.cost, item))
  }

  #results (items, all, tickets, now) {
    return items.map((item, i) => {
      const result = tickets[i] === undefined ? new Result(all, i) : new KeptResult(all, i, item.limiter, tickets[i])
      return typeof now === 'bigint' ? addNanoseconds(result, all, i) : result
    })
  }

  #except (what, pattern, until, limiter) {
    const [match, key] = patternOf(pattern)
    const rule = this.#ruleOf(limiter)
    return native.except(this.number(), what, rule, match, key, until)
  }
}

const open = (name = 'default', options) => new Segment(native.open(name, options), name)
const openPrivate = (options) => new Segment(native.openPrivate(options), '')

module.exports = { Segment, open, openPrivate }
