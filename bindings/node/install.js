// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// If no prebuilt addon of the package runs here, build it from the sources that the package has. Nothing is downloaded:
// node-gyp is npm's own, and --nodedir says where Node's headers are.
const { spawnSync } = require('node:child_process')
const path = require('node:path')

const wanted = process.env.npm_config_build_from_source === 'true'
try {
  if (!wanted) {
    require('./lib/native.js')
    process.exit(0)
  }
} catch (error) {
  console.log(error.message)
}

const ofNpm = path.join(path.dirname(process.env.npm_execpath ?? ''), '..', 'node_modules', 'node-gyp', 'bin', 'node-gyp.js')
const gyp = process.env.npm_config_node_gyp ?? ofNpm
const headers = path.join(process.execPath, '..', '..') // <prefix>/bin/node has <prefix>/include/node
const args = [gyp, 'rebuild', `--nodedir=${process.env.npm_config_nodedir ?? headers}`]
process.exit(spawnSync(process.execPath, args, { cwd: __dirname, stdio: 'inherit' }).status ?? 1)
