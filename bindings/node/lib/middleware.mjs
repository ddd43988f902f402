// SPDX-License-Identifier: BSD-2-Clause
import all from './middleware.js'

export const { express, koa, fastify } = all
