// SPDX-License-Identifier: BSD-2-Clause
import type { OpenOptions, Segment } from './index.js'

/** A store for express-rate-limit. Each limiter has a prefix of its own, which is its rule's name. */
export class ExpressStore {
  constructor (options?: { prefix?: string, segment?: string | Segment, segmentOptions?: OpenOptions })
  readonly localKeys: boolean
  readonly prefix: string
  init (options: { windowMs: number, limit?: unknown, max?: unknown }): void
  get (key: string): Promise<{ totalHits: number, resetTime: Date | undefined } | undefined>
  increment (key: string): Promise<{ totalHits: number, resetTime: Date | undefined }>
  decrement (key: string): Promise<void>
  resetKey (key: string): Promise<void>
  resetAll (): Promise<void>
}
