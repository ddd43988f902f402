// SPDX-License-Identifier: BSD-2-Clause
import all from './index.js'

export const { open, openPrivate, unlink, place, keyDigest, parseRate, http, Segment, Limiter, Counters, Result, Denied } = all
