// SPDX-License-Identifier: BSD-2-Clause
export * from './rate-limiter-flexible.js'
