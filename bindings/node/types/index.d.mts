// SPDX-License-Identifier: BSD-2-Clause
export * from './index.js'
