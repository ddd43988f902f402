/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ORDER_H
#define RL_ORDER_H

/*
 * Is what workers were told what one of them alone could have been told, in some order of what
 * overlaps? To be included behind history[] and its length, and behind
 *
 *	static bool agrees(ORDER_STATE *state, const struct operation *o);
 *
 * which lets the model do an operation, and returns true if it says what the worker was told. An
 * operation has `began` and `ended`, instants; ended 0: its worker was killed in it.
 */

/* Can what is not in `done` yet follow, from that state on? */
static bool
has_order(ORDER_STATE state, unsigned done)
{
	int first_end = INT32_MAX;

	for (int i = 0; i < length; i++)
		if (!(done & 1u << i) && history[i].ended > 0 && history[i].ended < first_end)
			first_end = history[i].ended;
	if (first_end == INT32_MAX)
		return true; /* all that is left has never ended, and need not have begun */
	for (int i = 0; i < length; i++) {
		ORDER_STATE next = state;
		if (!(done & 1u << i) && history[i].began < first_end &&
		    agrees(&next, &history[i]) && has_order(next, done | 1u << i))
			return true;
	}
	return false;
}

#endif
