// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// A segment that is missing, foreign, too small, replaced while it is in use, closed.
const { test } = require('node:test')
const assert = require('node:assert/strict')
const fs = require('node:fs')
const { rl, segmentName, newSegment, pathOf, rlctlJson, until } = require('../support.js')

const day = { capacity: 3, windowMs: 86_400_000, algorithm: 'fixed_window' }

const thrown = (call) => {
  try {
    call()
  } catch (error) {
    return error
  }
  assert.fail('nothing was thrown')
}

test('what a segment is, is told', () => {
  const segment = newSegment({ keys: 1000, rules: 8, onFull: 'deny', bufferMs: 5000, mode: 0o640, keyBytes: false })
  const info = segment.info()
  assert.ok(info.keys >= 1000)
  assert.deepEqual([info.rules, info.onFull, info.bufferMs, info.mode, info.keyBytes], [8, 'deny', 5000, 0o640, 0])
  assert.equal(info.isReadonly, false)
  const place = rl.place(segment.name)
  assert.ok(place.isThere && place.bytes > 0 && place.room > 0)
  segment.close()
})

test('the reserve of a full table is as large as it is asked to be', () => {
  const segment = rl.openPrivate({ keys: 1, cells: 128, reserves: 2 })
  assert.deepEqual([segment.info().cells, segment.info().reserves], [128, 2])
  const hasCells = ['a', 'b', 'c'].map((name) => {
    const limiter = segment.define(name, day)
    return Array.from({ length: 200 }, (_, i) => limiter.check(`key${i}`).reason).includes('reserve')
  })
  assert.deepEqual(hasCells, [true, true, false])
  assert.equal(thrown(() => rl.openPrivate({ cells: 128, onFull: 'deny' })).code, 'EINVAL')
  assert.equal(thrown(() => rl.openPrivate({ cells: 100 })).code, 'EINVAL')
  assert.throws(() => rl.openPrivate({ reserves: -1 }), /reserves/)
  const events = (options) => {
    const segment = rl.openPrivate({ keys: 1, ...options })
    const number = segment.info().events
    segment.close()
    return number
  }
  assert.deepEqual([events({}), events({ events: 64 }), events({ events: false })], [4096, 64, 0])
  assert.throws(() => rl.openPrivate({ events: -1 }), /events/)
  segment.close()
})

test('a segment that is missing has a name and a reason', () => {
  const name = segmentName()
  const error = thrown(() => rl.open(name, { existing: true }))
  assert.equal(error.code, 'ENOENT')
  assert.match(error.message, new RegExp(`open segment ${name}`))
})

test('a segment that is more than there is room or memory for leaves nothing behind', () => {
  const name = segmentName()
  const error = thrown(() => rl.open(name, { keys: 1_500_000_000 }))
  assert.ok(['ENOSPC', 'RL_EMEMORY'].includes(error.code), error.message)
  assert.equal(fs.existsSync(pathOf(name)), false)
})

test('a file that is no segment is not used', () => {
  const name = segmentName()
  fs.writeFileSync(pathOf(name), 'no segment'.repeat(10_000), { mode: 0o600 })
  assert.equal(thrown(() => rl.open(name)).code, 'RL_EFOREIGN')
  assert.throws(() => rl.open(name, { existing: true }), { code: 'RL_EFOREIGN' })
})

test('a segment that is less than was asked for is refused, and told why', () => {
  const name = segmentName()
  rl.open(name, { keys: 1000 }).close()
  const error = thrown(() => rl.open(name, { keys: 1_000_000, atLeast: true }))
  assert.equal(error.code, 'RL_ELESS')
  assert.match(error.message, /keys: \d+, and 1000000 were asked for/)
  const open = rl.open(name, { keys: 1000, atLeast: true })
  assert.throws(() => rl.open(name, { keys: 1_000_000, atLeast: true }), { code: 'RL_ELESS' })
  open.close()
})

test('options that cannot be are refused by name', () => {
  const bad = [[{ keys: -1 }, /keys: expected .*got -1/], [{ keys: 1.5 }, /keys: expected .*got 1\.5/], [{ keys: 'many' }, /keys: expected .*got many/],
    [{ onFull: 'panic' }, /onFull/], [{ existing: 'yes' }, /existing: expected true or false/],
    [{ mode: 0o1000 }, /mode: .*got 512/], [{ bufferMs: -1 }, /bufferMs/]]
  for (const [options, message] of bad) assert.throws(() => rl.open(segmentName(), options), message)
  assert.throws(() => rl.open('a/b'), { code: 'EINVAL', message: 'rl: open segment a/b: a name has 1 to 63 letters, digits and . _ -' })
  assert.throws(() => rl.open('n'.repeat(64)), { code: 'EINVAL' })
  assert.throws(() => rl.open('n'.repeat(1000)), { code: 'EINVAL' })
  assert.throws(() => rl.open('a\0b'), { code: 'EINVAL' })
  assert.throws(() => rl.open(5), TypeError)
})

test('whoever may only read is told so', () => {
  const name = segmentName()
  const writer = rl.open(name)
  writer.define('r', day).check('a')
  const reader = rl.open(name, { readonly: true })
  const limiter = reader.limiter('r')
  assert.equal(limiter.peek('a').used, 1)
  const refused = limiter.check('a')
  assert.deepEqual([refused.allowed, refused.verdict, refused.error], [false, 'undecided', 'EROFS'])
  assert.equal(writer.limiter('r').peek('a').used, 1)
  assert.throws(() => reader.ban('a'), { code: 'EROFS' })
  writer.close()
  assert.equal(limiter.peek('a').used, 1, 'another handle of the process is not this one\'s')
  reader.close()
})

test('a segment that is closed says so, and another of the same name goes on', () => {
  const name = segmentName()
  const first = rl.open(name)
  const second = rl.open(name)
  const limiter = second.define('r', day)
  first.close()
  first.close()
  assert.throws(() => first.info(), { code: 'EBADF' })
  assert.equal(limiter.check('a').used, 1)
  second.close()
  assert.throws(() => limiter.check('a'), { code: 'EBADF' })
  const third = rl.open(name)
  const stranger = newSegment()
  assert.throws(() => limiter.check('a'), { code: 'EBADF' }, 'its number is another segment\'s now')
  assert.throws(() => limiter.reset('a'), { code: 'EBADF' })
  assert.throws(() => stranger.limiter('r'), { code: 'ENOENT' })
  assert.equal(third.limiter('r').peek('a').used, 1)
  third.close()
  stranger.close()
})

test('64 segments are open at a time, and more after some are closed', () => {
  const all = Array.from({ length: 60 }, () => rl.openPrivate({ keys: 16, rules: 1, bans: 1, overrides: 1 }))
  const rest = []
  assert.throws(() => { for (let i = 0; i < 10; i++) rest.push(rl.openPrivate({ keys: 16 })) }, /64 segments/)
  for (const segment of [...all, ...rest]) segment.close()
  rl.openPrivate({ keys: 16 }).close()
})

test('a segment that was replaced under its name is found, with its rules and counters', async () => {
  const name = segmentName()
  const segment = rl.open(name)
  const [limiter, other] = [segment.define('r', day), segment.define('second', '5/min')]
  const counters = segment.counters('c')
  limiter.check('a')
  const kept = limiter.check('a', 1, { keep: true })
  counters.add('k', 5, Infinity)
  rl.unlink(name)
  await until(() => limiter.check('a').used === 1, 'a new segment')
  assert.equal(kept.refund(), 0, 'what was charged is gone with the segment')
  assert.equal(other.check('a').used, 1)
  assert.equal(counters.get('k').done, false)
  counters.add('k', 1, Infinity)
  assert.deepEqual(rlctlJson('--segment', name, 'get', 'r', 'a').entries?.length ?? 1, 1)
  assert.equal(fs.existsSync(pathOf(name)), true)
  segment.close()
})

test('while there is none to replace it, the old segment counts on, and a warning says so once', async () => {
  const name = segmentName()
  rl.open(name).close()
  const segment = rl.open(name, { existing: true })
  const limiter = segment.define('r', day)
  limiter.check('a')
  rl.unlink(name)
  const warnings = []
  process.on('warning', (warning) => warnings.push([warning.code, warning.name]))
  assert.equal(segment.look(), false)
  assert.equal(segment.look(), false)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(warnings, [['ENOENT', 'RlWarning']])
  assert.deepEqual([limiter.check('a').used, limiter.check('a').used, limiter.check('a').allowed], [2, 3, false])
  rl.open(name).close()
  assert.equal(segment.look(), true)
  assert.equal(limiter.check('a').used, 1)
  segment.close()
})

test('a configuration that changes a rule is in force at once', () => {
  const segment = newSegment()
  const limiter = segment.define('r', day)
  assert.equal(limiter.check('a').limit, 3)
  const again = segment.define('r', { ...day, capacity: 5 })
  assert.equal(limiter.check('a').limit, 5)
  assert.equal(again.check('a').used, 3)
  assert.throws(() => segment.define('r', { ...day, capacity: 9 }, { keep: true }), { code: 'RL_EDEFINED' })
  segment.close()
})

test('a rule that was forgotten is defined again by who has defined it, and limits nothing for others', () => {
  const segment = newSegment()
  const limiter = segment.define('r', day)
  const found = segment.limiter('r')
  limiter.check('a')
  assert.equal(segment.forget('r'), true)
  const gone = found.check('a')
  assert.deepEqual([gone.allowed, gone.error], [true, 'RL_EREMOVED'])
  assert.equal(limiter.check('a').limit, 3)
  assert.equal(found.check('a').error, null)
  assert.throws(() => segment.limiter('nobody'), { code: 'ENOENT' })
  segment.close()
})

test('rules that are too many have a name for it', () => {
  const segment = newSegment({ rules: 2 })
  segment.define('a', day)
  segment.define('b', day)
  assert.throws(() => segment.define('c', day), { code: 'RL_ERULES' })
  segment.close()
})

test('a word of before is taken, with a warning', async () => {
  const warned = new Promise((resolve) => process.once('warning', resolve))
  assert.equal(rl.openPrivate({ onFull: 'evict' }).info().onFull, 'reserve')
  assert.match((await warned).message, /"evict" is gone, taken as "reserve"/)
})

test('a full table is answered as onFull says', () => {
  const answers = { deny: [false, 'ENOSPC'], allow: [true, 'ENOSPC'] }
  for (const [onFull, [allowed, error]] of Object.entries(answers)) {
    const segment = rl.openPrivate({ keys: 16, onFull })
    const limiter = segment.define('r', day)
    let last
    for (let i = 0; i < 200; i++) last = limiter.check(i)
    assert.deepEqual([last.allowed, last.error], [allowed, error], onFull)
    segment.close()
  }
  // together with others: never without a decision
  const segment = rl.openPrivate({ keys: 16 })
  const limiter = segment.define('r', day)
  const results = Array.from({ length: 200 }, (_, i) => limiter.check(i))
  assert.ok(results.every((one) => one.error === null && one.verdict !== 'undecided'))
  assert.ok(results.some((one) => one.reason === 'reserve'))
  segment.close()
})
