// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// The addon: built from source here, or prebuilt for this machine inside the package. Nothing is downloaded.
const fs = require('node:fs')
const path = require('node:path')

const root = path.join(__dirname, '..')
const kind = `${process.platform}-${process.arch}`
const libcs = fs.existsSync('/etc/alpine-release') ? ['musl', 'glibc'] : ['glibc', 'musl']
const places = [
  'librl.node', // as Debian's package has it
  path.join('build', 'Release', 'rl.node'),
  ...libcs.map((libc) => path.join('prebuilds', `${kind}-${libc}`, 'librl.node')),
]

function load () {
  if (process.platform !== 'linux') return require('./off.js')
  const said = []
  for (const place of places) {
    const file = path.join(root, place)
    if (!fs.existsSync(file)) continue
    try {
      return require(file)
    } catch (error) {
      said.push(`${file}: ${error.message}`)
    }
  }
  const why = said.length > 0 ? said.join('; ') : 'there is no build for it'
  throw new Error(`rl: no addon for ${kind} (${why}). Remedy: npm rebuild librl, with a C compiler and node-gyp`)
}

const native = load()

// Where src/rl_node.h puts what.
const DOUBLES = 16 // numbers of 64 bits in an answer
const WHOLES = 2 * DOUBLES // of 32 bits
const EPOCH = WHOLES // by segment, behind the answer
const VERDICT_LOOK = 9
const TICKET_BYTES = 1024

// An answer, or several, as what reads it wants them.
class Answer {
  constructor (buffer) {
    this.whole = new Int32Array(buffer)
    this.ms = new Float64Array(buffer)
    this.ns = new BigUint64Array(buffer)
  }

  // A time in milliseconds of the answer at `at`: 0 retry, 1 reset, 2 delay, 3 window.
  time (at, which) {
    const ms = this.whole[at * WHOLES + 8 + which]
    return ms >= 0 ? ms : this.ms[at * DOUBLES + 6 + which]
  }

  nanoseconds (at, which) { return this.ns[at * DOUBLES + 12 + which] }
}

const answer = new Answer(native.out)
const newAnswer = (count) => new Answer(new ArrayBuffer(count * DOUBLES * 8))

module.exports = { native, answer, newAnswer, out: answer.whole, EPOCH, WHOLES, DOUBLES, VERDICT_LOOK, TICKET_BYTES }
