// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// The common table and the tests of limiters, with a full collection before and after each of the first calls of each
// native function; none is left out.
const { test } = require('node:test')
const assert = require('node:assert/strict')
const v8 = require('node:v8')
const vm = require('node:vm')
const { native } = require('../node_modules/librl/lib/native.js')

v8.setFlagsFromString('--expose-gc')
const collect = vm.runInNewContext('gc')
const ROUNDS = 5
const calls = new Map()

// Before the library takes them.
for (const [name, real] of Object.entries(native).filter(([, value]) => typeof value === 'function')) {
  calls.set(name, 0)
  native[name] = (...given) => {
    const round = calls.get(name) + 1
    calls.set(name, round)
    if (round > ROUNDS) return real(...given)
    collect()
    try {
      return real(...given)
    } finally {
      collect()
    }
  }
}

require('./table.test.js')
require('./limiter.test.js')
const { rl, newSegment, segmentName } = require('../support.js')

test('the rest', () => {
  const segment = newSegment()
  assert.equal(segment.look(), false)
  assert.ok(segment.now() > 0)
  assert.equal(segment.giveBack(), 0)
  assert.match(rl.place(segmentName()).path, /node-/)
  assert.throws(() => rl.open('no/name'), /no\/name/)
  segment.define('r', '5/min')
  assert.ok(native.find(segment.number(), 'r') >= 0)
  assert.ok(native.monotonic() > 0)
  assert.ok(segment.forget('r'))
  segment.close()
  rl.unlink(segment.name)
})

test('each native function is called', () => {
  assert.deepEqual([...calls].filter(([, count]) => count === 0).map(([name]) => name), [])
})
