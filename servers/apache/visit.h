/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_APACHE_VISIT_H
#define RL_APACHE_VISIT_H

/*
 * One request of a client, with all that the server makes of it: internal redirects, error
 * documents, subrequests. Each rule charges a key of it once, whichever of them meets the limit.
 */

#include "conf.h"
#include "store.h"

/* The outcome of one limit. */
struct decided {
	const struct rule *rule;
	const struct limit *limit; /* NULL: a block */
	const char *key;
	size_t key_len;
	struct rl_result result;
	struct rl_charges charges;    /* kept for what is known with the answer */
	const ap_expr_info_t *actual; /* of RLSettle; NULL: it costs what it is charged */
	struct store *store;          /* whose charges they are */
	uint64_t now_ns;              /* on the segment's clock */
	uint64_t quota;               /* of RateLimit-Policy */
	int is_held;                  /* its limit is a concurrency limit */
};

enum outcome {
	OUTCOME_NONE = 0, /* no limit was met */
	OUTCOME_PASSED,
	OUTCOME_EXEMPT, /* RLAllow */
	OUTCOME_DELAYED,
	OUTCOME_DELAYED_DRY,
	OUTCOME_ERROR, /* undecided */
	OUTCOME_REJECTED_DRY,
	OUTCOME_REJECTED,
};

struct visit {
	request_rec *top;            /* what the client has sent */
	apr_array_header_t *judged;  /* const void *: limits and blocks that were asked, or do not
	                                apply */
	apr_array_header_t *decided; /* struct decided * */
	const struct decided *decisive; /* denies, would deny, or has the least remaining */
	enum outcome outcome;           /* the gravest so far */
	const char *reason; /* of a denial or an error, for people; NULL: by the limit */
	uint64_t delay_ns;
	int is_done;    /* all that is sent of its answer was sent */
	int is_refused; /* as a whole: what follows is its error document */
};

/* The visit that the request is a part of. NULL: none yet, and `is_new` is 0. */
struct visit *visit_of(request_rec *r, int is_new);

/* Whether a limit, or a block, was asked for this visit or does not apply to it; and say so. */
int visit_judged(const struct visit *visit, const void *limit);
void visit_judge(struct visit *visit, const void *limit);

/* Whether the rule has charged the key for this visit. */
int visit_has(const struct visit *visit, const struct rule *rule, const char *key, size_t key_len);

/* The address of the client, or its network as RLClientPrefix says. */
const char *client_of(request_rec *r);

static inline struct section *
section_of(const request_rec *r)
{
	return ap_get_module_config(r->per_dir_config, &rl_module);
}

/*
 * decide.c: OK or DECLINED to go on, or the status of a refusal. `is_last`: limits that are `late`,
 * too.
 */
int decide(request_rec *r, int is_last);

/* hold.c: give back what the limits hold when the client's request is done, however it ends. */
void hold_until_done(struct visit *visit, struct store *store, struct decided *const *decided,
                     size_t count);
void settle_all(struct visit *visit, request_rec *last);

/* answer.c */
void answer_fields(struct visit *visit, const struct section *section);
void answer_notes(const struct visit *visit, request_rec *r);
void answer_retry(struct visit *visit, const struct section *section,
                  const struct rl_result *result);
/*
 * The status of a refusal, for the server to answer with; DONE where RLProblem is on, and the body
 * was sent. Without `d` nothing could be decided.
 */
int answer_problem(request_rec *r, const struct section *section, int status,
                   const struct decided *d);
void report_denial(request_rec *r, const struct visit *visit, const struct section *section);
void report_delay(request_rec *r, const struct visit *visit, const struct section *section);
uint64_t quota_of(struct rl *rl, const struct rl_item *item, const struct rl_result *result,
                  int *is_held);

/*
 * complain.c: an error that keeps a limit from being decided, at most once a minute for each
 * number.
 */
void report_undecided(request_rec *r, const struct rule *rule, const char *where, int error,
                      const char *text);

#endif
