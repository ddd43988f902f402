// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// One limit for all processes and threads, whoever dies.
const { test } = require('node:test')
const assert = require('node:assert/strict')
const { fork } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const { Worker } = require('node:worker_threads')
const { rl, segmentName, storm, get, hangUp, until, rlctlJson } = require('../support.js')

const program = (name) => path.join(__dirname, '..', 'programs', name)

// The primary of four workers, and their port.
async function startLimited (name) {
  const primary = fork(program('limited.js'), [name], { stdio: 'inherit' })
  let last
  primary.on('message', (message) => { last = message })
  await until(() => last?.listening === 4, 'four workers')
  return [primary, last.port]
}

const add = (a, b) => {
  for (const [status, count] of b) a.set(status, (a.get(status) ?? 0) + count)
  return a
}

test('four workers of a cluster admit exactly 100 of 400, over a kill -9 and a reload', async () => {
  const primary = fork(program('limited.js'), [segmentName()], { stdio: 'inherit' })
  const pids = new Set()
  let port
  let reloaded = false
  primary.on('message', (message) => {
    if (message === 'reloaded') reloaded = true
    else pids.add(message.pid) && (port = message.port)
  })
  try {
    await until(() => pids.size === 4, 'four workers')
    const statuses = await storm(port, 30)
    process.kill([...pids][0], 'SIGKILL')
    await until(() => pids.size === 5, 'another worker')
    add(statuses, await storm(port, 30))
    primary.send('reload')
    await until(() => reloaded, 'the reload')
    assert.equal(pids.size, 9)
    add(statuses, await storm(port, 340))
    // A worker that was killed may have had a request; it was charged or not, and never twice.
    assert.equal(statuses.get(200), 100)
    assert.equal(statuses.get(429), 300)
    assert.equal((await get(port)).status, 429)
  } finally {
    primary.kill()
    await once(primary, 'exit')
  }
})

test('what is used is what it has cost, over a kill -9, an exception and a client that hangs up', async () => {
  const name = segmentName()
  const [primary, port] = await startLimited(name)
  const segment = rl.open(name)
  const parts = segment.counters('parts')
  const used = () => rlctlJson('--segment', name, 'get', 'tokens', 'everybody').limits[0].counted.used
  const becomes = (count) => until(() => used() === count(), `what counts: ${used()}`)
  try {
    for (let i = 0; i < 10; i++) {
      for (const [path, status] of [['less', 200], ['more', 200], ['unknown', 200], ['thrown', 500]]) {
        assert.equal((await get(port, `/spend/${path}`)).status, status)
      }
    }
    await becomes(() => 10 * (15 + 100 + 40 + 40))
    await assert.rejects(get(port, '/spend/killed'))
    await becomes(() => 1990)
    await hangUp(port, '/spend/endless')
    await becomes(() => 1990 + parts.get('all').value)
    assert.ok(parts.get('all').value > 1)
    const held = []
    const holds = () => held.push(segment.limiter('tokens').acquire('everybody', 0)) && held.at(-1).allowed
    for (let i = 0; i < 2; i++) await until(holds, 'what the killed one held')
    held.forEach((one) => one.release())
    while ((await get(port, '/spend/more')).status === 200);
    assert.ok(used() > 2960)
  } finally {
    primary.kill()
    await once(primary, 'exit')
  }
})

test('four threads and the main one share a handle, and admit exactly 100 of 500', async () => {
  const name = segmentName()
  const segment = rl.open(name)
  const limiter = segment.define('threads', { algorithm: 'fixed_window', capacity: 100, windowMs: 86_400_000 })
  const threads = Array.from({ length: 4 }, () => new Worker(program('thread.js'), { workerData: { name, asks: 100 } }))
  let allowed = 0
  for (let i = 0; i < 100; i++) if (limiter.check('everybody').allowed) allowed++
  for (const [said] of await Promise.all(threads.map((thread) => once(thread, 'message')))) allowed += said
  assert.equal(allowed, 100)
  await Promise.all(threads.map((thread) => thread.terminate()))
  assert.equal(limiter.peek('everybody').used, 100, 'a thread that ends closes nobody else\'s segment')
  segment.close()
})

test('threads that are stopped in the middle of it leave nothing open, and crash nobody', async () => {
  const name = segmentName()
  for (let i = 0; i < 20; i++) {
    const thread = new Worker(program('thread.js'), { workerData: { name, asks: 1e9 } })
    await once(thread, 'online')
    await thread.terminate()
  }
  const segment = rl.open(name)
  segment.define('after', '5/min').check('a')
  segment.close()
})

test('what a process held comes back when it is killed', async () => {
  const name = segmentName()
  const child = fork(program('holder.js'), [name], { stdio: 'inherit' })
  const [held] = await once(child, 'message')
  assert.equal(held, 3)
  const limiter = rl.open(name).define('slots', { algorithm: 'in_flight', capacity: 3 })
  assert.equal(limiter.acquire('db').allowed, false)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await until(() => limiter.acquire('db').allowed, 'a unit of the dead')
})
