// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// Takes units in flight until there are none, says how many, and waits to be killed.
const rl = require('librl')

const limiter = rl.open(process.argv[2]).define('slots', { algorithm: 'in_flight', capacity: 3 })
let held = 0
while (limiter.acquire('db').allowed) held++
process.send(held)
process.on('disconnect', () => process.exit())
setInterval(() => {}, 1000)
