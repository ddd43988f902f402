// SPDX-License-Identifier: BSD-2-Clause
import all from './fastify_store.js'

export const { FastifyStore, fastifyStore } = all
