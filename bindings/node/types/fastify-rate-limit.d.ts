// SPDX-License-Identifier: BSD-2-Clause
import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import type { OpenOptions, Segment } from './index.js'

export interface FastifyStoreOptions {
  segment?: string | Segment
  segmentOptions?: OpenOptions
  /** name of the space of counters; 'fastify-rate-limit' */
  space?: string
  /** what keys begin with */
  prefix?: string
}

/** A store for @fastify/rate-limit, on the segment 'default'. */
export const FastifyStore: FastifyRateLimitStoreCtor
/** The class that the plugin's option `store` takes. */
export function fastifyStore (options?: FastifyStoreOptions): FastifyRateLimitStoreCtor
export type { FastifyRateLimitStore }
