// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// For all tests: segments of their own names, which are gone afterwards, and rlctl's word on them.
const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const http = require('node:http')
const rl = require('librl')

const rlctlPath = process.env.RL_TEST_RLCTL
let serial = 0
const names = []

function segmentName () {
  const name = `node-${process.pid}-${serial++}`
  names.push(name)
  return name
}

process.on('exit', () => {
  for (const name of names) {
    for (const path of [`/dev/shm/rl.${name}`, `/dev/shm/rl/rl.${name}`]) fs.rmSync(path, { force: true, recursive: true })
  }
})

// A segment of this test's own.
const newSegment = (options) => rl.open(segmentName(), options)

const pathOf = (name) => rl.place(name).path

function rlctl (...args) {
  return execFileSync(rlctlPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

const rlctlJson = (...args) => JSON.parse(rlctl(...args, '--json'))

// Time as tests of applications move it: Date is another one.
class MovedClock {
  #real = globalThis.Date
  constructor (ms) {
    const clock = this
    const Real = this.#real
    this.ms = ms
    globalThis.Date = class extends Real {
      constructor (...args) { super(...(args.length === 0 ? [clock.ms] : args)) }
      static now () { return clock.ms }
    }
  }

  tick (ms) { this.ms += ms }
  restore () { globalThis.Date = this.#real }
}

// One request, on a connection of its own: { status, headers, body }.
async function get (port, path = '/', headers = {}) {
  const request = http.get({ port, path, headers, agent: false, host: '127.0.0.1' })
  const [response] = await once(request, 'response')
  let body = ''
  response.setEncoding('utf8')
  for await (const part of response) body += part
  return { status: response.statusCode, headers: response.headers, body }
}

// Asks, and is gone when some of the answer is there.
async function hangUp (port, path) {
  const request = http.get({ port, path, agent: false, host: '127.0.0.1' })
  const [response] = await once(request, 'response')
  await once(response, 'data')
  request.on('error', () => {})
  response.on('error', () => {})
  request.destroy()
}

// So many requests, `at` at a time, and how often each status came. One whose connection was cut is 0. Each may have
// header fields of its own.
async function storm (port, count, at = 8, path = '/', headersOf = () => ({})) {
  const statuses = new Map()
  let left = count
  const lane = async () => {
    while (left-- > 0) {
      const { status } = await get(port, path, headersOf(left)).catch(() => ({ status: 0 }))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: at }, lane))
  return statuses
}

async function listen (server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server.address().port
}

async function until (condition, what, ms = 60_000) {
  const end = performance.now() + ms
  while (!await condition()) {
    assert.ok(performance.now() < end, `waited too long: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

module.exports = { rl, segmentName, newSegment, pathOf, rlctl, rlctlJson, MovedClock, get, hangUp, storm, listen, until }
