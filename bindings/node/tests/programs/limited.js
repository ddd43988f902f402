// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// A server of worker processes: limited.js SEGMENT, under cluster. Each answers 200 with its pid, or 429.
const cluster = require('node:cluster')
const http = require('node:http')
const { pipeline } = require('node:stream/promises')
const rl = require('librl')

const WORKERS = 4
const PART = '.'.repeat(1024)
const TOKENS = [
  { capacity: 3000, windowMs: 86_400_000 }, { algorithm: 'in_flight', capacity: 2, counts: 'requests' },
]

// The counter has how many parts of answers there were.
async function * endless (parts) {
  for (;;) {
    parts.add('all', 1, 3_600_000)
    yield PART
  }
}

// What a request does that is charged 40.
const COSTS = {
  '/spend/less': (spent) => spent.settle(15),
  '/spend/more': (spent) => spent.settle(100),
  '/spend/unknown': () => {},
  '/spend/thrown': () => { throw new Error('thrown') },
  '/spend/killed': () => process.kill(process.pid, 'SIGKILL'),
  '/spend/endless': (spent, response, parts) => pipeline(spent.stream(endless(parts), () => 1), response),
}

async function spend (segment, request, response) {
  const tokens = segment.define('tokens', TOKENS)
  const does = (spent) => COSTS[request.url](spent, response, segment.counters('parts'))
  const status = await tokens.spend('everybody', 40, does).then(() => 200, (error) => error instanceof rl.Denied ? 429 : 500)
  if (!response.headersSent) response.writeHead(status).end()
}

function serve () {
  const segment = rl.open(process.argv[2])
  const limiter = segment.define('pages', { algorithm: 'fixed_window', capacity: 100, windowMs: 86_400_000 })
  http.createServer((request, response) => {
    if (request.url.startsWith('/spend/')) return spend(segment, request, response)
    const { allowed } = limiter.check('everybody')
    response.writeHead(allowed ? 200 : 429)
    response.end(String(process.pid))
  }).listen(0, '127.0.0.1')
}

// One that was killed has another in its place; a reload replaces all, one after the other.
async function reload () {
  for (const worker of Object.values(cluster.workers)) {
    const next = cluster.fork()
    await new Promise((resolve) => next.once('listening', resolve))
    await new Promise((resolve) => worker.once('exit', resolve).disconnect())
  }
  process.send('reloaded')
}

function supervise () {
  let listening = 0
  cluster.on('listening', (worker, address) => {
    process.send({ port: address.port, pid: worker.process.pid, listening: ++listening })
  })
  cluster.on('exit', (worker, code, signal) => {
    if (signal === 'SIGKILL') cluster.fork()
  })
  process.on('message', (message) => {
    if (message === 'reload') reload()
  })
  process.on('disconnect', () => process.exit()) // whoever has started this is gone
  for (let i = 0; i < WORKERS; i++) cluster.fork()
}

if (cluster.isPrimary) supervise()
else serve()
