// SPDX-License-Identifier: BSD-2-Clause
'use strict'

const { native } = require('./native.js')
const { Segment, open, openPrivate } = require('./segment.js')
const { Limiter } = require('./limiter.js')
const { Counters } = require('./counters.js')
const { Result } = require('./result.js')
const { Denied } = require('./errors.js')
const http = require('./http.js')

// Remove a segment's name. rl_unlink(3)
function unlink (name) { native.unlink(name) }

// Where a segment is, or would be, and what it needs. rl_place(3)
const place = (name = 'default', options) => native.place(name, options)

// '100/min' -> { capacity, windowNs }
const parseRate = (text) => native.parseRate(text)

// What stands for a key that is longer than 4096 bytes. rl_key_digest(3)
const keyDigest = (key) => native.digest(Buffer.from(key))

module.exports = { open, openPrivate, unlink, place, keyDigest, parseRate, http, Segment, Limiter, Counters, Result, Denied }
