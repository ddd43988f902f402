// SPDX-License-Identifier: BSD-2-Clause
import type { IRateLimiterStoreOptions, RateLimiterStoreAbstract } from 'rate-limiter-flexible'
import type { OpenOptions, Segment } from './index.js'

export interface RateLimiterRlOptions extends Omit<IRateLimiterStoreOptions, 'storeClient'> {
  /** a Segment, or the name of one */
  storeClient?: string | Segment
  segmentOptions?: OpenOptions
  /** name of the space of counters; 'rate-limiter-flexible' */
  space?: string
}

/** A limiter of rate-limiter-flexible. */
export class RateLimiterRl extends RateLimiterStoreAbstract {
  constructor (options: RateLimiterRlOptions)
}
