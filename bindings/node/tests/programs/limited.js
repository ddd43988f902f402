// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// A server of worker processes: limited.js SEGMENT, under cluster. Each answers 200 with its pid, or 429.
const cluster = require('node:cluster')
const http = require('node:http')
const rl = require('librl')

const WORKERS = 4

function serve () {
  const limiter = rl.open(process.argv[2]).define('pages', { algorithm: 'fixed_window', capacity: 100, windowMs: 86_400_000 })
  http.createServer((request, response) => {
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
