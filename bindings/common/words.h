/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLB_WORDS_H
#define RLB_WORDS_H

/* The words of a language for numbers of rl.h. Never NULL. */

const char *rlb_verdict(int verdict); /* "allowed"; a verdict that is none: "undecided" */
const char *rlb_reason(int reason);   /* "limit", "ban", "exemption", "reserve" */
const char *rlb_match(int match);     /* "key", "prefix", "network" */
const char *rlb_client_end(int end);  /* "found", "listed", "no_address", "far" */

/*
 * The name in rl.h or errno.h of an error, negative or not: "RL_EFOREIGN", "ENOSPC"; else "E" and
 * digits.
 */
#define RLB_ERROR_SIZE 24
const char *rlb_error(int error, char text[RLB_ERROR_SIZE]);

/* What an error means, and its remedy: "no room for another rule: make the segment with ...". */
#define RLB_WHY_SIZE 256
const char *rlb_why(int error, char text[RLB_WHY_SIZE]);

/* The value of a word among `words`, which end with NULL; -EINVAL: it is none of them. */
int rlb_word(const char *const *words, const char *word, unsigned long len);

extern const char *const rlb_matches[];

#endif
