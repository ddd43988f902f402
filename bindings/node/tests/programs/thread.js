// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// A thread that asks as often as it is told to, and says how often it was allowed.
const { parentPort, workerData: { name, asks } } = require('node:worker_threads')
const rl = require('librl')

const segment = rl.open(name)
const limiter = segment.define('threads', { algorithm: 'fixed_window', capacity: 100, windowMs: 86_400_000 })
let allowed = 0
for (let i = 0; i < asks; i++) if (limiter.check('everybody').allowed) allowed++
parentPort.postMessage(allowed)
