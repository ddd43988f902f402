// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// Calls of a limiter, what they refuse, and that rlctl tells the same.
const { test } = require('node:test')
const assert = require('node:assert/strict')
const { rl, newSegment, rlctl, rlctlJson } = require('../support.js')

const day = { capacity: 100, windowMs: 86_400_000, algorithm: 'fixed_window' }

test('a limit as a text is what rl.json makes of it', () => {
  const segment = newSegment()
  const [limit] = segment.define('login', '5/min').info().limits
  assert.deepEqual([limit.algorithm, limit.capacity, limit.windowMs, limit.granularity, limit.hard],
    ['sliding_window', 5, 60_000, 60, true])
  const bucket = segment.define('bucket', { limit: '10/s', algorithm: 'token_bucket', burst: 20 })
  assert.deepEqual([bucket.info().limits[0].burst, bucket.check('a').limit], [20, 20])
  const both = segment.define('both', ['20/s', '1000/day'])
  assert.equal(both.checkLimits('a').limits.length, 2)
  assert.throws(() => segment.define('r', '5 per minute'), { code: 'EINVAL', message: /5 per minute/ })
  assert.throws(() => segment.define('r', '5/month'), RangeError)
  segment.close()
})

test('rlctl tells what a limiter was told', () => {
  const segment = newSegment()
  const limiter = segment.define('login', { capacity: 2, windowMs: 3_600_000, algorithm: 'anchored_window' })
  for (let i = 0; i < 5; i++) limiter.check('alice')
  const text = rlctl('--segment', segment.name, 'list')
  assert.match(text, /alice/)
  const stats = JSON.stringify(rlctlJson('--segment', segment.name, 'stats'))
  assert.match(stats, /"allowed":2/)
  assert.match(stats, /"denied":3/)
  rlctl('--segment', segment.name, 'ban', 'bob', '--for', '1h')
  const banned = limiter.check('bob')
  assert.deepEqual([banned.verdict, banned.reason], ['denied', 'ban'])
  assert.ok(banned.retryAfterMs > 3_000_000 && banned.retryAfterMs <= 3_600_001, String(banned.retryAfterMs))
  segment.ban('carol')
  assert.equal(limiter.check('carol').retryAfterMs, Infinity)
  rlctl('--segment', segment.name, 'reset', 'alice', '--rule', 'login')
  assert.equal(limiter.check('alice').used, 1)
  segment.close()
})

test('keys: texts, numbers and bytes are one if their bytes are', () => {
  const segment = newSegment()
  const limiter = segment.define('r', day)
  const same = [['42', 42, 42n, Buffer.from('42'), new Uint8Array([52, 50])], ['-0.5', -0.5], ['0', 0, -0],
    ['grün', Buffer.from('grün')], ['9007199254740993', 9007199254740993n], ['a\0b', Buffer.from('a\0b')],
    ['\u{1f600}', Buffer.from('\u{1f600}')], ['1e+21', 1e21]]
  for (const keys of same) keys.forEach((key, i) => assert.equal(limiter.check(key).used, i + 1, String(key)))
  for (const key of [undefined, null, {}, [], true, Symbol('s'), () => 1, new Uint16Array(2), new ArrayBuffer(2)]) {
    assert.throws(() => limiter.check(key), { name: 'TypeError', code: 'EINVAL', message: /a key is to be/ })
  }
  segment.close()
})

test('keys of all lengths, and long ones by their digest', () => {
  const segment = newSegment()
  const limiter = segment.define('r', day)
  for (const length of [1, 4095, 4096, 4097, 4098, 100_000]) {
    for (const letter of ['x', 'é', '€', '\u{1f600}']) {
      const key = length + letter.repeat(Math.ceil(length / Buffer.byteLength(letter)))
      const other = ` ${key}`
      assert.equal(limiter.check(key).used, 1, `${letter} ${length}`)
      assert.equal(limiter.check(Buffer.from(key)).used, 2, `${letter} ${length}, bytes`)
      assert.equal(limiter.check(other).used, 1, `${letter} ${length}, another`)
      if (Buffer.byteLength(key) > 4096) assert.equal(limiter.check(rl.keyDigest(key)).used, 3)
    }
  }
  const empty = limiter.check('')
  assert.deepEqual([empty.allowed, empty.error, limiter.check(Buffer.alloc(0)).error], [true, 'RL_EEMPTY', 'RL_EEMPTY'])
  segment.close()
})

test('keys that are hostile are counted each for itself, and never obeyed', () => {
  const segment = newSegment()
  const limiter = segment.define('r', day)
  const keys = ['__proto__', 'constructor', 'toString', '%s%n', '\u001b[2J', '../../etc/passwd', '\n', ' ', '\ufeff',
    'GET / HTTP/1.1\r\n\r\n', '\ud800', '"', '\\', 'a'.repeat(4096)]
  for (const key of keys) assert.equal(limiter.check(key).used, 1, JSON.stringify(key))
  assert.doesNotMatch(rlctl('--segment', segment.name, 'list'), /\u001b/)
  segment.close()
})

test('costs and capacities that are no whole numbers are refused by name, and nothing is charged', () => {
  const segment = newSegment()
  const limiter = segment.define('r', day)
  const bad = [-1, 1.5, NaN, Infinity, 2 ** 53, -Infinity, '1', {}]
  for (const cost of bad) assert.throws(() => limiter.check('a', cost), /cost/, String(cost))
  for (const capacity of bad) assert.throws(() => limiter.check('a', 1, { capacity }), /capacity/, String(capacity))
  for (const now of [-1, NaN, 'now', -1n, 2n ** 64n]) assert.throws(() => limiter.check('a', 1, { now }), /now/, String(now))
  assert.equal(limiter.peek('a').used, 0)
  assert.equal(limiter.check('a', 101).verdict, 'never')
  assert.equal(limiter.check('a', Number.MAX_SAFE_INTEGER).verdict, 'never')
  assert.equal(limiter.check('a', 0).used, 0)
  assert.equal(limiter.check('a', 100).remaining, 0)
  segment.close()
})

test('rules that cannot be are refused by field', () => {
  const segment = newSegment()
  const bad = [[{ capacity: 0, windowMs: 1000 }, /capacity: 0/], [{ capacity: 1, windowMs: 1 }, /window/],
    [{ capacity: 1, windowMs: 1000, algorithm: 'magic' }, /algorithm: expected .*got magic/], [{ capacity: 1.5, windowMs: 1000 }, /capacity: expected an integer .*got 1\.5/],
    [{ capacity: 2 ** 32, windowMs: 1000 }, /capacity/], [{ capacity: 1, windowMs: -5 }, /windowMs/],
    [{ capacity: 1, windowMs: 1000, hard: 'no' }, /hard/], [{ capacity: 1, windowMs: 1000, prefixV4: 256 }, /prefixV4/],
    ['', /limit/], [{ colour: 1 }, /colour: a limit has no such field/], [5, /a limit is to be an object/], [null, /a limit is to be an object/]]
  for (const [limit, message] of bad) assert.throws(() => segment.define('r', limit), message, JSON.stringify(limit))
  assert.throws(() => segment.define('r', []), /from 1 to 8/)
  assert.throws(() => segment.define('r', Array(9).fill('5/min')), { code: 'EINVAL' })
  assert.throws(() => segment.define('bad name', '5/min'), { code: 'EINVAL' })
  assert.throws(() => segment.define('log', { algorithm: 'sliding_log', capacity: 4096, windowMs: 1000 }), { code: 'RL_ERING' })
  segment.close()
  const usual = rl.openPrivate({ keys: 10 }), short = rl.openPrivate({ keys: 10, ring: 1 })
  assert.strictEqual(usual.info().ring, 64)
  assert.throws(() => short.define('r', '5/min'), { code: 'RL_ERING', message: /granularity: 60; .* 'rlctl resize --ring 60'/ })
  usual.close()
  short.close()
})

test('what was charged comes back, by the answer and by key', () => {
  const segment = newSegment()
  const limiter = segment.define('r', day)
  const kept = limiter.check('a', 5, { keep: true })
  assert.equal(kept.refund(), 1)
  assert.equal(kept.refund(), 0)
  assert.equal(limiter.peek('a').used, 0)
  limiter.check('a', 7)
  assert.equal(limiter.refund('a', 3), 3)
  assert.equal(limiter.refund('a', 30), 4)
  assert.equal(limiter.reset('a'), true)
  assert.equal(limiter.reset('nobody'), false)
  segment.close()
})

test('what is spent around a call is what the call says', async () => {
  const segment = newSegment()
  const llm = segment.define('llm', [{ capacity: 100, windowMs: 3_600_000 }, { algorithm: 'in_flight', capacity: 1, counts: 'requests' }])
  const used = () => llm.checkLimits('a', 0).limits.map((limit) => limit.used)
  assert.equal(await llm.spend('a', 40, async (spent) => {
    assert.deepEqual(used(), [40, 1])
    await assert.rejects(llm.spend('a', 1, assert.fail), (error) => error instanceof rl.Denied && error.result.limit === 1)
    spent.settle(10)
    return 'said'
  }), 'said')
  assert.deepEqual(used(), [10, 0])
  await assert.rejects(llm.spend('a', 20, () => { throw new RangeError('thrown') }), RangeError)
  assert.deepEqual(used(), [30, 0])
  segment.close()
})

test('a stream costs what was taken of it', async () => {
  const segment = newSegment()
  const tokens = segment.define('tokens', '100/hour')
  const words = ['one', 'three', 'five']
  const length = (word) => word.length
  const taken = []
  await tokens.spend('a', 40, async (spent) => { for await (const word of spent.stream(words, length)) taken.push(word) })
  assert.deepEqual([taken, tokens.peek('a').used], [words, 12])
  let isClosed = false
  async function * source () { try { yield * words } finally { isClosed = true } }
  await tokens.spend('b', 40, async (spent) => { for await (const word of spent.stream(source(), length)) if (word === 'three') break })
  assert.deepEqual([tokens.peek('b').used, isClosed], [8, true])
  const fails = (spent) => spent.stream(words, (word) => { if (word === 'three') throw new RangeError('thrown'); return 1 })
  await assert.rejects(tokens.spend('c', 40, async (spent) => { for await (const word of fails(spent)) taken.push(word) }), RangeError)
  assert.equal(tokens.peek('c').used, 1)
  segment.close()
})

test('what a request has cost is said once', () => {
  const segment = newSegment()
  const limiter = segment.define('tokens', { capacity: 100, windowMs: 3_600_000 })
  const [less, more] = [40, 10].map((cost) => limiter.check('a', cost, { keep: true }))
  assert.equal(less.settle(15), 1)
  assert.equal(limiter.peek('a').used, 25)
  assert.equal(more.settle(110), 1)
  const { used, remaining, allowed } = limiter.peek('a')
  assert.deepEqual([used, remaining, allowed], [125, 0, false])
  assert.throws(() => less.settle(15), { code: 'RL_ESETTLED' })
  assert.throws(() => limiter.check('b', 1, { keep: true }).settle(-1), /actual/)
  assert.throws(() => limiter.check('c', 1, { keep: true }).settle(), /actual/)
  segment.close()
})

test('units in flight are held until they are given back', () => {
  const segment = newSegment()
  const limiter = segment.define('slots', { algorithm: 'in_flight', capacity: 2 })
  const [one, two] = [limiter.acquire('db'), limiter.acquire('db')]
  const three = limiter.acquire('db')
  assert.deepEqual([one.allowed, two.allowed, three.allowed, three.retryAfterMs], [true, true, false, 0])
  assert.equal(limiter.check('db').error, 'RL_ECHARGES', 'nobody could give back what this would take')
  assert.equal(one.release(), 1)
  assert.equal(one.release(), 0)
  assert.equal(three.release(), 0)
  assert.equal(limiter.acquire('db').allowed, true)
  segment.close()
})

test('options are an object', () => {
  const segment = newSegment()
  const limiter = segment.define('r', day)
  for (const wrong of [Date.now(), 1n, 'keep', true, () => 1]) assert.throws(() => limiter.check('a', 1, wrong), /options: an object is needed/)
  assert.equal(limiter.peek('a').used, 0)
  segment.close()
})

test('several rules are allowed all or nothing', () => {
  const segment = newSegment()
  const [few, many] = [segment.define('few', { ...day, capacity: 1 }), segment.define('many', day)]
  const items = [{ limiter: few, key: 'a', keep: true }, { limiter: many, key: 'a' }]
  const first = segment.checkAll(items)
  assert.deepEqual([first.allowed, first.decided, first.results.length], [true, -1, 2])
  const second = segment.checkAll(items)
  assert.deepEqual([second.allowed, second.decided, many.peek('a').used], [false, 0, 1])
  assert.equal(first.results[0].refund(), 1)
  assert.equal(segment.checkAll(items).allowed, true)
  assert.deepEqual(segment.checkMany(Array.from({ length: 100 }, (_, i) => ({ limiter: many, key: `k${i % 10}` })))
    .map((result) => result.used).slice(88), [9, 9, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10])
  assert.throws(() => segment.checkAll(Array(33).fill(items[1])), /at most 32/)
  assert.throws(() => segment.checkAll([{ limiter: many, key: null }]), /a key is to be/)
  segment.close()
})

test('a limiter of another segment is refused', () => {
  const [one, other] = [newSegment(), newSegment()]
  const mine = one.define('mine', day)
  const limiter = other.define('theirs', day)
  for (const wrong of [limiter, other.counters('space'), undefined, null, 'theirs']) {
    for (const ask of [(items) => one.checkAll(items), (items) => one.checkMany(items)]) {
      assert.throws(() => ask([{ limiter: mine, key: 'a' }, { limiter: wrong, key: 'a' }]), /one of this segment is needed/)
    }
  }
  assert.throws(() => one.checkAll([[mine, 'a']]), /limiter: one of this segment is needed/)
  for (const call of [() => one.ban('a', undefined, limiter), () => one.unban('a', limiter), () => one.resetMatching(limiter)]) {
    assert.throws(call, /one of this segment is needed/)
  }
  assert.deepEqual([mine.peek('a').used, mine.peek('a').reason], [0, 'limit'])
  const again = rl.open(one.name)
  assert.equal(again.checkAll([{ limiter: mine, key: 'a' }]).allowed, true, 'the same, opened again')
  for (const each of [again, one, other]) each.close()
})

test('bans and exemptions by key, prefix and network', () => {
  const segment = newSegment()
  const [one, two] = [segment.define('one', day), segment.define('two', day)]
  segment.ban({ prefix: 'bot:' })
  one.ban('alice', Date.now() + 60_000)
  two.allow({ network: '192.0.2.0/24' })
  assert.deepEqual(['bot:1', 'alice', 'bob'].map((key) => one.check(key).allowed), [false, false, true])
  assert.equal(two.check('alice').allowed, true)
  assert.equal(two.check('192.0.2.9').reason, 'exemption')
  const wait = one.check('alice').retryAfterMs
  assert.ok(wait > 50_000 && wait <= 61_000, String(wait))
  assert.deepEqual([one.unban('alice'), one.unban('alice'), segment.unban({ prefix: 'bot:' })], [true, false, true])
  assert.throws(() => segment.ban({ network: 'here' }), { code: 'RL_EADDRESS' })
  assert.throws(() => segment.ban({ nothing: 1 }), TypeError)
  segment.close()
})

test('keys are forgotten by rule and by pattern', () => {
  const segment = newSegment()
  const [one, two] = [segment.define('one', day), segment.define('two', day)]
  for (const key of ['a:1', 'a:2', 'b:1']) [one, two].forEach((limiter) => limiter.check(key))
  assert.deepEqual(one.resetAll({ prefix: 'a:' }), { forgotten: 2, unknown: 0 })
  assert.deepEqual(['a:1', 'b:1'].map((key) => [one, two].map((limiter) => limiter.peek(key).used)), [[0, 1], [1, 1]])
  assert.equal(segment.resetMatching().forgotten, 4)
  segment.close()
})

test('counters: what is refused, and 2^48', () => {
  const segment = newSegment()
  const counters = segment.counters('c')
  assert.deepEqual(counters.add('a', 2, 60_000), { done: true, value: 2, expiresAfterMs: 60_000, isNew: true })
  assert.equal(counters.add('a', -5, 60_000).value, 0)
  assert.equal(counters.set('a', 2 ** 48 - 1, Infinity).value, 2 ** 48 - 1)
  assert.equal(counters.add('a', 1, 1000).value, 2 ** 48 - 1)
  for (const value of [2 ** 48, 1.5, NaN, 2 ** 53]) assert.throws(() => counters.set('a', value, 1000), /value/)
  assert.equal(counters.setNew('a', 1, 1000).done, false)
  assert.equal(counters.touch('a', 5000).expiresAfterMs, 5000)
  assert.deepEqual([counters.drop('a'), counters.drop('a'), counters.get('a').done], [true, false, false])
  assert.throws(() => counters.add('', 1, 1000), { code: 'RL_EEMPTY' })
  segment.define('r', '5/min')
  assert.throws(() => segment.counters('r'), { code: 'EEXIST' })
  segment.close()
})

test('the body of a refusal: a used quota, one that never fits, a ban, and what cannot be decided', () => {
  const segment = newSegment()
  const limiter = segment.define('login', { ...day, capacity: 1 })
  const kind = (status, ...of) => JSON.parse(rl.http.problem(status, ...of))
  limiter.check('alice')
  const denied = kind(429, 'login', limiter.check('alice'))
  assert.deepEqual([denied.status, denied.title, denied['violated-policies']], [429, 'Quota exceeded', ['login']])
  assert.match(denied.detail, /too many requests\. It may come again in \d+ s\./)
  assert.match(kind(403, 'login', limiter.check('bob', 2)).detail, /costs more/)
  segment.ban('carol')
  assert.equal(kind(429, 'login', limiter.check('carol')).title, 'Abnormal usage detected')
  for (const given of [[503], [503, 'login', limiter.check('')]]) {
    assert.deepEqual([kind(...given).title, kind(...given)['violated-policies']], ['Temporary reduced capacity', undefined])
  }
  for (const status of [99, 600, 4.5, undefined]) assert.throws(() => rl.http.problem(status), /status/)
  assert.throws(() => rl.http.problem(429, 'lo\ngin', limiter.check('alice')), /name/)
  segment.close()
})
