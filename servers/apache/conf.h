/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_APACHE_CONF_H
#define RL_APACHE_CONF_H

/*
 * What the configuration says. The segment and its rules are the server's; all else belongs to a
 * server, a location, a directory or an <If>, and sections are merged as Apache merges them, for
 * each request.
 */

#include <httpd.h> /* before its other headers */

#include <ap_expr.h>
#include <apr_network_io.h>
#include <apr_tables.h>
#include <http_config.h>
#include <rl_admin.h>

#include "../common/directive.h"

#pragma GCC visibility push(default)
extern module AP_MODULE_DECLARE_DATA rl_module;
#pragma GCC visibility pop

/* RLRule, or the name of one that is still to come. */
struct rule {
	const char *name;
	size_t index;        /* in server_conf.rules */
	const char *defined; /* "file:line"; NULL: no directive has defined it yet */
	const char *used;    /* "file:line" of the first directive that names it; NULL: none */
	int is_configured;   /* it stands in rl.json alone */
	int is_box;          /* RLBlock's: it counts nothing, and bans */
	const char *text;    /* the words of its RLRule */
	struct rlb_limit said[RL_LIMITS_MAX]; /* by the words; `limits` once all are read */
	struct rl_limit limits[RL_LIMITS_MAX];
	size_t limit_count;
};

/* RLLimit. A NULL expression is not given. */
struct limit {
	struct rule *rule;
	const char *where;         /* "file:line" */
	const ap_expr_info_t *key; /* NULL: the client's address */
	const char *key_text;      /* two limits with the same rule and text are one */
	const ap_expr_info_t *cost, *capacity, *condition, *refund;
	int counts_if;              /* refund is count_if=: what is false is given back */
	const char *condition_text; /* NULL: always */
	uint32_t fixed_capacity;    /* that no variable says; 0: none */
	unsigned flags;             /* of enum rl_item_flag */
	uint32_t burst, undelayed;
	enum {
		EMPTY_ERROR = 0,
		EMPTY_ALLOW,
		EMPTY_DENY
	} empty;
	int is_late; /* decided before the content is made, when the user is known */
};

/* RLSettle: what a request has cost under the rule, known when it is over. */
struct settle {
	const struct rule *rule;
	const ap_expr_info_t *cost;
};

/* RLBlock. */
struct block {
	struct rule *rule; /* whose bans they are */
	const char *where;
	const ap_expr_info_t *key; /* NULL: the client's address */
	uint64_t period_ns;
	apr_array_header_t *by; /* const char *: rules whose denials block; NULL: all that have
	                           time */
};

enum fields {
	FIELDS_IETF = 1,   /* RateLimit, RateLimit-Policy */
	FIELDS_X = 2,      /* X-RateLimit-*, Reset in seconds from now */
	FIELDS_X_UNIX = 4, /* X-RateLimit-*, Reset in Unix time */
	FIELDS_RETRY = 8,  /* Retry-After */
};

#define FIELDS_SET 8 /* bits above them: enum rl_http_set */

#define UNSET (-1)

/* Of a section. UNSET, or NULL: as the section around it. */
struct section {
	apr_array_header_t *limits;     /* struct limit * */
	apr_array_header_t *settles;    /* struct settle *; the last of a rule counts */
	apr_array_header_t *allows;     /* apr_ipsubnet_t * */
	int drops_limits, drops_allows; /* those around it do not count here */
	const struct block *block;      /* &no_block: off */
	int status, fields, log_level, is_dry_run, denies_on_error, has_problem;
	int prefix_v4, prefix_v6; /* bits of an address that make a client */
};

extern const struct block no_block;

/* Of the whole server. Made anew each time the configuration is read. */
struct server_conf {
	const char *segment; /* name */
	const char *opened;  /* "file:line" of RLSegment; NULL: there is none */
	struct rl_options options;
	int has_group;              /* RLSegment says group= */
	uint32_t ring;              /* as it says; 0: it does not */
	apr_array_header_t *rules;  /* struct rule * */
	apr_array_header_t *limits; /* struct limit *: those of all sections */
	int has_block;
};

extern struct server_conf *server_conf;

#define COST_MAX UINT64_C(999999999999999999) /* 18 digits */
#define DEFAULT_SEGMENT "apache"
#define DEFAULT_STATUS 429
#define DEFAULT_PREFIX_V4 32
#define DEFAULT_PREFIX_V6 64
#define BLOCK_BANS 16384 /* of a new segment, where RLBlock is used */

extern const command_rec directives[];

void *create_section(apr_pool_t *pool, char *dir);
void *merge_sections(apr_pool_t *pool, void *outer, void *inner);
void create_server_conf(apr_pool_t *pool);

/* The rule of that name; made if no directive has named it yet. */
struct rule *rule_named(apr_pool_t *pool, const char *name);

/*
 * check.c: after all directives, every rule that is used is there and right, and has what its
 * places ask for. NULL, or what is wrong.
 */
const char *check_rules(apr_pool_t *pool);

/*
 * What the first limit of a limit's rule has not, and RLLimit asks for: 0, or an error and a
 * sentence.
 */
int check_limit(const struct limit *limit, const struct rl_limit *first, uint32_t ring,
                char text[RL_RULE_TEXT_SIZE]);

/* Two limits of one section or of one inside the other: the same rule and key. */
int says_the_same(const struct limit *a, const struct limit *b);

/* The value or, where it is unset, what it is by default. */
static inline int
or_default(int value, int by_default)
{
	return value == UNSET ? by_default : value;
}

#endif
