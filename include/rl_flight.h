/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FLIGHT_H
#define RL_FLIGHT_H

/*
 * rl for limits of what is in flight (RL_IN_FLIGHT): a request takes units by rl_check_item(), with
 * a place for its charges, and gives them back when it is done. rl(7) says what counts, and
 * rl_release(3) what a sandbox has to let through.
 *
 *	struct rl_charges charges;
 *	struct rl_item item = {.rule = rule, .key = user, .key_len = strlen(user), .cost = 1,
 *		.charges = &charges};
 *	struct rl_hold hold;
 *	if (rl_check_item(rl, &item, &result) != RL_ALLOWED)
 *		return refuse();
 *	rl_holds(&charges, &hold, 1);
 *	serve();
 *	rl_release(rl, &hold, 1);
 */

#include <rl.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Units in flight that a request holds. Opaque, of 32 bytes, and of the segment: any thread of any
 * process may give it back that can read and write the segment, also a child of the one that took
 * it.
 */
struct rl_hold {
	struct rl_charge charge;
};

/*
 * Move the units in flight out of `charges`, at most `max` of them, one for each concurrency limit.
 * Returns how many were moved. RL_LIMITS_MAX is room for all. Charges of rates stay, for
 * rl_refund(). 0 for a request that was allowed without a counter: exempt, by on_full, by a shadow
 * that would have denied it, with an empty key, of a removed rule, or of an address family that no
 * such limit counts.
 */
size_t rl_holds(struct rl_charges *charges, struct rl_hold *holds, size_t max);

/*
 * Give back what `count` holds hold, exactly, at any time. Each is then void, so that a second call
 * does nothing. A copy that is given back beside its original takes another unit of the same
 * process, if that holds one of the key. 1: some were given back; 0: there was nothing to give
 * back: it was done before, the holder was judged dead, the key was reset, or its limit is in force
 * no more. -EBUSY: other processes keep changing a key, and -ENOMEM: this process has not used the
 * limit yet, and has no memory to. Those that could not be given back are still holds: call again.
 * -EROFS.
 *
 * What holds
 *
 * - At most `capacity` units of a key are held. This leaves out units that were forgotten: by
 *   rl_reset() or rl_reset_matching(), or when the limit started anew (defined with another shape,
 *   or dropped by the configuration). Then as many more may be held. A capacity that is lowered
 *   takes nothing away.
 * - Units of a process that ends come back, however it ended: to requests that would be denied by
 *   them, within 100 ms, and to each sweep. Until then they count. A process is taken for dead on
 *   evidence alone: while it is a zombie that nobody has waited for, too, but not if it is of
 *   another pid namespace that cannot be seen from here. rld as root in a namespace above all
 *   others sees them (and /proc must not hide processes). Where the pid namespace of a process
 *   cannot be known, without /proc before Linux 6.11, what it holds comes back by rl_release() and
 *   rl_close() alone.
 * - A key of which units are held keeps its slot. It is neither evicted nor freed by a sweep.
 *
 * What to know, and the remedy
 *
 * - Units belong to the process that took them, all its threads alike. A child of fork(2) has a
 *   seat of its own and may give its parent's holds back. If the parent ends first, its units come
 *   back though the child goes on. Remedy: acquire in the child.
 * - rl_close() gives up the process's seat: what it still holds counts as a dead process's.
 * - A program that calls exec(2) holds on until it ends.
 * - `holders` is how many seats there are, and the ring how many of them can hold units of one key,
 *   at most RL_HOLDERS_MAX. A process takes a seat with its first unit and keeps it until
 *   rl_close() or its end, one for each handle; after exec(2) another, up to eight. A process that
 *   finds none is answered as `on_full` says, with -ENOSPC, and the rule's counter holders_full
 *   counts it.
 * - The first unit of a process takes some 20 system calls, and so does a denial that looks whether
 *   holders live: 64 looks in 100 ms and process at most, each some 7 us, or 60 us before Linux
 *   6.9: pidfd_open(2), fstatfs(2), fstat(2), poll(2), close(2), kill(2), and reading /proc. Where
 *   a sandbox answers these with an error, everybody lives; one that kills for them is no place for
 *   such a limit. -EMFILE and -ENFILE: a process without descriptors takes no seat.
 * - rl_reset() forgets what is held: then up to the capacity more may run, and the old holds are
 *   void.
 * - A dump has what is held, for people. It is not restored.
 */
int rl_release(struct rl *rl, struct rl_hold *holds, size_t count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
