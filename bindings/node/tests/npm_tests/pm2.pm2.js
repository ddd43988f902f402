// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// PM2 with four workers: each store admits exactly 100 of 400, over a kill -9 of a worker and a reload.
const { test } = require('node:test')
const assert = require('node:assert/strict')
const { execFile } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { promisify } = require('node:util')
const { rlctl, segmentName, storm, until } = require('../support.js')

const segment = segmentName()
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'librl-pm2-'))
const folder = path.join(__dirname, '..', 'pm2')
const told = path.join(home, 'workers')
const run = promisify(execFile)
const bin = path.join(__dirname, '..', 'node_modules', 'pm2', 'bin', 'pm2')
const pm2 = (...args) => run(process.execPath, [bin, ...args], { cwd: folder, env: { ...process.env, PM2_HOME: home, PM2_DISCRETE_MODE: '1' } })

const workers = () => (fs.existsSync(told) ? fs.readFileSync(told, 'utf8').trim().split('\n').map((line) => JSON.parse(line)) : [])

function isRunning (pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

// 1,000 addresses of one network.
async function networkIsOneClient (port) {
  const statuses = await storm(port, 1000, 8, '/client', (i) => ({ 'x-forwarded-for': `2001:db8:0:7::${i.toString(16)}` }))
  assert.deepEqual([statuses.get(200), statuses.get(429)], [100, 900])
  assert.match(rlctl('--segment', segment, 'get', '2001:db8:0:7::'), /native/)
}

// All that PM2 has started ends with it.
async function stop () {
  const daemon = Number(fs.readFileSync(path.join(home, 'pm2.pid'), 'utf8'))
  await pm2('kill').catch(() => {})
  for (const pid of [daemon, ...workers().map((worker) => worker.pid)]) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
  await until(() => !isRunning(daemon), 'the end of PM2')
  fs.rmSync(home, { recursive: true, force: true })
}

// The README's server and commands; its segment is one of this test.
async function readmeRuns () {
  const page = fs.readFileSync(path.join(process.env.RL_TEST_TOP, 'bindings/node/README.md'), 'utf8')
  const [, code] = /^```js\n\/\/ server.js\n([^]*?)^```$/m.exec(page)
  fs.writeFileSync(path.join(folder, 'server.js'), code.replace("'web'", `'${segmentName()}'`).replace('listen(3000)', 'listen(0)'))
  for (const [, args] of page.matchAll(/^pm2 (.*)$/gm)) await pm2(...args.split(' '))
  const online = async () => {
    const { stdout } = await pm2('jlist')
    const servers = JSON.parse(stdout.slice(stdout.indexOf('['))).filter(({ name }) => name === 'server')
    return servers.length === 4 && servers.every(({ pm2_env: { status } }) => status === 'online')
  }
  await until(online, 'the four workers of the README')
}

test('four workers of PM2 admit exactly 100 of 400 by each store, over a kill -9 and a reload', async () => {
  const sums = { '/express': new Map(), '/flexible': new Map(), '/native': new Map(), '/fastify': new Map() }
  const ask = async (count) => {
    const ports = workers().at(-1)
    for (const [where, sum] of Object.entries(sums)) {
      const statuses = await storm(where === '/fastify' ? ports.fastify : ports.express, count, 8, where)
      for (const [status, times] of statuses) sum.set(status, (sum.get(status) ?? 0) + times)
    }
  }
  try {
    fs.mkdirSync(folder, { recursive: true })
    const app = path.join(__dirname, '..', 'programs', 'app.js')
    await pm2('start', app, '-i', '4', '--name', 'app', '--', segment, told)
    await until(() => workers().length === 4, 'four workers')
    await ask(30)
    process.kill(workers()[0].pid, 'SIGKILL')
    await until(() => workers().length === 5, 'another worker')
    await ask(30)
    await pm2('reload', 'app')
    await until(() => workers().length === 9, 'four new workers')
    await until(() => workers().slice(0, 5).every(({ pid }) => !isRunning(pid)), 'the end of the old ones')
    await ask(340)
    for (const [where, sum] of Object.entries(sums)) assert.deepEqual([sum.get(200), sum.get(429), sum.get(0)], [100, 300, undefined], where)
    await networkIsOneClient(workers().at(-1).express)
    await readmeRuns()
  } finally {
    await stop()
  }
})
