// SPDX-License-Identifier: BSD-2-Clause
'use strict'

// An application that a process manager starts: app.js SEGMENT FILE. Each store has a path, and 100 requests a day; a line
// of FILE tells each worker's pid and the ports that all workers share: of express and of fastify.
const fs = require('node:fs')
const express = require('express')
const { rateLimit } = require('express-rate-limit')
const fastifyOf = require('fastify')
const fastifyLimit = require('@fastify/rate-limit')
const rl = require('librl')
const { ExpressStore } = require('librl/express-rate-limit')
const { RateLimiterRl } = require('librl/rate-limiter-flexible')
const { fastifyStore } = require('librl/fastify-rate-limit')
const middleware = require('librl/middleware')

const [segment, file] = process.argv.slice(2)
const DAY = 86_400_000
const everybody = () => 'everybody'

function serveExpress () {
  const app = express()
  const flexible = new RateLimiterRl({ storeClient: segment, points: 100, duration: DAY / 1000 })
  const limiter = rl.open(segment).define('native', { algorithm: 'fixed_window', capacity: 100, windowMs: DAY })
  app.use('/express', rateLimit({ windowMs: DAY, limit: 100, keyGenerator: everybody, store: new ExpressStore({ segment }) }))
  app.use('/flexible', (request, response, next) => flexible.consume('everybody').then(() => next(), () => response.sendStatus(429)))
  app.use('/native', middleware.express({ limiter, key: everybody }))
  app.use('/client', middleware.express({ limiter, trust: ['127.0.0.0/8'] }))
  app.use((request, response) => response.send('ok'))
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => resolve(server.address().port))
  })
}

async function serveFastify () {
  const app = fastifyOf()
  await app.register(fastifyLimit, { max: 100, timeWindow: DAY, keyGenerator: everybody, store: fastifyStore({ segment }) })
  app.get('/fastify', async () => 'ok')
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server.address().port
}

Promise.all([serveExpress(), serveFastify()]).then(([web, api]) => {
  fs.appendFileSync(file, JSON.stringify({ pid: process.pid, express: web, fastify: api }) + '\n')
  process.send?.('ready')
})
