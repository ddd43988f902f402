// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// Tests move time by replacing Date. Then the stores follow it. Else librl's own clock counts, which no step of the
// wall clock moves.
const RealDate = Date
const realNow = Date.now
const wasReal = /\[native code\]/.test(Function.prototype.toString.call(realNow))

// Milliseconds since 1970 if somebody has replaced Date, else undefined.
function movedNow () {
  return wasReal && Date === RealDate && Date.now === realNow ? undefined : Date.now()
}

module.exports = { movedNow }
