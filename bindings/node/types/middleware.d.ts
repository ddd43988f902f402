// SPDX-License-Identifier: BSD-2-Clause
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ClientOptions, Key, Limit, Limiter, OpenOptions, Result, Segment } from './index.js'

/** A limiter; or a rule's name, and what it is defined as, if not by the configuration. */
export type Which = { limiter: Limiter } |
  { limiter?: undefined, name: string, limit?: Limit | Limit[], segment?: string | Segment, segmentOptions?: OpenOptions }

export type Options<Request> = Which & Omit<ClientOptions, 'lines'> & {
  /** whose request it is; the client's address */
  key?: (request: Request) => Key | Promise<Key>
  cost?: number | ((request: Request) => number | Promise<number>)
  /** which answers count: statuses and classes of them, or a function; what others were charged is given back */
  countStatus?: number | string | (number | string)[] | ((status: number, request: Request) => boolean)
  skip?: (request: Request) => boolean | Promise<boolean>
  /** RateLimit and RateLimit-Policy, or X-RateLimit-*, or none */
  headers?: 'ietf' | 'ietf-11' | 'ietf-7' | 'x' | false
  status?: number
  /** the body of a refusal; without it a problem of RFC 9457, in JSON */
  message?: string
  /** what to do with a request that could not be decided; 'error': the framework's error handler, 503 */
  onUndecided?: 'error' | 'allow' | 'deny'
  onError?: (error: Error, request: Request) => void
}

export function express<Request extends IncomingMessage = IncomingMessage> (
  options: Options<Request> & { onDenied?: (request: Request, response: any, next: (error?: any) => void, result: Result) => unknown }
): (request: Request, response: ServerResponse, next: (error?: any) => void) => Promise<void>

export function koa<Context = any> (
  options: Options<Context> & { onDenied?: (context: Context, result: Result) => unknown }
): (context: any, next: () => Promise<any>) => Promise<void>

export function fastify<Request = any> (
  instance: any, options: Options<Request> & { onDenied?: (request: Request, reply: any, result: Result) => unknown }
): Promise<void>
