// SPDX-License-Identifier: BSD-2-Clause
import all from './express_store.js'

export const { ExpressStore } = all
