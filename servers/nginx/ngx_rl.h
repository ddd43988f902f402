/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NGX_RL_H
#define NGX_RL_H

/*
 * What the modules for http and for stream share: a segment, rules, limits that ask by a rule and a
 * key, and the decision about one request.
 *
 *	http {}, stream {}          ngx_rl_main: one segment, the rules of this block
 *	a location, a server        ngx_rl_set: limits that are decided together, all or nothing
 *	a request, a session        ngx_rl_outcome: what was decided about it by one set
 *
 * The configuration is read without touching a segment (directives, parse). The master opens the
 * segment and defines the rules before it forks (ngx_rl_start()); workers inherit the handle. From
 * then on one of them looks once a second whether the segment is still in its place; where it is
 * not, each opens it anew (segment).
 */
#include <ngx_config.h>
#include <ngx_core.h>

#include <rl_admin.h>
#include <rl_http.h>

#include "../common/directive.h"

/* Both modules are loaded into one process, each with its own copy of what they share. */
#pragma GCC visibility push(hidden)

enum ngx_rl_kind {
	NGX_RL_UNDECLARED = 0, /* used so far, and not declared yet */
	NGX_RL_RULE,           /* rl_rule: nginx defines it */
	NGX_RL_CONFIGURED,     /* rl_rule NAME configured: rl.json has it, nginx only finds it */
	NGX_RL_REQ_ZONE,       /* rl_limit_req_zone */
	NGX_RL_CONN_ZONE,      /* rl_limit_conn_zone */
};

/* An item of RateLimit-Policy, and of which answer it is. */
struct ngx_rl_policy {
	uint32_t limit;
	uint32_t capacity;
	uint64_t window_ns;
	int set;    /* enum rl_http_set */
	size_t len; /* 0: none is kept */
	char text[RL_NAME_MAX + 128];
};

/* What a rule is in the segment, looked at once a second. */
struct ngx_rl_rule_now {
	uint32_t sum;   /* of its limits */
	unsigned needs; /* of enum rl_need */
	unsigned limit_count;
	struct rl_limit limits[RL_LIMITS_MAX];
	struct ngx_rl_policy policies[RL_LIMITS_MAX]; /* the last that was sent of each limit */
};

struct ngx_rl_rule {
	ngx_str_t name; /* with a NUL behind it */
	enum ngx_rl_kind kind;
	enum ngx_rl_kind used_as; /* a zone, if rl_limit_req or rl_limit_conn has it, or 0 */
	struct rlb_limit said[RL_LIMITS_MAX]; /* by rl_rule's words; `limits` once all is read */
	struct rl_limit limits[RL_LIMITS_MAX];
	unsigned limit_count;
	unsigned has_use; /* of a zone: capacity or burst below come from a directive */
	void *key;        /* of a zone: what compile() has made */
	ngx_str_t key_text;
	const char *file; /* where it was named first */
	ngx_uint_t line;
	ngx_uint_t index; /* among the rules */
	int id;           /* the segment's handle for it, or -errno */
	struct ngx_rl_rule_now now;
};

/* A handle, and how many need it: the segment's owner, and each request that holds units by it. */
struct ngx_rl_handle {
	struct rl *rl;
	ngx_uint_t users;
	dev_t device; /* of the file */
	ino_t file;
};

struct ngx_rl_segment {
	ngx_str_t name; /* empty: not given */
	struct rl_options options;
	uint32_t ring;                /* as rl_segment says; 0: it does not */
	size_t zone_bytes;            /* of all zones, which say how many keys there may be */
	struct ngx_rl_handle *handle; /* NULL: it is not open */
	int error;                    /* why not */
	time_t looked;                /* in which second it was looked after */
	ngx_atomic_t *second;         /* shared by all workers: in which one of them did */
	ngx_atomic_t *changes;        /* likewise: how often another file was found in its place */
	ngx_atomic_uint_t seen;       /* of those changes, when it was looked after */
};

/*
 * What is logged once by all workers. Words: one for the segment, one for the errors of each rule,
 * one for the limits of each rule, two by which workers take turns to look after the segment, and
 * last whether another configuration has taken the place of this one.
 */
struct ngx_rl_reports {
	ngx_atomic_t *words; /* shared by all workers; NULL: none */
	ngx_uint_t count;
};

struct ngx_rl_request;

/* What compile() makes of a text: of one that is a variable alone no copy need be made. */
struct ngx_rl_value {
	ngx_int_t variable; /* its index; NGX_ERROR: it is more than that */
	void *complex;      /* then a complex value */
};

/* One http{} or stream{} block. */
struct ngx_rl_main {
	struct ngx_rl_segment segment;
	ngx_array_t rules;  /* of struct ngx_rl_rule * */
	ngx_array_t limits; /* of struct ngx_rl_limit *: those of all places */
	struct ngx_rl_reports reports;
	/* How this kind of block compiles a text with variables, and evaluates it for a request. */
	void *(*compile)(ngx_conf_t *cf, ngx_str_t *text);
	ngx_int_t (*evaluate)(void *request, void *value, ngx_str_t *text);
	/* $rl_client, the key where none is given. */
	ngx_int_t (*client)(const struct ngx_rl_request *request, ngx_str_t *text);
	int has_answers;    /* what some limit counts is known with the answer */
	unsigned client_v6; /* leading bits of IPv6 that are a client; 0: not said */
};

/*
 * One limit of a location: rl_limit, rl_limit_req or rl_limit_conn. Values are what compile() has
 * made, or NULL.
 */
struct ngx_rl_limit {
	struct ngx_rl_rule *rule;
	const char *file;
	ngx_uint_t line;
	struct ngx_rl_set *set; /* it stands in */
	void *key;              /* NULL: the zone's */
	ngx_str_t key_text;
	void *cost;
	void *capacity;
	void *count_if;  /* the answer counts where this is true */
	void *refund_if; /* or where this is not */
	uint32_t number; /* the capacity here: rl_limit_conn's, or rl_limit's that no variable
	                    says */
	uint32_t burst;
	uint32_t undelayed;
	unsigned has_burst : 1;     /* burst counts here, whatever the rule's is */
	unsigned has_undelayed : 1; /* likewise */
	unsigned is_nodelay : 1;    /* undelayed is the burst, however large that is */
	struct rl_item item;        /* what is the same for all requests */
};

enum ngx_rl_on_error {
	NGX_RL_ON_ERROR_ALLOW = 0,
	NGX_RL_ON_ERROR_DENY = 1,
};

/* What a request has cost under a rule, known when it is over. */
struct ngx_rl_settle {
	struct ngx_rl_rule *rule;
	void *cost;
};

/* Limits that are decided together, and what is done then. */
struct ngx_rl_set {
	ngx_array_t *limits;  /* of struct ngx_rl_limit *; NULL: none */
	int is_off;           /* nor any of the outer level */
	ngx_array_t *settles; /* of struct ngx_rl_settle; NULL: none */
	ngx_uint_t status;    /* of an answer to who is denied */
	ngx_uint_t log_level;
	ngx_uint_t delay_log_level;
	ngx_flag_t dry_run;
	ngx_uint_t on_error;
	int has_answers; /* some limit of it depends on the answer */
};

/* The sets of a location, in the order in which they are asked. */
enum ngx_rl_set_name {
	NGX_RL_CONN = 0, /* rl_limit_conn */
	NGX_RL_REQ = 1,  /* rl_limit_req */
	NGX_RL_OWN = 2,  /* rl_limit */
	NGX_RL_SETS = 3,
};

enum ngx_rl_status {
	NGX_RL_NONE = 0, /* not asked */
	NGX_RL_PASSED,
	NGX_RL_DELAYED,
	NGX_RL_REJECTED,
	NGX_RL_DELAYED_DRY_RUN,
	NGX_RL_REJECTED_DRY_RUN,
	NGX_RL_UNDECIDED, /* let through without a decision */
	NGX_RL_STATUSES,
};

/* The answer of one rule, for header fields. */
struct ngx_rl_answer {
	struct ngx_rl_rule *rule;
	uint32_t capacity; /* that the request brought along, or 0 */
	const struct rl_result *result;
};

/* Before a set is asked, `status` and `wait` are zero, and nothing else is set. */
struct ngx_rl_outcome {
	enum ngx_rl_status status;
	int error;                /* of rl.h, or 0 */
	struct ngx_rl_rule *rule; /* that decided; NULL: none, there was an error */
	struct rl_result result;  /* its */
	ngx_msec_t delay;         /* to wait, in milliseconds */
	ngx_uint_t answer_count;
	struct ngx_rl_answer *answers; /* in the request's pool, or `answer`; NULL if not wanted */
	struct ngx_rl_answer answer;   /* of a rule alone, whose result is that above */
	struct ngx_rl_kept *kept;      /* likewise; NULL: nothing depends on the answer */
	struct ngx_rl_wait *wait;      /* likewise; NULL: it has not waited for a share */
};

/* A request that asks. */
struct ngx_rl_request {
	struct ngx_rl_main *main;
	void *request; /* for evaluate() */
	ngx_pool_t *pool;
	ngx_log_t *log;
	ngx_uint_t wants_answers;
	int is_background; /* no client waits for it, and so it does not wait */
};

/*
 * directives: what the handlers of directives in both blocks share. Each returns NGX_CONF_OK, or an
 * error.
 */
ngx_int_t ngx_rl_main_init(ngx_conf_t *cf, struct ngx_rl_main *main);
/* Those of a block itself, whose configuration is `conf`. */
char *ngx_rl_segment_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_rl_rule_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_rl_req_zone_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_rl_conn_zone_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
/* Those of a set, which is at the directive's offset; `post` is the struct ngx_rl_block. */
char *ngx_rl_limit_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_rl_limit_req_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_rl_limit_conn_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
void ngx_rl_set_init(struct ngx_rl_set *set);
void ngx_rl_set_merge(struct ngx_rl_set *set, const struct ngx_rl_set *outer, ngx_uint_t status);
extern ngx_conf_enum_t ngx_rl_log_levels[];

/* client: whom a connection comes from, as a key. NGX_OK, or NGX_ERROR without memory. */
char *ngx_rl_client_v6_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
ngx_int_t ngx_rl_client_text(const struct ngx_rl_main *main, const ngx_connection_t *c,
                             ngx_pool_t *pool, ngx_str_t *text);

/*
 * parse: texts of directives. Each returns NGX_OK or NGX_ERROR.
 *
 * The name of a text that is one variable, $name or ${name}, and nothing else.
 */
ngx_int_t ngx_rl_parse_variable(const ngx_str_t *text, ngx_str_t *name);
#define NGX_RL_COST_MAX UINT64_C(999999999999999999) /* 18 digits; what has more counts as this */
ngx_int_t ngx_rl_parse_number(const ngx_str_t *text, uint64_t most, uint64_t *number);
/* "5/min", "10r/s": capacity and window. */
ngx_int_t ngx_rl_parse_rate(const ngx_str_t *text, struct rl_limit *limit);
/* The text behind `name=`, if `word` begins so. */
int ngx_rl_option(const ngx_str_t *word, const char *name, ngx_str_t *text);
/* Whose block it stands in, and the set in `conf` that it is of. */
struct ngx_rl_block {
	struct ngx_rl_main *(*main_of)(ngx_conf_t *cf);
};
struct ngx_rl_main *ngx_rl_main_of(ngx_conf_t *cf, const ngx_command_t *cmd);
struct ngx_rl_set *ngx_rl_set_of(const ngx_command_t *cmd, void *conf);
/* Where the directive stands. */
void ngx_rl_place(const ngx_conf_t *cf, const char **file, ngx_uint_t *line);
/* Says that a word of it is wrong: NGX_CONF_ERROR. */
char *ngx_rl_bad_word(ngx_conf_t *cf, const ngx_str_t *word);

/* rules: the table of a block, and the same in the segment. */
struct ngx_rl_rule *ngx_rl_rule_get(ngx_conf_t *cf, struct ngx_rl_main *main,
                                    const ngx_str_t *name);
/*
 * When all of the block is read: each rule is declared, librl would take it, and it has what places
 * say of it.
 */
ngx_int_t ngx_rl_rules_check(ngx_conf_t *cf, struct ngx_rl_main *main);
/*
 * Define or find those that have no handle yet, and report what cannot be; and, once for each
 * change, rules that are others now than this configuration says, or have not what its places say
 * of them.
 */
void ngx_rl_rules_settle(struct ngx_rl_main *main, ngx_log_t *log);
void ngx_rl_rules_unsettle(struct ngx_rl_main *main);

/*
 * places: what a limit says beside key and cost, and whether its rule has that.
 *
 * NGX_OK, or NGX_ERROR: a sentence in `text`. `first` is the first limit of the rule, `ring` the
 * segment's.
 */
ngx_int_t ngx_rl_place_check(const struct ngx_rl_limit *limit, const struct rl_limit *first,
                             uint32_t ring, char text[RL_RULE_TEXT_SIZE]);
/*
 * Those that nginx defines, and no rule and key twice in one place; then each limit has its item.
 * NGX_OK, or NGX_ERROR: said why.
 */
ngx_int_t ngx_rl_places_check(ngx_conf_t *cf, struct ngx_rl_main *main);
/* Log what a rule that is in force has not. */
void ngx_rl_places_review(struct ngx_rl_main *main, const struct ngx_rl_rule *rule,
                          const struct rl_limit *first, ngx_log_t *log);

/* segment */
/* In the master: open or create, define the rules. Reports an error, and goes on without. */
ngx_int_t ngx_rl_start(ngx_cycle_t *cycle, struct ngx_rl_main *main);
/* Is all in its place? The handle to use now, or NULL: segment.error says why. */
struct ngx_rl_handle *ngx_rl_segment_look(struct ngx_rl_main *main, ngx_log_t *log);

/* The same; it is looked after once a second, and when a worker has found another file. */
static inline struct ngx_rl_handle *
ngx_rl_segment_use(struct ngx_rl_main *main, ngx_log_t *log)
{
	const struct ngx_rl_segment *segment = &main->segment;

	return ngx_time() == segment->looked && *segment->changes == segment->seen
	               ? segment->handle
	               : ngx_rl_segment_look(main, log);
}

void ngx_rl_handle_release(struct ngx_rl_handle *handle);

/* report */
ngx_int_t ngx_rl_reports_create(ngx_cycle_t *cycle, struct ngx_rl_main *main);
/*
 * Whether an error of word `index` is to be logged now: it is another one, or was away for a
 * minute.
 */
int ngx_rl_report_is_new(struct ngx_rl_main *main, ngx_uint_t index, int error);
/* Whether an error of word `index` has been logged, and is not over. */
int ngx_rl_report_is_on(const struct ngx_rl_main *main, ngx_uint_t index);
/* Whether there was an error until now; there is none any more. */
int ngx_rl_report_end(struct ngx_rl_main *main, ngx_uint_t index);
/*
 * Whether word `index` was another, and this configuration is in force: `value` is to be logged
 * now.
 */
int ngx_rl_report_is_other(struct ngx_rl_main *main, ngx_uint_t index, uint32_t value);
#define NGX_RL_REPORT_SEGMENT 0
#define NGX_RL_REPORT_RULE(rule) (2 * (rule)->index + 1)
#define NGX_RL_REPORT_LIMITS(rule) (2 * (rule)->index + 2)

/*
 * decide: ask all limits of a set, hold what is in flight until the pool is destroyed. NGX_OK;
 * NGX_AGAIN: nothing is decided, and the set is to be asked again after the outcome's delay; or
 * NGX_ERROR. Of the outcome `status` and `wait` are zero before, or as NGX_AGAIN has left them.
 */
ngx_int_t ngx_rl_decide(struct ngx_rl_request *request, struct ngx_rl_set *set,
                        struct ngx_rl_outcome *outcome);

/* wait: for a share of a cluster's limit. */
struct ngx_rl_wait {
	ngx_msec_t end;
	unsigned is_on : 1;
	unsigned is_last : 1; /* it asks once more, and that is its answer */
};

#define NGX_RL_WAITERS_MAX 1000   /* of a worker; more are denied at once */
extern ngx_uint_t ngx_rl_waiters; /* requests, or sessions */

/* Flags of items that say whether one may wait. */
static inline unsigned
ngx_rl_wait_flags(const struct ngx_rl_set *set, const struct ngx_rl_outcome *outcome)
{
	int waits = outcome->wait == NULL ? ngx_rl_waiters < NGX_RL_WAITERS_MAX
	                                  : !outcome->wait->is_last;

	return waits && !set->dry_run ? RL_ITEM_WAITS : 0;
}

/* A denial: NGX_DECLINED, it is one; NGX_AGAIN, NGX_ERROR as above. */
ngx_int_t ngx_rl_wait(ngx_pool_t *pool, const struct rl_result *result,
                      struct ngx_rl_outcome *outcome);
/* Of an outcome that has waited. */
void ngx_rl_wait_end(struct ngx_rl_outcome *outcome);

/* answer: a charge is given back where the answer is not to count, or becomes what it has cost. */
char *ngx_rl_settle_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
int ngx_rl_answer_is_asked(const struct ngx_rl_set *set, const struct ngx_rl_limit *limit);
/* Whether it is of any. */
int ngx_rl_answer_has_any(const struct ngx_rl_set *set);
/*
 * Those of `count` charges that depend on it; the segment is to stay open as long as the pool.
 * NGX_OK, or NGX_ERROR without memory.
 */
ngx_int_t ngx_rl_answer_keep(ngx_pool_t *pool, struct rl *rl, const struct ngx_rl_set *set,
                             struct ngx_rl_limit *const *limits, const struct rl_charges *charges,
                             size_t count, struct ngx_rl_kept **to);
/* When the answer is known: once. */
void ngx_rl_answer_settle(struct ngx_rl_request *request, struct ngx_rl_outcome *outcome);

/* text: of an outcome, for the log and for variables. */
void ngx_rl_log_outcome(struct ngx_rl_request *request, const struct ngx_rl_set *set,
                        enum ngx_rl_set_name name, const struct ngx_rl_outcome *outcome);

enum ngx_rl_variable {
	NGX_RL_VAR_STATUS = 0,
	NGX_RL_VAR_RULE,
	NGX_RL_VAR_LIMIT,
	NGX_RL_VAR_REMAINING,
	NGX_RL_VAR_RETRY_AFTER,
	NGX_RL_VAR_DELAY,
	NGX_RL_VAR_REASON,
	NGX_RL_VARS,
};
extern const ngx_str_t ngx_rl_variable_names[NGX_RL_VARS];
#define NGX_RL_TEXT_SIZE 128 /* of a number */
/* No text: there is no such variable. */
void ngx_rl_variable_store(ngx_variable_value_t *v, ngx_str_t text);
/* What it says of the outcome, or of none. NGX_OK, or NGX_ERROR without memory. */
ngx_int_t ngx_rl_variable_get(ngx_variable_value_t *v, enum ngx_rl_variable variable,
                              const struct ngx_rl_outcome *outcome, ngx_pool_t *pool);

#pragma GCC visibility pop

#endif
