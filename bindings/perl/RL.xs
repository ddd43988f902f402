/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * librl for lib/RL.pm, which has the calls that people make: what they give is checked there by
 * name, and here by value. An object belongs to one interpreter: a cloned one gets none.
 */
#define PERL_NO_GET_CONTEXT
#include <EXTERN.h>
#include <perl.h>

#include <XSUB.h>

#include <errno.h>
#include <rl_admin.h>

#include "about.h"
#include "charges.h"
#include "headers.h"
#include "limit.h"
#include "options.h"
#include "segment.h"
#include "text.h"
#include "words.h"

struct segment {
	struct rlb_segment s;
	int warned;          /* the trouble that was warned of last */
	unsigned references; /* its object, each rule, and each request that keeps its charges */
};

/* A rule, or a space of counters. */
struct rule {
	struct segment *segment;
	struct rlb_rule r;
};

struct key {
	const char *bytes;
	size_t len;
	char digest[RL_KEY_DIGEST_SIZE];
};

/* What a request was charged. */
struct kept {
	struct rl_charges charges;
	struct rl_hold holds[RL_LIMITS_MAX]; /* units in flight, once they were asked for */
	size_t hold_count;
	struct segment *segment;
	uint32_t epoch; /* of it: what another one charged cannot be given back in this one */
	pid_t process;  /* a child of fork has a copy, and its parent still holds */
};

struct proxies {
	struct rl_http_trust trust;
	struct rl_http_network networks[];
};

/* Dies with an object of RL::Error, which is told where the call was made. */
static void __attribute__((noreturn))
die_of(pTHX_ int error, SV *text)
{
	char digits[RLB_ERROR_SIZE];
	dSP;

	PUSHMARK(SP);
	EXTEND(SP, 4);
	mPUSHs(newSVpvs("RL::Error"));
	mPUSHs(newSVpv(rlb_error(error, digits), 0));
	mPUSHi(-error);
	PUSHs(text);
	PUTBACK;
	call_method("throw", G_VOID | G_DISCARD);
	abort(); /* it does not return */
}

/* What librl says of a call. */
#define FAIL(error, ...) \
	die_of(aTHX_ error, mess_of(aTHX_ rlb_why(error, (char[RLB_WHY_SIZE]){0}), newSVpvf(__VA_ARGS__)))
/* What is wrong with an argument. */
#define BAD(...) die_of(aTHX_ -EINVAL, sv_2mortal(newSVpvf(__VA_ARGS__)))

static SV *
mess_of(pTHX_ const char *error, SV *text)
{
	sv_catpvf(text, ": %s", error);
	return sv_2mortal(text);
}

static const char *
shown(pTHX_ SV *value)
{
	return SvOK(value) ? SvPV_nolen(value) : "undef";
}

static void *
pointer_of(pTHX_ SV *self, const char *class_name)
{
	if (!SvROK(self) || !sv_derived_from(self, class_name) || !SvIOK(SvRV(self)))
		BAD("%s is no %s", shown(aTHX_ self), class_name);
	return INT2PTR(void *, SvIV(SvRV(self)));
}

static void
must_be_open(pTHX_ const struct segment *segment)
{
	if (!segment->s.rl)
		FAIL(-EBADF, "the segment is closed");
}

static struct segment *
segment_of(pTHX_ SV *self)
{
	struct segment *segment = pointer_of(aTHX_ self, "RL::Segment");

	must_be_open(aTHX_ segment);
	return segment;
}

static struct rule *
rule_of(pTHX_ SV *self)
{
	struct rule *rule = pointer_of(aTHX_ self, "RL::Named");

	must_be_open(aTHX_ rule->segment);
	return rule;
}

/* Of a segment, or of a rule of it. */
static struct segment *
segment_around(pTHX_ SV *self)
{
	if (sv_derived_from(self, "RL::Named"))
		return rule_of(aTHX_ self)->segment;
	return segment_of(aTHX_ self);
}

static void
drop_segment(struct segment *segment)
{
	if (--segment->references > 0)
		return;
	rlb_close(&segment->s);
	Safefree(segment);
}

static SV *
container(pTHX_ SV *value, svtype type, const char *what)
{
	if (!SvROK(value) || SvTYPE(SvRV(value)) != type)
		BAD("%s: %s is needed, not %s", what, type == SVt_PVHV ? "a hash" : "an array",
		    shown(aTHX_ value));
	return SvRV(value);
}

static SV *
item_of(pTHX_ AV *array, SSize_t i)
{
	SV **item = av_fetch(array, i, 0);

	return item ? *item : &PL_sv_undef;
}

/* An option; what is undef is not there. */
static SV *
option(pTHX_ HV *options, const char *name)
{
	SV **value = options ? hv_fetch(options, name, (I32)strlen(name), 0) : NULL;

	if (value)
		SvGETMAGIC(*value);
	return value && SvOK(*value) ? *value : NULL;
}

static int
is_on(pTHX_ HV *options, const char *name)
{
	SV *value = option(aTHX_ options, name);

	return value && SvTRUE(value);
}

/* Characters that Perl has decoded count as their UTF-8 bytes, and other strings as they are. */
static void
take_key(pTHX_ SV *value, struct key *key)
{
	STRLEN len;

	SvGETMAGIC(value);
	if (!SvOK(value) || (SvROK(value) && !SvAMAGIC(value)))
		BAD("key: a string is needed, not %s", shown(aTHX_ value));
	key->bytes = SvPV_nomg(value, len);
	key->len = len;
	if (len > RL_KEY_MAX) {
		key->len = rl_key_digest(key->bytes, len, key->digest);
		key->bytes = key->digest;
	}
}

/* `otherwise` without one. */
static uint64_t
number_of(pTHX_ SV *value, uint64_t otherwise, uint64_t most, const char *what)
{
	const char *text;
	STRLEN len;
	UV number;

	if (!value || !SvOK(value))
		return otherwise;
	text = SvPV(value, len);
	if (grok_number(text, len, &number) != IS_NUMBER_IN_UV || number > most)
		BAD("%s: %s; 0 to %" UVuf " is allowed", what, text, (UV)most);
	return number;
}

static uint64_t
duration_of(pTHX_ SV *value, uint64_t otherwise, const char *what)
{
	uint64_t ns = otherwise;
	STRLEN len = 0;
	int error = 0;

	if (value && SvOK(value) && looks_like_number(value)) {
		error = rlb_seconds(SvNV(value), &ns);
	} else if (value && SvOK(value)) {
		const char *text = SvPV(value, len);

		error = rlb_duration(text, len, &ns);
	}
	if (error < 0)
		BAD("%s: %s is no duration: seconds, or a text such as 1h30m", what,
		    shown(aTHX_ value));
	return ns;
}

static int
word_of(pTHX_ SV *value, const char *const *words, const char *what)
{
	STRLEN len;
	const char *text;
	int number;

	if (!value)
		return 0;
	text = SvPV(value, len);
	number = rlb_word(words, text, len);
	if (number < 0)
		BAD("%s: there is no %s; the first of its words is %s", what, text, words[0]);
	return number;
}

/*
 * Where the new one of the name cannot be opened, the old one goes on to limit: say so, once. A
 * warning may run code of Perl, which may close the segment.
 */
static uint64_t
now_in(pTHX_ struct segment *segment)
{
	uint64_t now_ns;

	must_be_open(aTHX_ segment);
	now_ns = rlb_now(&segment->s);
	if (segment->s.trouble != segment->warned) {
		segment->warned = segment->s.trouble;
		if (segment->warned < 0)
			warn("rl: segment %s was replaced, and the new one cannot be opened: %s. "
			     "This process goes on with the old one, and tries again each second",
			     segment->s.name, rl_strerror(segment->warned));
		must_be_open(aTHX_ segment);
	}
	return now_ns;
}

/* A text that is a number is one: settings come as text. */
static struct rlb_value
value_of(pTHX_ SV *value)
{
	const char *text;
	STRLEN len;

	if (SvROK(value) || !SvOK(value))
		return (struct rlb_value){.kind = RLB_FLAG, .integer = SvTRUE(value)};
	if (looks_like_number(value) && SvNV(value) == (NV)SvIV(value))
		return (struct rlb_value){.kind = RLB_INTEGER, .integer = SvIV(value)};
	if (looks_like_number(value))
		return (struct rlb_value){.kind = RLB_REAL, .real = SvNV(value)};
	text = SvPV(value, len);
	return (struct rlb_value){.kind = RLB_WORDS, .words = text, .len = len};
}

/* Each field of a hash by one of bindings/common: of a limit, or of options. */
typedef int set_fn(void *to, const char *name, size_t len, const struct rlb_value *value,
                   char text[RLB_TEXT_SIZE]);

static int
set_limit(void *to, const char *name, size_t len, const struct rlb_value *value,
          char text[RLB_TEXT_SIZE])
{
	return rlb_limit_set(to, name, len, value, text);
}

static int
set_option(void *to, const char *name, size_t len, const struct rlb_value *value,
           char text[RLB_TEXT_SIZE])
{
	int error = rlb_option_set(to, name, len, value, text);

	if (error > 0)
		warn("%s", text);
	return error;
}

static void
set_fields(pTHX_ SV *from, set_fn *set, void *to)
{
	HV *fields = (HV *)container(aTHX_ from, SVt_PVHV, "limits");
	char why[RLB_TEXT_SIZE];
	HE *entry;

	hv_iterinit(fields);
	while ((entry = hv_iternext(fields))) {
		STRLEN len;
		const char *name = HePV(entry, len);
		SV *value = hv_iterval(fields, entry);
		struct rlb_value v = value_of(aTHX_ value);

		if (set(to, name, len, &v, why) < 0)
			BAD("%s, got %s", why, shown(aTHX_ value));
	}
}

/* `limits` has a hash of each; what one of them leaves out is as in `base`. */
static void
take_limits(pTHX_ struct rule *rule, AV *limits, SV *base)
{
	size_t count = av_count(limits);
	char why[RLB_TEXT_SIZE];

	if (count < 1)
		BAD("limits: none; 1 to %d are allowed", RL_LIMITS_MAX);
	rule->r.rule.more_count = count - 1;
	for (size_t i = 0; i < count && i <= RL_LIMITS_MAX; i++) {
		struct rlb_limit l = {0};

		set_fields(aTHX_ base, set_limit, &l);
		set_fields(aTHX_ item_of(aTHX_ limits, (SSize_t)i), set_limit, &l);
		if (rlb_limit_finish(&l, rule->segment->s.ring, why) < 0)
			BAD("%s", why);
		*(i == 0 ? &rule->r.rule.limit : &rule->r.more[i - 1]) = l.limit;
	}
}

/* What rl_rule_check() says of a definition, if it finds something. */
static void
die_of_rule(pTHX_ const struct rule *rule, int error)
{
	struct rl_options options = {.ring = rule->segment->s.ring};
	char text[RL_RULE_TEXT_SIZE];
	int wrong = rule->r.kind == RLB_DEFINED
	                    ? rl_rule_check(&rule->r.rule, &options, text, sizeof text)
	                    : 0;

	if (wrong < 0)
		die_of(aTHX_ wrong, sv_2mortal(newSVpv(text, 0)));
	FAIL(error, "rule %s", rule->r.name);
}

static int
handle_of(struct rule *rule)
{
	return rlb_rule_id(&rule->segment->s, &rule->r);
}

static struct kept *
keep(struct segment *segment)
{
	struct kept *kept;

	Newxz(kept, 1, struct kept);
	kept->segment = segment;
	kept->epoch = segment->s.epoch;
	kept->process = getpid();
	segment->references++;
	return kept;
}

static int
is_in_force(const struct kept *kept)
{
	return kept->segment->s.rl && kept->epoch == kept->segment->s.epoch;
}

static int
release(struct kept *kept)
{
	if (!is_in_force(kept))
		return 0;
	if (kept->hold_count == 0)
		kept->hold_count = rl_holds(&kept->charges, kept->holds, RL_LIMITS_MAX);
	return rl_release(kept->segment->s.rl, kept->holds, kept->hold_count);
}

/* What is asked. */
struct ask {
	SV *self_rule;
	struct rule *rule;
	struct key key;
	SV *kept; /* NULL, or the object */
};

/* [rule, key, cost or undef, {tier}]. The key last: each other may have code of its own. */
static void
take_ask(pTHX_ AV *from, struct segment *segment, struct ask *a, struct rl_item *item)
{
	SV *tier = item_of(aTHX_ from, 3), *value;
	HV *options = SvOK(tier) ? (HV *)container(aTHX_ tier, SVt_PVHV, "tier") : NULL;

	*a = (struct ask){.self_rule = item_of(aTHX_ from, 0)};
	a->rule = rule_of(aTHX_ a->self_rule);
	if (a->rule->segment != segment)
		BAD("rule: %s is of another segment", a->rule->r.name);
	*item = (struct rl_item){
		.cost = number_of(aTHX_ item_of(aTHX_ from, 2), 1, UINT64_MAX, "cost"),
		.flags = RL_ITEM_SLEEPS};
	if ((value = option(aTHX_ options, "capacity")))
		item->capacity = (uint32_t)number_of(aTHX_ value, 0, UINT32_MAX, "capacity");
	if ((value = option(aTHX_ options, "burst"))) {
		item->burst = (uint32_t)number_of(aTHX_ value, 0, UINT32_MAX, "burst");
		item->flags |= RL_ITEM_BURST;
	}
	if ((value = option(aTHX_ options, "undelayed"))) {
		item->undelayed = (uint32_t)number_of(aTHX_ value, 0, UINT32_MAX, "undelayed");
		item->flags |= RL_ITEM_UNDELAYED;
	}
	take_key(aTHX_ sv_2mortal(newSVsv(item_of(aTHX_ from, 1))), &a->key);
	must_be_open(aTHX_ segment);
	item->key = a->key.bytes;
	item->key_len = a->key.len;
	item->rule = handle_of(a->rule);
}

/* What rl_decide() does, and two more. */
enum how {
	MANY = RL_EACH,
	LIMITS = RL_EACH + 1,
	ALONE /* a rule that was removed is looked for, and defined anew */
};

/* Memory until the call of Perl ends, however it does. */
static void *
mortal(pTHX_ size_t size)
{
	return SvPVX(sv_2mortal(newSV(size + 1)));
}

static void
show(void *to, const char *name, const struct rlb_value *v)
{
	dTHX;
	SV *value = v->kind == RLB_WORDS ? newSVpv(v->words, v->len)
	                                 : newSVuv(v->kind == RLB_NS ? v->ns : (uint64_t)v->integer);

	(void)hv_store(to, name, (I32)strlen(name), value, 0);
}

/* Its own structure goes along, for its header fields. */
static SV *
result_of(pTHX_ const struct ask *a, const struct rl_result *r, uint64_t now_ns)
{
	char digits[RLB_ERROR_SIZE];
	HV *h = newHV();

	(void)hv_stores(h, "rule", newRV_inc(SvRV(a->self_rule)));
	(void)hv_stores(h, "raw", newSVpvn((const char *)r, sizeof *r));
	(void)hv_stores(h, "now_ns", newSVuv(now_ns));
	(void)hv_stores(h, "verdict", newSVpv(rlb_verdict((int)r->verdict), 0));
	rlb_fields_show(RL_OF_RESULT, r, show, h);
	if (r->error) {
		(void)hv_stores(h, "error", newSVpv(rlb_error(r->error, digits), 0));
		(void)hv_stores(h, "errno", newSViv(-r->error));
		(void)hv_stores(h, "trouble", newSVpv(rl_strerror(r->error), 0));
	}
	if (a->kept)
		(void)hv_stores(h, "kept", newSVsv(a->kept));
	return sv_bless(sv_2mortal(newRV_noinc((SV *)h)), gv_stashpvs("RL::Result", GV_ADD));
}

/* A key, or many; and of which rule, RL_ANY_RULE for undef. */
static int
take_pattern(pTHX_ struct segment *segment, SV *rule, SV *match, SV *text, struct key *key,
             struct rl_pattern *pattern)
{
	struct rule *of = SvOK(rule) ? rule_of(aTHX_ rule) : NULL;
	int id;

	if (of && of->segment != segment)
		BAD("rule: %s is of another segment", of->r.name);
	pattern->match = (enum rl_match)word_of(aTHX_ match, rlb_matches, "match");
	take_key(aTHX_ text, key);
	must_be_open(aTHX_ segment);
	pattern->key = key->bytes;
	pattern->key_len = key->len;
	id = of ? handle_of(of) : RL_ANY_RULE;
	if (of && id < 0)
		FAIL(id, "rule %s", of->r.name);
	return id;
}

static struct rl_http_value
bytes_of(pTHX_ SV *value)
{
	STRLEN len = 0;
	const char *text = SvOK(value) ? SvPV(value, len) : "";

	return (struct rl_http_value){text, len};
}

/* The body of a refusal; without a result nothing could be decided. */
static SV *
problem_of(pTHX_ const char *name, const struct rl_result *result, unsigned status)
{
	char text[RL_HTTP_PROBLEM_SIZE];

	if (rlb_problem(name, result, status, text) < 0)
		BAD("status: %u; 100 to 599 is allowed", status);
	return newSVpv(text, 0);
}

MODULE = RL  PACKAGE = RL::Segment

PROTOTYPES: DISABLE

SV *
_open(SV *name, SV *options, bool is_private)
INIT:
	const char *text = SvOK(name) ? SvPV_nolen(name) : "default";
	struct rl_options asked = rlb_options;
	char why[RLB_OPEN_TEXT_SIZE];
	struct segment *segment;
	int error;
CODE:
	set_fields(aTHX_ options, set_option, &asked);
	Newxz(segment, 1, struct segment);
	error = is_private ? rlb_open_private(&segment->s, &asked) : rlb_open(&segment->s, text, &asked);
	if (error < 0) {
		Safefree(segment);
		rlb_open_why(error, text, &asked, why);
		die_of(aTHX_ error, sv_2mortal(newSVpvf("segment %s: %s", text, why)));
	}
	segment->references = 1;
	RETVAL = sv_setref_pv(newSV(0), "RL::Segment", segment);
OUTPUT:
	RETVAL

void
close(SV *self)
CODE:
	rlb_close(&((struct segment *)pointer_of(aTHX_ self, "RL::Segment"))->s);

void
DESTROY(SV *self)
CODE:
	drop_segment(pointer_of(aTHX_ self, "RL::Segment"));

# Look now, in place of in a second: true if the name has another segment, which is open now.
bool
look(struct segment *segment)
INIT:
	int done;
CODE:
	done = rlb_look(&segment->s);
	if (done < 0)
		FAIL(done, "segment %s", segment->s.name);
	RETVAL = done;
OUTPUT:
	RETVAL

UV
now_ns(struct segment *segment)
CODE:
	RETVAL = now_in(aTHX_ segment);
OUTPUT:
	RETVAL

bool
forget(struct segment *segment, const char *name)
INIT:
	int done;
CODE:
	done = rl_forget(segment->s.rl, name);
	if (done < 0)
		FAIL(done, "forget: %s", name);
	RETVAL = done;
OUTPUT:
	RETVAL

# A rule that is defined by limits, or found without; or a space of counters. Its object frees it.
SV *
_named(struct segment *segment, SV *name, const char *class_name, bool is_made, SV *limits, SV *base, bool is_first)
INIT:
	struct rule *rule;
	const char *text;
	STRLEN len;
	SV *self;
	int id;
CODE:
	text = SvPV(name, len);
	if (len > RL_NAME_MAX)
		BAD("name: it is too long; at most %d bytes are allowed", RL_NAME_MAX);
	if (strlen(text) < len)
		BAD("name: it has a byte of 0");
	Newxz(rule, 1, struct rule);
	rule->segment = segment;
	segment->references++;
	memcpy(rule->r.name, text, len);
	self = sv_2mortal(sv_setref_pv(newSV(0), class_name, rule));
	rule->r.kind = SvOK(limits) ? RLB_DEFINED : is_made ? RLB_SPACE : RLB_FOUND;
	if (SvOK(limits))
		take_limits(aTHX_ rule, (AV *)container(aTHX_ limits, SVt_PVAV, "limits"), base);
	rule->r.rule.flags = is_first ? RL_DEFINE_KEEP : 0;
	now_in(aTHX_ segment);
	id = rlb_rule_renew(&segment->s, &rule->r);
	if (id < 0)
		die_of_rule(aTHX_ rule, id);
	RETVAL = SvREFCNT_inc_simple_NN(self);
OUTPUT:
	RETVAL

# (verdict, number of the item that decided or undef, results)
void
_decide(SV *self, int how, HV *options, AV *asked)
INIT:
	struct segment *segment = segment_around(aTHX_ self);
	uint64_t max_wait_ns = duration_of(aTHX_ option(aTHX_ options, "max_wait"), RL_NEVER_NS, "max_wait");
	uint64_t now_ns = number_of(aTHX_ option(aTHX_ options, "now_ns"), now_in(aTHX_ segment), UINT64_MAX, "now_ns");
	size_t count = av_count(asked), decided = count, room = count + RL_LIMITS_MAX;
	struct ask *asks = mortal(aTHX_ count * sizeof *asks);
	struct rl_item *all = mortal(aTHX_ count * sizeof *all);
	struct rl_result *results = mortal(aTHX_ room * sizeof *results);
	enum rl_verdict verdict = RL_UNDECIDED;
	int error = 0;
PPCODE:
	if (how != MANY && (count < 1 || count > RL_ITEMS_MAX))
		BAD("items: %d; 1 to %d are allowed", (int)count, RL_ITEMS_MAX);
	for (size_t i = 0; i < count; i++) {
		AV *one = (AV *)container(aTHX_ item_of(aTHX_ asked, (SSize_t)i), SVt_PVAV, "items");

		take_ask(aTHX_ one, segment, &asks[i], &all[i]);
		error = all[i].rule < 0 ? all[i].rule : error;
	}
	for (size_t i = 0; i < count; i++) {
		all[i].now_ns = now_ns;
		if (is_on(aTHX_ options, "keep")) {
			struct kept *kept = keep(segment);

			asks[i].kept = sv_setref_pv(sv_newmortal(), "RL::Kept", kept);
			all[i].charges = &kept->charges;
		}
		rlb_undecided(&results[i], error < 0 ? error : -EINVAL);
	}
	must_be_open(aTHX_ segment);
	if (how == ALONE && error == 0) {
		rlb_check(&segment->s, &asks[0].rule->r, &all[0], &results[0]);
	} else if (how == LIMITS && error == 0) {
		rl_check_limits(segment->s.rl, &all[0], &results[0], &count, &results[1]);
		count++;
	} else if (error == 0) {
		verdict = rl_decide(segment->s.rl, all, count, (enum rl_how)how, max_wait_ns, results, &decided);
	}
	EXTEND(SP, (SSize_t)count + 2);
	mPUSHs(newSVpv(rlb_verdict((int)verdict), 0));
	PUSHs(decided < count ? sv_2mortal(newSVuv(decided)) : &PL_sv_undef);
	for (size_t i = 0; i < count; i++)
		PUSHs(result_of(aTHX_ &asks[how == LIMITS ? 0 : i], &results[i], now_ns));

# Set a ban (0) or an exemption (1), or lift either (2): whether there was one.
bool
_except(struct segment *segment, int what, SV *rule, SV *match, SV *text, SV *until, SV *span)
INIT:
	struct rl_pattern pattern;
	struct key key;
	uint64_t until_ns, span_ns, now_ns;
	int id, done;
CODE:
	until_ns = number_of(aTHX_ until, RL_NEVER_NS, UINT64_MAX, "until_ns");
	span_ns = duration_of(aTHX_ span, RL_NEVER_NS, "for");
	now_ns = now_in(aTHX_ segment);
	if (span_ns != RL_NEVER_NS && __builtin_add_overflow(now_ns, span_ns, &until_ns))
		until_ns = RL_NEVER_NS;
	id = take_pattern(aTHX_ segment, rule, match, text, &key, &pattern);
	if (what == 2)
		done = rl_unban(segment->s.rl, id, &pattern);
	else
		done = (what ? rl_allow : rl_ban)(segment->s.rl, id, &pattern, until_ns);
	if (done < 0)
		FAIL(done, "%s", SvPV_nolen(text));
	RETVAL = done;
OUTPUT:
	RETVAL

# (forgotten, unknown)
void
_reset_matching(struct segment *segment, SV *rule, SV *match, SV *text)
INIT:
	struct rl_reset_counts counts = {0};
	struct rl_pattern pattern;
	struct key key;
	SV *any;
	int id, error;
PPCODE:
	now_in(aTHX_ segment);
	any = sv_2mortal(newSVpvs("any"));
	id = take_pattern(aTHX_ segment, rule, match, SvOK(text) ? text : any, &key, &pattern);
	error = rl_reset_matching(segment->s.rl, id, SvOK(text) ? &pattern : NULL, &counts);
	if (error < 0)
		FAIL(error, "reset_matching");
	EXTEND(SP, 2);
	mPUSHu(counts.forgotten);
	mPUSHu(counts.unknown);

MODULE = RL  PACKAGE = RL::Named

void
DESTROY(SV *self)
INIT:
	struct rule *rule = pointer_of(aTHX_ self, "RL::Named");
CODE:
	drop_segment(rule->segment);
	Safefree(rule);

const char *
name(struct rule *rule)
CODE:
	RETVAL = rule->r.name;
OUTPUT:
	RETVAL

bool
reset(struct rule *rule, SV *text)
INIT:
	struct key key;
	int id, done;
CODE:
	now_in(aTHX_ rule->segment);
	take_key(aTHX_ text, &key);
	must_be_open(aTHX_ rule->segment);
	id = handle_of(rule);
	done = id < 0 ? id : rl_reset(rule->segment->s.rl, id, key.bytes, key.len);
	if (done < 0)
		FAIL(done, "reset: rule %s", rule->r.name);
	RETVAL = done;
OUTPUT:
	RETVAL

# {done, value, expires_after_ns, is_new}
SV *
_apply(struct rule *space, const char *step, SV *text, SV *amount, SV *lifetime, SV *now)
INIT:
	static const char *const steps[] = {[RL_COUNTER_GET] = "get", [RL_COUNTER_ADD] = "add", [RL_COUNTER_SET] = "set",
		[RL_COUNTER_SET_NEW] = "set_new", [RL_COUNTER_TOUCH] = "touch", [RL_COUNTER_DROP] = "drop", NULL};
	struct rl_counter_item item = {.amount = 1};
	struct rl_count count = {0};
	struct key key;
	HV *fields;
	int done;
CODE:
	item.lifetime_ns = duration_of(aTHX_ lifetime, RL_NEVER_NS, "lifetime");
	if (SvOK(amount) && looks_like_number(amount) && SvIV(amount) < 0 && SvNV(amount) == (NV)SvIV(amount))
		item.amount = SvIV(amount);
	else
		item.amount = (int64_t)number_of(aTHX_ amount, 1, INT64_MAX, "amount");
	item.now_ns = number_of(aTHX_ now, now_in(aTHX_ space->segment), UINT64_MAX, "now_ns");
	take_key(aTHX_ text, &key);
	must_be_open(aTHX_ space->segment);
	item.key = key.bytes;
	item.key_len = key.len;
	item.space = done = handle_of(space);
	if (done >= 0)
		done = rl_counter_apply(space->segment->s.rl, (enum rl_counter_op)rlb_word(steps, step, strlen(step)), &item, &count);
	if (done < 0)
		FAIL(done, "counters %s", space->r.name);
	fields = newHV();
	(void)hv_stores(fields, "done", newSViv(done));
	(void)hv_stores(fields, "value", newSVuv(count.value));
	(void)hv_stores(fields, "expires_after_ns", newSVuv(count.expires_after_ns));
	(void)hv_stores(fields, "is_new", newSViv(count.is_new));
	RETVAL = newRV_noinc((SV *)fields);
OUTPUT:
	RETVAL

MODULE = RL  PACKAGE = RL::Rule

# By the key: how much was given back at most by a limit.
int
_refund(SV *self, HV *options, AV *asked)
INIT:
	struct rule *rule = rule_of(aTHX_ self);
	uint64_t now_ns;
	struct rl_item item;
	struct ask ask;
CODE:
	now_ns = now_in(aTHX_ rule->segment);
	take_ask(aTHX_ asked, rule->segment, &ask, &item);
	now_ns = number_of(aTHX_ option(aTHX_ options, "now_ns"), now_ns, UINT64_MAX, "now_ns");
	item.now_ns = now_ns;
	RETVAL = item.rule < 0 ? item.rule : rl_refund_key(rule->segment->s.rl, &item);
	if (RETVAL < 0)
		FAIL(RETVAL, "refund: rule %s", rule->r.name);
OUTPUT:
	RETVAL

# What the rule has counted, over all processes.
SV *
stats(struct rule *rule)
INIT:
	HV *hash = newHV();
	int id, error;
CODE:
	RETVAL = sv_2mortal(newRV_noinc((SV *)hash));
	now_in(aTHX_ rule->segment);
	id = handle_of(rule);
	error = id < 0 ? id : rlb_stats_show(rule->segment->s.rl, id, show, hash);
	if (error < 0)
		FAIL(error, "rule %s", rule->r.name);
	SvREFCNT_inc_simple_void_NN(RETVAL);
OUTPUT:
	RETVAL

# Of a result: (name, value, ...)
void
_headers(struct rule *rule, SV *raw, UV now_ns, SV *reset, const char *word)
INIT:
	static const char *const resets[] = {"delta", "unix", NULL};
	struct rl_result result;
	struct rlb_headers h;
	struct rlb_how how;
	int set;
PPCODE:
	how.reset = (enum rl_http_reset)word_of(aTHX_ SvOK(reset) ? reset : NULL, resets, "reset");
	set = rl_http_set(word);
	if (set < 0)
		BAD("set: there is no %s; ietf, ietf-11 or ietf-7 is needed", word);
	how.set = (enum rl_http_set)set;
	if (!SvPOK(raw) || SvCUR(raw) != sizeof result)
		BAD("this is no result");
	memcpy(&result, SvPVX(raw), sizeof result);
	if (rlb_headers(rule->segment->s.rl, rule->r.id, rule->r.name, &result, now_ns, how, &h) < 0)
		BAD("the result has no header fields");
	EXTEND(SP, 2 * (SSize_t)h.count);
	for (unsigned i = 0; i < h.count; i++) {
		mPUSHs(newSVpv(h.field[i].name, 0));
		mPUSHs(newSVpv(h.field[i].value, 0));
	}

SV *
_problem(struct rule *rule, SV *raw, unsigned status)
INIT:
	struct rl_result result;
CODE:
	if (!SvPOK(raw) || SvCUR(raw) != sizeof result)
		BAD("this is no result");
	memcpy(&result, SvPVX(raw), sizeof result);
	RETVAL = problem_of(aTHX_ rule->r.name, &result, status);
OUTPUT:
	RETVAL

MODULE = RL  PACKAGE = RL::Kept

void
DESTROY(struct kept *kept)
CODE:
	if (kept->process == getpid())
		release(kept);
	drop_segment(kept->segment);
	Safefree(kept);

# Units in flight: true if there were any.
bool
release(struct kept *kept)
INIT:
	int done;
CODE:
	done = release(kept);
	if (done < 0)
		FAIL(done, "release");
	RETVAL = done;
OUTPUT:
	RETVAL

# What was charged: true if it was.
bool
refund(struct kept *kept, SV *now, bool holds)
INIT:
	int done = 0;
CODE:
	kept->charges.now_ns = number_of(aTHX_ now, 0, UINT64_MAX, "now_ns");
	if (is_in_force(kept))
		done = rlb_refund(kept->segment->s.rl, &kept->charges, holds);
	if (done < 0)
		FAIL(done, "refund");
	RETVAL = done;
OUTPUT:
	RETVAL

# What the request has cost: true if something that counts has changed.
bool
settle(struct kept *kept, SV *actual, SV *now)
INIT:
	int done = 0;
CODE:
	uint64_t cost = number_of(aTHX_ actual, 0, UINT64_MAX, "actual");
	kept->charges.now_ns = number_of(aTHX_ now, 0, UINT64_MAX, "now_ns");
	if (is_in_force(kept))
		done = rl_settle(kept->segment->s.rl, &kept->charges, cost);
	if (done < 0)
		FAIL(done, "settle");
	RETVAL = done;
OUTPUT:
	RETVAL

MODULE = RL  PACKAGE = RL::Proxies

SV *
_new(AV *networks, HV *options)
INIT:
	static const char *const fields[] = {"x-forwarded-for", "forwarded", NULL};
	size_t count = av_count(networks);
	struct proxies *p;
CODE:
	p = safecalloc(1, sizeof *p + count * sizeof p->networks[0]);
	RETVAL = sv_2mortal(sv_setref_pv(newSV(0), "RL::Proxies", p));
	p->trust.networks = p->networks;
	p->trust.count = count;
	for (size_t i = 0; i < count; i++) {
		const char *text = SvPV_nolen(item_of(aTHX_ networks, (SSize_t)i));

		if (rl_http_network(text, &p->networks[i]) < 0)
			BAD("%s is no network, address or unix:", text);
	}
	p->trust.field = (enum rl_http_field)word_of(aTHX_ option(aTHX_ options, "field"), fields, "field");
	p->trust.prefix_v4 = (unsigned)number_of(aTHX_ option(aTHX_ options, "prefix_v4"), 0, 32, "prefix_v4");
	p->trust.prefix_v6 = (unsigned)number_of(aTHX_ option(aTHX_ options, "prefix_v6"), 0, 128, "prefix_v6");
	SvREFCNT_inc_simple_void_NN(RETVAL);
OUTPUT:
	RETVAL

void
DESTROY(struct proxies *p)
CODE:
	Safefree(p);

# (peer, lines of the field): (address, how it was found, hops)
void
find(struct proxies *p, SV *peer, ...)
INIT:
	struct rl_http_value *lines = mortal(aTHX_ (size_t)items * sizeof *lines);
	struct rl_http_client client;
	size_t count = 0;
PPCODE:
	for (SSize_t i = 2; i < items; i++)
		if (SvOK(ST(i)))
			lines[count++] = bytes_of(aTHX_ ST(i));
	if (rl_http_client(&p->trust, bytes_of(aTHX_ peer), lines, count, &client) < 0)
		BAD("peer: %s is no address", shown(aTHX_ peer));
	EXTEND(SP, 3);
	mPUSHs(newSVpv(client.address, 0));
	mPUSHs(newSVpv(rlb_client_end((int)client.end), 0));
	mPUSHu(client.hops);

MODULE = RL  PACKAGE = RL

# rate("5/min") is (5, 60_000_000_000).
void
rate(SV *text)
INIT:
	struct rl_http_value v = bytes_of(aTHX_ text);
	uint64_t window_ns;
	uint32_t capacity;
PPCODE:
	if (rlb_rate(v.text, v.len, &capacity, &window_ns) < 0)
		BAD("%s is no rate such as 100/min or 5/10s", shown(aTHX_ text));
	EXTEND(SP, 2);
	mPUSHu(capacity);
	mPUSHu(window_ns);

void
unlink(const char *name)
INIT:
	int error;
CODE:
	error = rl_unlink(name);
	if (error < 0)
		FAIL(error, "segment %s", name);

# What stands for a long key.
SV *
key_digest(SV *key)
INIT:
	struct rl_http_value v = bytes_of(aTHX_ key);
	char text[RL_KEY_DIGEST_SIZE];
CODE:
	rl_key_digest(v.text, v.len, text);
	RETVAL = newSVpv(text, 0);
OUTPUT:
	RETVAL

# Of a request that has no result.
SV *
problem(unsigned status)
CODE:
	RETVAL = problem_of(aTHX_ NULL, NULL, status);
OUTPUT:
	RETVAL

# Names of the fields of a result.
void
_fields()
INIT:
	const struct rl_field *f;
PPCODE:
	for (size_t i = 0; (f = rl_field(RL_OF_RESULT, i)); i++)
		mXPUSHs(newSVpv(f->name, 0));
