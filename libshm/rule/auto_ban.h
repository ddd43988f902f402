/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_AUTO_BAN_H
#define RL_AUTO_BAN_H

/*
 * Automatic bans: a key that a rule denies `after` times `within` some time is banned under that
 * rule, and each time it comes to that again for `longer` times as long. Whoever denies counts, and
 * whoever counts the last one bans; no daemon takes part.
 *
 * What a rule asks for stands in the bank of the configuration in force (see enum rl_bank). How
 * often a key was denied stands in a table of strikes, lines of four words of 16 bytes, each of
 * which one CAS changes:
 *
 *	lo  hash of rule, key and `within`, not 0:50 | denied in the part:14; the latter lowest
 *	hi  part:30 | strikes:6 | denied two before:14 | denied in the part before:14; likewise
 *
 *	strike   one of four words of the line that the hash chooses
 *	part     the number of the newest third of `within` in which it was denied; after a ban, of
 *	         that in which it ends
 *	strikes  bans so far; forgotten if nothing came for at_most after the part
 *
 *	    | 1 2 . |     9 | . 4 . |  now: 2 + 9 + 4 denials, all of them in less than `within`
 *	     part - 2  part - 1  part
 *
 * What is counted came within three parts, so fewer than `after` denials in `within` never ban. Two
 * thirds of `within` touch three parts at most: so many in them always do, at whatever time they
 * begin. All of `within` touches four, and any three of them have fewer, so twice `after` always
 * do, too. A denial by a clock that is behind counts to its own part.
 *
 * The CAS that would make the sum `after` makes it 0 and the strikes one more: it succeeds in one
 * process, and that one sets the ban. One that dies in between leaves a key that is banned `after`
 * denials later.
 *
 * Such a ban is behind all that people say: a ban, an exemption, an override of the key, by
 * whatever pattern and whenever it was set, goes before it (rl_standing_add_automatic()); and where
 * the key is exempt none is set.
 *
 * A line that is full gives up what can be forgotten, or else the word with the fewest strikes and
 * then denials: so many keys that are denied once each push out each other, and not one that is
 * about to be banned. A strike that is lost makes a ban late or shorter, never wrong: every ban was
 * paid for by `after` denials of its key, save that two keys of one line and of one hash of 50 bits
 * are one.
 *
 * Cost: one load of a line that nobody writes; where any rule asks for it, two more; and for such a
 * rule at most TRIES times four loads and a CAS.
 */

#include "rl_admin.h"
#include "segment/segment.h"
#include "shared/layout_rows.h"

/* -EINVAL for what is out of range. `after` 0: none is asked for. */
int rl_auto_ban_check(const struct rl_auto_ban *ban);

/* What the rule of that row has in a bank of the configuration. */
void rl_auto_ban_put(const struct rl_segment *s, unsigned bank, int row,
                     const struct rl_auto_ban *ban);
void rl_auto_ban_get(const struct rl_segment *s, unsigned bank, int row, struct rl_auto_ban *ban);

/* A rule of the configuration has denied the key, by a limit that is enforced. */
void rl_auto_ban_count(const struct rl_segment *s, int rule, const void *key, size_t key_len,
                       uint64_t now_ns);

/*
 * The row behind all rules': its first word is 1 once any rule of the segment has asked for
 * automatic bans.
 */
static inline uint64_t *
rl_auto_ban_asked(const struct rl_segment *s)
{
	return &s->auto_bans[2 * (uint64_t)s->geometry.rules].numbers;
}

/* The same, if its rule asks for it: one look, for every denial. */
static inline void
rl_auto_ban_denied(const struct rl_segment *s, int rule, const void *key, size_t key_len,
                   uint64_t now_ns)
{
	if (__builtin_expect(rl_atomic_load_relaxed(rl_auto_ban_asked(s)) != 0, 0))
		rl_auto_ban_count(s, rule, key, key_len, now_ns);
}

#endif
