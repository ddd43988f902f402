// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// What is denied for want of a share of a cluster's limit is asked again, by timers, for as long as the limit says. Nothing is
// held meanwhile, and what is given up was not charged.
const { setTimeout: sleep } = require('node:timers/promises')
const { native } = require('./native.js')

const WAITERS_MAX = 1000 // of a thread; more are denied at once
let waiters = 0

const isToCome = (result) => result.reason === 'share' && result.delayMs > 0

// Of what ask(waits) answers, decider(answer) is the result that decided; isGone(): nobody wants to know any more.
async function waited (ask, decider, isGone = () => false) {
  let answer = ask(waiters < WAITERS_MAX)
  if (!isToCome(decider(answer))) return answer
  const end = native.monotonic() + decider(answer).delayMs
  waiters++
  try {
    while (isToCome(decider(answer)) && !isGone()) {
      const left = end - native.monotonic()
      const isLast = left <= decider(answer).retryAfterMs
      await sleep(isLast ? Math.max(left, 0) : decider(answer).retryAfterMs)
      if (!isGone()) answer = ask(!isLast)
    }
  } finally {
    waiters--
  }
  return answer
}

module.exports = { waited, WAITERS_MAX }
