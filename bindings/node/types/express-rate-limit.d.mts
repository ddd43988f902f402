// SPDX-License-Identifier: BSD-2-Clause
export * from './express-rate-limit.js'
