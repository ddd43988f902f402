// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// On a system that is not Linux: it loads, the first open says what to do, and with RL_OFF=1 everything is allowed.
const { test } = require('node:test')
const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')

const program = `
  const rl = require('librl')
  const login = rl.open('web').define('login', '3/hour')
  const other = rl.open('web').define('other', '3/hour')
  const verdicts = Array.from({ length: 5 }, () => login.check('alice').allowed)
  const all = login.segment.checkAll([{ limiter: login, key: 'a' }, { limiter: other, key: 'b' }])
  console.log(verdicts.join(), all.allowed, all.decided, login.check('alice', 1, { keep: true }).allowed)
`

function runs (text, env) {
  const mac = "Object.defineProperty(process, 'platform', { value: 'darwin' })\n"
  const { RL_OFF, ...rest } = process.env
  return spawnSync(process.execPath, ['-e', mac + text], { cwd: __dirname, encoding: 'utf8', env: { ...rest, ...env } })
}

test('it loads, and the first open says what to do', () => {
  const loaded = runs("require('librl'); console.log('loaded')", {})
  assert.deepEqual([loaded.stdout, loaded.status], ['loaded\n', 0], loaded.stderr)
  const opened = runs(program, {})
  assert.equal(opened.status, 1)
  assert.match(opened.stderr, /this is darwin.*container.*RL_OFF=1/s)
})

test('with RL_OFF=1 everything is allowed, with one warning', () => {
  const { stdout, stderr, status } = runs(program, { RL_OFF: '1' })
  assert.deepEqual([stdout, status], ['true,true,true,true,true true -1 true\n', 0], stderr)
  assert.equal(stderr.match(/nothing is limited/g).length, 1)
})
