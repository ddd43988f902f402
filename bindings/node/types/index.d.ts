// SPDX-License-Identifier: BSD-2-Clause

/** A key: text is counted as its UTF-8 bytes, a number as its decimal text. One above 4096 bytes by its digest. */
export type Key = string | number | bigint | Uint8Array
/** Milliseconds as a number, or nanoseconds as a bigint. */
export type Time = number | bigint

/** What a new segment is to have; an existing one is as it is. See rl_open(3) */
export interface OpenOptions {
  keys?: number
  ring?: number
  /** bytes of each key kept for people; false: none */
  keyBytes?: number | false
  rules?: number
  overrides?: number
  bans?: number
  holders?: number
  onFull?: 'reserve' | 'deny' | 'allow'
  /** of a full table: overflow counters of each limit, a power of two */
  cells?: number
  /** ... and how many limits have them at the same time */
  reserves?: number
  /** events to keep for `rlctl log`; false: none */
  events?: number | false
  /** of these, changes to keep apart for `rlctl log --changes` */
  changes?: number
  bufferMs?: Time
  /** permission bits, such as 0o660 */
  mode?: number
  /** number of the group that shares the segment */
  group?: number
  readonly?: boolean
  existing?: boolean
  anyOwner?: boolean
  hugePages?: boolean
  populate?: boolean
  atLeast?: boolean
}

/** A word of rl(7). These are offered by editors; what others there are, the library knows. */
export type Algorithm = 'sliding_window' | 'fixed_window' | 'anchored_window' | 'sliding_log' | 'token_bucket' |
  'leaky_bucket' | 'in_flight' | (string & Record<never, never>)

/** See struct rl_limit in rl.h */
export interface LimitFields {
  algorithm?: Algorithm
  /** '100/min': capacity and window at once */
  limit?: string
  capacity?: number
  /** Infinity, of an anchored window: without an end */
  windowMs?: Time
  /** sub-buckets, or the length of one: '100ms'; without it a sliding window has some 60 and is hard */
  granularity?: number | string
  hard?: boolean
  burst?: number
  undelayed?: number
  shadow?: boolean
  prefixV4?: number
  prefixV6?: number
  prefetch?: number
  countDenied?: boolean
}
/** A text alone is what rl.json makes of it: a sliding window, hard, of some 60 sub-buckets. */
export type Limit = string | LimitFields

export interface RequestOptions {
  /** the caller's own time, since 1970; with a bigint the answer has `ns`, too */
  now?: Time
  /** a capacity of the request's own, for a customer's tier */
  capacity?: number
  burst?: number
  undelayed?: number
}

export type AsyncOptions = Omit<RequestOptions, 'now'> & { signal?: AbortSignal }

/** An answer. Times are milliseconds, rounded up; Infinity is never. */
export class Result {
  readonly allowed: boolean
  readonly verdict: 'allowed' | 'denied' | 'never' | 'undecided'
  /** such as 'RL_EEMPTY' or 'ENOSPC' */
  readonly error: string | null
  readonly reason: 'limit' | 'ban' | 'exemption' | 'reserve' | 'share'
  /** which of the rule's limits decided */
  readonly index: number
  readonly limit: number
  readonly remaining: number
  readonly used: number
  readonly shadowDenied: boolean
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  readonly delayMs: number
  readonly windowMs: number
  readonly ns?: { retryAfter: bigint, resetAfter: bigint, delay: bigint, window: bigint }
}

/** One that kept its charges. */
export interface KeptResult extends Result {
  /** 1 given back, 0 it was too late, or done before */
  refund (now?: Time, options?: { holds?: boolean }): number
  /** what the request has cost: 1 something that counts has changed, 0 nothing has; once */
  settle (actual: number, now?: Time): number
  /** yields what is iterated, and settles to the sum of `count` of what was taken, however it ends */
  stream<T> (chunks: Iterable<T> | AsyncIterable<T>, count: (chunk: T) => number): AsyncGenerator<T, void, undefined>
  /** units in flight: 1 given back, 0 there was nothing */
  release (): number
}

/** what spend() throws for a request that is not allowed */
export class Denied extends Error {
  readonly result: Result
}

export type Pattern = Key | { key: Key } | { prefix: Key } | { network: string }
/** slots that were forgotten, and those whose key could not be judged */
export interface ResetCounts { forgotten: number, unknown: number }

export interface RuleInfo {
  name: string
  source: 'application' | 'configuration' | 'none'
  hasOverrides: boolean
  limits: Array<Required<Omit<LimitFields, 'limit' | 'windowMs'>> & { windowMs: number }>
}

export class Limiter {
  private constructor ()
  readonly name: string
  readonly segment: Segment
  check (key: Key, cost?: number): Result
  check (key: Key, cost: number | undefined, options: RequestOptions & { keep: true }): KeptResult
  check (key: Key, cost?: number, options?: RequestOptions): Result
  /** check() that waits for a share of a cluster's limit for as long as the limit says; a signal that is aborted rejects it */
  checkAsync (key: Key, cost: number | undefined, options: AsyncOptions & { keep: true }): Promise<KeptResult>
  checkAsync (key: Key, cost?: number, options?: AsyncOptions): Promise<Result>
  peek (key: Key, options?: { now?: Time }): Result
  reserve (key: Key, cost: number | undefined, maxWaitMs: Time, options: RequestOptions & { keep: true }): KeptResult
  reserve (key: Key, cost?: number, maxWaitMs?: Time, options?: RequestOptions): Result
  acquire (key: Key, cost?: number, options?: RequestOptions): KeptResult
  /** charges an estimate, which the call settles; throws Denied */
  spend<T> (key: Key, estimate: number, call: (spent: KeptResult) => T | Promise<T>, options?: RequestOptions): Promise<T>
  checkLimits (key: Key, cost?: number, options?: RequestOptions): Result & { limits: Result[] }
  refund (key: Key, cost?: number, options?: RequestOptions): number
  reset (key: Key): boolean
  resetAll (pattern?: Pattern): ResetCounts
  ban (pattern: Pattern, until?: Time): void
  allow (pattern: Pattern, until?: Time): void
  unban (pattern: Pattern): boolean
  info (): RuleInfo | undefined
}

export interface Count {
  /** whether the call did what it says */
  done: boolean
  value: number
  /** Infinity: without an end; 0: there is none */
  expiresAfterMs: number
  isNew: boolean
  ns?: { expiresAfter: bigint }
}

export class Counters {
  private constructor ()
  readonly name: string
  add (key: Key, amount: number, lifetimeMs: Time, now?: Time): Count
  get (key: Key, now?: Time): Count
  set (key: Key, value: number, lifetimeMs: Time, now?: Time): Count
  setNew (key: Key, value: number, lifetimeMs: Time, now?: Time): Count
  touch (key: Key, lifetimeMs: Time, now?: Time): Count
  drop (key: Key, now?: Time): boolean
  reset (key: Key): boolean
  resetAll (pattern?: Pattern): ResetCounts
}

export interface Item extends RequestOptions {
  limiter: Limiter
  key: Key
  cost?: number
  keep?: boolean
}

export interface SegmentInfo {
  name: string
  layout: number
  bytes: number
  slots: number
  slotsUsed: number
  keys: number
  ring: number
  keyBytes: number
  rules: number
  rulesUsed: number
  limits: number
  limitsUsed: number
  overrides: number
  overridesUsed: number
  bans: number
  holders: number
  holdersUsed: number
  onFull: 'reserve' | 'deny' | 'allow'
  cells: number
  reserves: number
  events: number
  changes: number
  bufferMs: number
  createdMs: number
  owner: number
  group: number
  mode: number
  isReadonly: boolean
  isClustered: boolean
  hugePages: boolean
  generation: number
  heartbeatMs: number
  sweeper: number
}

export class Segment {
  private constructor ()
  readonly name: string
  define (name: string, limits: Limit | Limit[], options?: { keep?: boolean }): Limiter
  limiter (name: string): Limiter
  forget (name: string): boolean
  counters (name: string): Counters
  checkAll (items: Item[], options?: { now?: Time, maxWaitMs?: Time }):
    { allowed: boolean, verdict: Result['verdict'], decided: number, results: Result[] }
  checkAllAsync (items: Item[], options?: { signal?: AbortSignal }): Promise<ReturnType<Segment['checkAll']>>
  checkMany (items: Item[], options?: { now?: Time }): Result[]
  ban (pattern: Pattern, until?: Time, limiter?: Limiter): void
  allow (pattern: Pattern, until?: Time, limiter?: Limiter): void
  unban (pattern: Pattern, limiter?: Limiter): boolean
  resetMatching (of?: Limiter | Counters, pattern?: Pattern): ResetCounts
  info (): SegmentInfo
  now (): bigint
  giveBack (): number
  look (): boolean
  close (): void
}

/** Open a segment, creating it when absent. An error has a `code`, such as 'RL_EOWNER'. */
export function open (name?: string, options?: OpenOptions): Segment
/** A segment of this thread alone, in its own memory. */
export function openPrivate (options?: OpenOptions): Segment
export function unlink (name: string): void
export function place (name?: string, options?: OpenOptions):
  { path: string, isThere: boolean, isOwn: boolean, bytes: number, room: number, memory: number, memoryBy: string,
    layout: number, revision: number, ownLayout: number, ownRevision: number }
export function keyDigest (key: string | Uint8Array): string
export function parseRate (text: string): { capacity: number, windowNs: bigint }

/** Values of header fields; undefined: leave the field out. */
export const http: {
  retryAfter (result: Result): string | undefined
  rateLimit (name: string, results: Result | Result[], set?: 'ietf' | 'ietf-11' | 'ietf-7'): string | undefined
  rateLimitPolicy (name: string, policy: { quota: number, windowMs?: Time, unit?: string }, set?: 'ietf' | 'ietf-11' | 'ietf-7'): string | undefined
  xRateLimit (result: Result, now?: Time): { limit: string, remaining: string, reset: string | undefined } | undefined
  /** the body of a refusal, of application/problem+json; without a result nothing could be decided */
  problem (status: number, name?: string, result?: Result): string
  client (peer: string, options?: ClientOptions): { address: string, end: 'found' | 'listed' | 'no_address' | 'far', hops: number }
}

/** Whom to believe, and what of an address is counted. */
export interface ClientOptions {
  /** networks of proxies: '10.0.0.0/8', or 'unix:' */
  trust?: string[]
  field?: 'x-forwarded-for' | 'forwarded'
  lines?: string | string[]
  prefixV4?: number
  prefixV6?: number
}
