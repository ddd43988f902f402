/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of SQL. None of them writes to the database, so none is undone with a transaction. */
#include "rl_pg.h"

#include <access/htup_details.h>
#include <access/xact.h>
#include <catalog/pg_type.h>
#include <datatype/timestamp.h>
#include <fmgr.h>
#include <funcapi.h>
#include <mb/pg_wchar.h>
#include <storage/ipc.h>
#include <utils/builtins.h>
#include <utils/memutils.h>
#include <utils/timestamp.h>

#include "words.h"

#define ARGUMENT(i, name) \
	(PG_ARGISNULL(i) ? (refuse_null(name), (text *)NULL) : PG_GETARG_TEXT_PP(i))

struct key {
	const char *bytes;
	size_t len;
	char digest[RL_KEY_DIGEST_SIZE];
};

/* Units in flight. */
struct held {
	struct held *next;
	bool is_session;
	uint32_t epoch; /* of the segment that has them */
	size_t count;
	struct rl_hold holds[RL_LIMITS_MAX];
	char rule[RL_NAME_MAX + 1];
	size_t key_len;
	char key[]; /* as librl has it */
};

static struct held *held;
static bool has_held; /* of this backend, ever */

static void
refuse_null(const char *name)
{
	ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("rl: %s is null", name));
}

static void
refuse(int error, const char *what, const char *name)
{
	ereport(ERROR,
	        errcode(error == -EINVAL || error == RL_EEMPTY || error == RL_EADDRESS ||
	                                error == RL_ECHARGES
	                        ? ERRCODE_INVALID_PARAMETER_VALUE
	                : error == -ENOENT ? ERRCODE_UNDEFINED_OBJECT
	                                   : ERRCODE_SYSTEM_ERROR),
	        errmsg("rl: %s \"%s\": %s", what, name, rl_strerror(error)));
}

/* Text counts as its UTF-8 bytes, as in all languages. */
static void
take_key(text *from, struct key *key)
{
	char *bytes = VARDATA_ANY(from);
	int len = (int)VARSIZE_ANY_EXHDR(from);
	char *converted = pg_server_to_any(bytes, len, PG_UTF8);

	key->bytes = converted;
	key->len = converted == bytes ? (size_t)len : strlen(converted);
	if (key->len > RL_KEY_MAX) {
		key->len = rl_key_digest(key->bytes, key->len, key->digest);
		key->bytes = key->digest;
	}
}

/* The first arguments of a call: a rule, a key, and what it costs. */
static char *
take_item(FunctionCallInfo fcinfo, struct key *key, struct rl_item *item)
{
	char *rule = text_to_cstring(ARGUMENT(0, "rule"));
	int64 cost = PG_NARGS() > 2 && !PG_ARGISNULL(2) ? PG_GETARG_INT64(2) : 1;

	if (cost < 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("rl: a cost of " INT64_FORMAT " is negative", cost));
	take_key(ARGUMENT(1, "key"), key);
	*item = (struct rl_item){.key = key->bytes, .key_len = key->len, .cost = (uint64_t)cost};
	return rule;
}

/* Where nothing can be decided, rl.on_error says what that is. */
static bool
passes(const char *rule, const struct rl_result *result)
{
	if (result->error == 0)
		return result->verdict == RL_ALLOWED;
	if (rlpg_on_error == RLPG_ERROR)
		refuse(result->error, "rule", rule);
	ereport(LOG,
	        errmsg("rl: rule \"%s\": %s: %s by rl.on_error", rule, rl_strerror(result->error),
	               rlpg_on_error == RLPG_ALLOW ? "allowed" : "denied"));
	return rlpg_on_error == RLPG_ALLOW;
}

PG_FUNCTION_INFO_V1(pg_rl_check);
Datum
pg_rl_check(PG_FUNCTION_ARGS)
{
	struct rl_result result;
	struct rl_item item;
	struct key key;
	char *rule = take_item(fcinfo, &key, &item);

	rlpg_decide(rule, &item, RL_CHECK, &result);
	PG_RETURN_BOOL(passes(rule, &result));
}

/* PostgREST makes an HTTP status of a SQLSTATE that begins with PT. */
PG_FUNCTION_INFO_V1(pg_rl_enforce);
Datum
pg_rl_enforce(PG_FUNCTION_ARGS)
{
	struct rl_result result;
	struct rl_item item;
	struct key key;
	char *rule = take_item(fcinfo, &key, &item);
	bool is_known;

	rlpg_decide(rule, &item, RL_CHECK, &result);
	if (passes(rule, &result))
		PG_RETURN_VOID();
	is_known = result.retry_after_ns > 0 && result.retry_after_ns != RL_NEVER_NS;
	ereport(ERROR, errcode(MAKE_SQLSTATE('P', 'T', '4', '2', '9')),
	        errmsg("too many requests under the rule \"%s\"", rule),
	        is_known ? errdetail("The next one is allowed in %llu seconds.",
	                             (unsigned long long)((result.retry_after_ns + RL_SECOND - 1) /
	                                                  RL_SECOND))
	                 : 0);
	PG_RETURN_VOID();
}

/* Rounded up: who waits so long does not come too early. Null for ever. */
static Datum
interval_of(uint64_t ns, bool *is_null)
{
	Interval *interval = palloc0(sizeof *interval);

	*is_null = ns == RL_NEVER_NS;
	interval->time = (TimeOffset)(*is_null ? 0 : ns / 1000 + (ns % 1000 > 0));
	return IntervalPGetDatum(interval);
}

PG_FUNCTION_INFO_V1(pg_rl_peek);
Datum
pg_rl_peek(PG_FUNCTION_ARGS)
{
	bool nulls[7] = {false};
	struct rl_result result;
	struct rl_item item;
	Datum values[7];
	TupleDesc row;
	struct key key;
	char *rule = take_item(fcinfo, &key, &item);

	if (get_call_result_type(fcinfo, NULL, &row) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "rl_peek() returns a row");
	rlpg_decide(rule, &item, RL_PEEK, &result);
	values[0] = BoolGetDatum(passes(rule, &result));
	values[1] = CStringGetTextDatum(rlb_reason((int)result.reason));
	values[2] = Int64GetDatum(result.limit);
	values[3] = Int64GetDatum(result.remaining);
	values[4] = Int64GetDatum(result.used);
	values[5] = interval_of(result.retry_after_ns, &nulls[5]);
	values[6] = interval_of(result.reset_after_ns, &nulls[6]);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row), values, nulls)));
}

/* Give back, and forget, what stands at `at`. What was held in another segment is gone with it. */
static void
give_back(struct held **at)
{
	struct held *one = *at;
	struct rlb_segment *s;
	int error;

	*at = one->next;
	s = rlpg_segment(&error);
	if (s && s->epoch == one->epoch)
		rl_release(s->rl, one->holds, one->count);
	pfree(one);
}

static void
give_back_all(bool also_session)
{
	struct held **at = &held;

	while (*at) {
		if (also_session || !(*at)->is_session)
			give_back(at);
		else
			at = &(*at)->next;
	}
}

static void
at_end_of_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		give_back_all(false);
}

static void
at_end_of_session(int code, Datum arg)
{
	give_back_all(true);
	rlpg_close();
}

PG_FUNCTION_INFO_V1(pg_rl_hold);
Datum
pg_rl_hold(PG_FUNCTION_ARGS)
{
	struct rl_charges charges = {0};
	struct rl_result result;
	struct rl_item item;
	struct key key;
	char *rule = take_item(fcinfo, &key, &item);
	bool is_session = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3), passed;
	struct rlb_segment *s;
	struct held *one;

	/* Before anything is charged, for this may fail. */
	if (!has_held)
		before_shmem_exit(at_end_of_session, 0);
	has_held = true;
	one = MemoryContextAllocZero(TopMemoryContext, sizeof *one + key.len);
	item.charges = &charges;
	s = rlpg_decide(rule, &item, RL_CHECK, &result);
	if (s && result.error == 0 && result.verdict == RL_ALLOWED)
		one->count = rl_holds(&charges, one->holds, RL_LIMITS_MAX);
	if (one->count == 0) {
		pfree(one);
		passed = passes(rule, &result);
		if (passed && charges.count > 0) {
			rl_refund(s->rl, &charges);
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			        errmsg("rl: rule \"%s\": it limits rates, and nothing that is held",
			               rule));
		}
		PG_RETURN_BOOL(passed);
	}
	one->is_session = is_session;
	one->epoch = s->epoch;
	strlcpy(one->rule, rule, sizeof one->rule);
	one->key_len = key.len;
	memcpy(one->key, key.bytes, key.len);
	one->next = held;
	held = one;
	PG_RETURN_BOOL(true);
}

PG_FUNCTION_INFO_V1(pg_rl_release);
Datum
pg_rl_release(PG_FUNCTION_ARGS)
{
	struct rl_item item;
	struct held **at;
	struct key key;
	char *rule = take_item(fcinfo, &key, &item);

	for (at = &held; *at; at = &(*at)->next)
		if ((*at)->is_session && strcmp((*at)->rule, rule) == 0 &&
		    (*at)->key_len == key.len && memcmp((*at)->key, key.bytes, key.len) == 0) {
			give_back(at);
			PG_RETURN_BOOL(true);
		}
	PG_RETURN_BOOL(false);
}

/* The segment, and the rule's number in it; without a name that of all rules. */
static struct rl *
find_rule(const char *name, int *id)
{
	int error;
	struct rlb_segment *s = rlpg_segment(&error);
	struct rlb_rule *rule = name ? rlpg_rule(name) : NULL;

	if (!s)
		refuse(error, "segment", rlpg_segment_name);
	*id = !name ? RL_ANY_RULE : rule ? rlb_rule_id(s, rule) : -EINVAL;
	if (name && *id < 0)
		refuse(*id, "rule", name);
	return s->rl;
}

/* The rule and the pattern of a ban: (key, rule or null, ..., match at `at`). */
static struct rl *
take_pattern(FunctionCallInfo fcinfo, int at, struct key *key, int *id, struct rl_pattern *pattern)
{
	char *match = text_to_cstring(ARGUMENT(at, "match"));
	int word = rlb_word(rlb_matches, match, strlen(match));

	if (word < 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("rl: match \"%s\" is none of key, prefix, network", match));
	take_key(ARGUMENT(0, "key"), key);
	*pattern = (struct rl_pattern){(enum rl_match)word, key->bytes, key->len};
	return find_rule(PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1)), id);
}

typedef int (*set_fn)(struct rl *, int, const struct rl_pattern *, uint64_t);

/* Of a month thirty days, as PostgreSQL compares intervals. What is too long is for ever. */
static int64
microseconds(const Interval *span)
{
	int64 days = span->day + INT64CONST(30) * span->month, us;

	if (__builtin_mul_overflow(days, USECS_PER_DAY, &us) ||
	    __builtin_add_overflow(us, span->time, &us))
		us = days < 0 ? PG_INT64_MIN : PG_INT64_MAX;
	return us;
}

static void
except(FunctionCallInfo fcinfo, set_fn set)
{
	uint64_t until_ns = RL_NEVER_NS;
	struct rl_pattern pattern;
	struct key key;
	int id, error;
	struct rl *rl = take_pattern(fcinfo, 3, &key, &id, &pattern);

	if (!PG_ARGISNULL(2)) {
		int64 us = microseconds(PG_GETARG_INTERVAL_P(2));

		if (us <= 0)
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			        errmsg("rl: the span is not above 0"));
		if (__builtin_mul_overflow((uint64_t)us, UINT64_C(1000), &until_ns) ||
		    __builtin_add_overflow(until_ns, rl_now(rl), &until_ns))
			until_ns = RL_NEVER_NS;
	}
	error = set(rl, id, &pattern, until_ns);
	if (error < 0)
		refuse(error, "key", text_to_cstring(PG_GETARG_TEXT_PP(0)));
}

PG_FUNCTION_INFO_V1(pg_rl_ban);
Datum
pg_rl_ban(PG_FUNCTION_ARGS)
{
	except(fcinfo, rl_ban);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(pg_rl_exempt);
Datum
pg_rl_exempt(PG_FUNCTION_ARGS)
{
	except(fcinfo, rl_allow);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(pg_rl_unban);
Datum
pg_rl_unban(PG_FUNCTION_ARGS)
{
	struct rl_pattern pattern;
	struct key key;
	int id, done;
	struct rl *rl = take_pattern(fcinfo, 2, &key, &id, &pattern);

	done = rl_unban(rl, id, &pattern);
	if (done < 0)
		refuse(done, "key", text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_BOOL(done > 0);
}

PG_FUNCTION_INFO_V1(pg_rl_reset);
Datum
pg_rl_reset(PG_FUNCTION_ARGS)
{
	struct rl_item item;
	struct key key;
	char *name = take_item(fcinfo, &key, &item);
	int id, done;
	struct rl *rl = find_rule(name, &id);

	done = rl_reset(rl, id, key.bytes, key.len);
	if (done < 0)
		refuse(done, "rule", name);
	PG_RETURN_BOOL(done > 0);
}

void
rlpg_calls_init(void)
{
	RegisterXactCallback(at_end_of_transaction, NULL);
}
