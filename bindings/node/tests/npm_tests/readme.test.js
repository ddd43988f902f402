// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// What the README shows is so: its programs run as they are written, but for names of segments and ports. So does what docs/MOVING.md
// has of Node.
const { test } = require('node:test')
const assert = require('node:assert/strict')
const { execFileSync, fork } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { segmentName, get, storm, rlctl } = require('../support.js')

const page = fs.readFileSync(path.join(process.env.RL_TEST_TOP, 'bindings/node/README.md'), 'utf8')
const blocks = new Map([...page.matchAll(/^```js\n\/\/ (\S+)\n([^]*?)^```$/gm)].map(([, name, code]) => [name, code]))
const folder = path.join(__dirname, '..', 'readme')
fs.mkdirSync(folder, { recursive: true })

// The program of that name, with a segment of its own and any port; of what localhost may be, the address that is asked.
function program (name, segment) {
  const file = path.join(folder, name)
  fs.writeFileSync(file, blocks.get(name).replaceAll("'web'", `'${segment}'`).replace('listen(3000)', 'listen(0)').replace('port: 3000', "port: 0, host: '127.0.0.1'"))
  return file
}

const run = (file) => execFileSync(process.execPath, [file], { encoding: 'utf8' })

test('all programs of the page are tried here', () => {
  assert.deepEqual([...blocks.keys()], ['five.js', 'server.js', 'flexible.js', 'fastify.js', 'middleware.js', 'failed.js'])
  assert.equal(page.match(/^```js$/gm).length, blocks.size)
})

test('five lines, twice', () => {
  const name = segmentName()
  const file = program('five.js', name)
  assert.equal(run(file), 'true\ntrue\ntrue\nfalse\nfalse\n')
  assert.equal(run(file), 'false\n'.repeat(5))
  assert.match(rlctl('--segment', name, 'get', 'alice'), /login/)
  rlctl('--segment', name, 'unlink', '--yes')
})

test('rate-limiter-flexible', () => {
  const file = program('flexible.js', segmentName())
  const again = path.join(folder, 'again.js')
  fs.writeFileSync(again, "for (let i = 0; i < 6; i++) { require('./flexible.js'); delete require.cache[require.resolve('./flexible.js')] }")
  assert.equal(run(file), 'yes 4\n')
  const left = run(again).replace(/(?<=^no )5\d{5}$/gm, '600000') // some of the ten minutes may be over
  assert.deepEqual(left.split('\n'), ['yes 3', 'yes 2', 'yes 1', 'yes 0', 'no 600000', 'no 600000', ''])
})

// The program's server tells its port.
async function serve (name, call) {
  const preload = path.join(folder, 'port.cjs')
  fs.writeFileSync(preload, `
    const { Server } = require('node:net')
    const listen = Server.prototype.listen
    Server.prototype.listen = function (...all) {
      this.once('listening', () => process.send(this.address().port))
      return listen.apply(this, all)
    }
    process.on('disconnect', () => process.exit())`)
  const child = fork(program(name, segmentName()), { execArgv: ['--require', preload], stdio: 'inherit' })
  const [port] = await once(child, 'message')
  try {
    await call(port)
  } finally {
    child.kill()
    await once(child, 'exit')
  }
}

test('servers: express-rate-limit, fastify, middleware', async () => {
  for (const name of ['server.js', 'fastify.js']) {
    await serve(name, async (port) => {
      for (let i = 0; i < 100; i++) assert.equal((await get(port)).status, 200, name)
      const { status, headers } = await get(port)
      assert.equal(status, 429, name)
      assert.match(headers['retry-after'], /^\d+$/)
    })
  }
  await serve('middleware.js', async (port) => {
    const { status, headers, body } = await get(port)
    assert.deepEqual([status, headers['ratelimit-policy']], [200, '"api";q=20;w=1'])
    assert.match(body, /^39 left$/)
  })
  await serve('failed.js', async (port) => {
    assert.deepEqual([...await storm(port, 100, 4, '/login?password=right')], [[200, 100]])
    const guesses = await storm(port, 50, 50, '/login?password=guess')
    assert.deepEqual([guesses.get(401), guesses.get(429)], [5, 45])
  })
})

test('moving here: what four workers admit before, and afterwards', () => {
  const moving = fs.readFileSync(path.join(process.env.RL_TEST_TOP, 'docs/MOVING.md'), 'utf8')
  const [, code, commands, printed] = moving.match(/^```js\n([^]*?)^```\n\n```sh\n([^]*?)^```\n\n```text\n([^]*?)^```$/m)
  assert.equal(moving.match(/^```js$/gm).length, 1)
  const segment = segmentName()
  fs.writeFileSync(path.join(folder, 'recipe.js'), code.replaceAll("'web'", `'${segment}'`))
  assert.equal(execFileSync('sh', ['-euc', commands], { cwd: folder, encoding: 'utf8' }), printed)
  assert.match(rlctl('--segment', segment, 'list'), /pages/)
})

test('files and commands that the page names are there', () => {
  for (const [, name] of page.matchAll(/`((?:core|npm_tests|types)\/[\w.]+)`/g)) {
    assert.ok(fs.existsSync(path.join(process.env.RL_TEST_TOP, 'bindings/node/tests', name)), name)
  }
  const codes = [...page.matchAll(/`((?:RL_)?E[A-Z]+)`/g)].map(([, code]) => code)
  const errors = fs.readFileSync(path.join(process.env.RL_TEST_TOP, 'include/rl_errors.def'), 'utf8')
  for (const code of codes) assert.match(errors, new RegExp(`\\b${code}\\b`))
  assert.match(page, /^pm2 start server.js -i 4\npm2 reload server$/m)
  assert.match(page, new RegExp(`npm install ./librl-${require('librl/package.json').version}.tgz`))
})
