/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLB_CHARGES_H
#define RLB_CHARGES_H

#include <rl_flight.h>

#include <stdbool.h>

/* rl_refund(), without `holds` of the rates alone: units in flight stay in `charges` then. */
int rlb_refund(struct rl *rl, struct rl_charges *charges, bool holds);

#endif
