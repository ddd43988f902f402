// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// What stands for the addon on a system that is not Linux, so that a program can be installed and loaded where it is written.
// The first open says what to do. With RL_OFF=1 it opens nothing, allows everything and counts nothing, after one warning.
const WHAT = `rl: its counters are in the shared memory of Linux, and this is ${process.platform}. Remedy: run it in a container, ` +
  'or set RL_OFF=1 to allow everything here'

const out = new ArrayBuffer(1024) // an answer of zeros is "allowed", with nothing used and nothing left to say
let isWarned = false

function open () {
  if (process.env.RL_OFF !== '1') throw Object.assign(new Error(WHAT), { code: 'RL_ENOTLINUX' })
  if (!isWarned) process.emitWarning('RL_OFF=1: nothing is limited', { type: 'RlWarning', code: 'RL_OFF' })
  isWarned = true
  return 0
}

const nothing = () => 0
const known = {
  out,
  open,
  openPrivate: open,
  monotonic: () => Math.floor(performance.now()),
  now: () => BigInt(Date.now()) * 1_000_000n,
  checkAll: (at, items) => items.length,
  checkItem: nothing,
  checkMany: nothing,
  check: nothing,
  peek: nothing,
  define: nothing,
  find: nothing,
  defineCounters: nothing,
  counter: nothing,
  forget: nothing,
  giveBack: nothing,
  refund: nothing,
  settle: nothing,
  refundKey: nothing,
  release: nothing,
  reset: nothing,
  look: nothing,
  except: nothing,
  close: nothing,
  info: () => ({}),
  retryAfter: () => undefined,
  rateLimit: () => undefined,
  rateLimitPolicy: () => undefined,
  xRateLimit: () => undefined,
  problem: () => undefined,
}

// What answers with more than a decision is not there.
module.exports = new Proxy(known, {
  get: (all, name) => all[name] ?? (() => { throw Object.assign(new Error(WHAT), { code: 'RL_ENOTLINUX' }) }),
})
