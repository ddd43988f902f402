// SPDX-License-Identifier: BSD-2-Clause
export * from './fastify-rate-limit.js'
