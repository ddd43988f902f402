// SPDX-License-Identifier: BSD-2-Clause
import all from './flexible_store.js'

export const { RateLimiterRl } = all
