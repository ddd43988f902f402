// SPDX-License-Identifier: BSD-2-Clause
'use strict'

const { native } = require('./native.js')

const known = new Map()

// [code, text] of librl's error number: ['RL_EFOREIGN', 'not an rl segment'].
function describe (number) {
  let pair = known.get(number)
  if (pair === undefined) {
    pair = native.error(number)
    known.set(number, pair)
  }
  return pair
}

const codeOf = (number) => describe(number)[0]

// An error for a request that could not be decided, as interfaces want it that throw.
function undecided (code, what) {
  const error = new Error(`rl: ${what}: not decided (${code})`)
  error.code = code
  return error
}

// What limiter.spend() throws for a request that is not allowed; its result says why.
class Denied extends Error {
  constructor (name, result) {
    super(`${name}: ${result.verdict}`)
    this.name = 'Denied'
    this.result = result
  }
}

module.exports = { describe, codeOf, undecided, Denied }
