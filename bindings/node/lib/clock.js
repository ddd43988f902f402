// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// Tests move time by replacing Date. Then the stores follow it. Else librl's own clock counts, which no step of the
// wall clock moves.
const RealDate = Date
const realNow = Date.now
const wasReal = /\[native code\]/.test(Function.prototype.toString.call(realNow))

// Milliseconds if somebody has replaced Date, else undefined. One later than Date has it: fake timers begin at 0,
// which librl takes for now.
function movedNow () {
  return wasReal && Date === RealDate && Date.now === realNow ? undefined : Date.now() + 1
}

module.exports = { movedNow }
