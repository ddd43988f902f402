// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// What an answer says about a limit, as values of header fields, by rl_http.h. undefined: leave the field out.
const { native, newAnswer, WHOLES, DOUBLES } = require('./native.js')
const { VERDICTS, REASONS } = require('./result.js')

const NEVER = 0xffff_ffff_ffff_ffffn
const FIELDS = ['x-forwarded-for', 'forwarded']

const nsOf = (ms) => (ms === Infinity ? NEVER : BigInt(ms) * 1_000_000n)

// Fields have whole seconds, rounded up, so milliseconds that were rounded up give the same.
function numbersOf (results) {
  const to = newAnswer(results.length)
  results.forEach((result, i) => {
    to.whole[i * WHOLES] = VERDICTS.indexOf(result.verdict)
    to.whole[i * WHOLES + 1] = result.error === null ? 0 : -1
    to.whole[i * WHOLES + 2] = REASONS.indexOf(result.reason)
    to.whole[i * WHOLES + 4] = result.limit
    to.whole[i * WHOLES + 5] = result.remaining
    to.ns[i * DOUBLES + 12] = nsOf(result.retryAfterMs)
    to.ns[i * DOUBLES + 13] = nsOf(result.resetAfterMs)
    to.ns[i * DOUBLES + 15] = nsOf(result.windowMs)
  })
  return to.ms
}

// '21': rl_http_retry_after(3)
const retryAfter = (result) => native.retryAfter(numbersOf([result]))

// '"login";r=0;t=21', of one result or of several; by set, 'ietf-11' or 'ietf-7': rl_http_ratelimit(3)
function rateLimit (name, results, set) {
  const all = [].concat(results)
  return native.rateLimit(numbersOf(all), all.length, name, set)
}

// '"login";q=100;w=60': rl_http_ratelimit_policy(3)
function rateLimitPolicy (name, { quota, windowMs = 0, unit }, set) {
  return native.rateLimitPolicy(name, quota, windowMs, unit, set)
}

// { limit, remaining, reset }; with `now` the reset is Unix time: rl_http_x_ratelimit(3)
function xRateLimit (result, now) {
  const triple = native.xRateLimit(numbersOf([result]), now)
  if (triple === undefined) return undefined
  const [limit, remaining, reset] = triple
  return { limit, remaining, reset: reset === '' ? undefined : reset }
}

// The body of a refusal, of application/problem+json: what kind of refusal it is. Without a result nothing could be decided.
// rl_http_problem(3)
const problem = (status, name, result) => native.problem(status, name, result && numbersOf([result]))

// The client behind proxies: { address, end, hops }. rl_http_client(3)
function client (peer, { trust = [], field = FIELDS[0], lines = [], prefixV4 = 0, prefixV6 = 0 } = {}) {
  const at = FIELDS.indexOf(field)
  if (at < 0) throw new RangeError(`rl: field: '${field}'; 'x-forwarded-for' or 'forwarded' is allowed`)
  return native.client(peer, trust, [].concat(lines), at, prefixV4, prefixV6)
}

module.exports = { retryAfter, rateLimit, rateLimitPolicy, xRateLimit, problem, client }
