/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events, counts of denials and histories, while others write, read, or die: each call with another
 * in the midst of it, before each of its accesses to a shared word; and each call that ends there.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "intrude.h"
#include "segment/event.h"

#define RING 4
#define DAY (86400 * RL_SECOND)

static struct rl_events_cursor cursor;
static uint64_t serial; /* of what tell() wrote last */
static unsigned heard;
static uint64_t newest; /* serial of the event that was heard last */
static jmp_buf death;

/* An event all of whose words follow from a number. */
static void
tell(struct rl *rl, int rule)
{
	char key[24];
	uint64_t n = ++serial;

	(void)rule;
	snprintf(key, sizeof key, "%023llu", (unsigned long long)(n * 7919));
	rl_event_write(&rl->segment,
	               &(struct rl_event_note){.kind = RL_EVENT_FULL,
	                                       .rule = RL_ANY_RULE,
	                                       .time_ns = n,
	                                       .key = key,
	                                       .key_len = 23,
	                                       .retry_ns = n * 31,
	                                       .author = (uint32_t)n * 3},
	               1);
}

/* Nothing that was heard is of two. */
static int
hear(const struct rl_event *e, void *arg)
{
	char key[24];

	(void)arg;
	snprintf(key, sizeof key, "%023llu", (unsigned long long)(e->time_ns * 7919));
	assert_int_equal(e->kind, RL_EVENT_FULL);
	assert_true(e->retry_after_ns == e->time_ns * 31);
	assert_int_equal(e->author, (uint32_t)e->time_ns * 3);
	assert_int_equal(e->key_len, 23);
	assert_memory_equal(e->key, key, 23);
	newest = e->time_ns;
	heard++;
	return 0;
}

static void
read_them(struct rl *rl, int rule)
{
	(void)rule;
	assert_int_equal(rl_events_read(rl, &cursor, hear, NULL), 0);
}

static void
tell_a_round(struct rl *rl, int rule)
{
	for (int i = 0; i < RING + 1; i++)
		tell(rl, rule);
}

static void
die(struct rl *rl, int rule)
{
	(void)rl;
	(void)rule;
	longjmp(death, 1);
}

static struct rl *
begin(void)
{
	const struct rl_options o = {.keys = 10, .events = RING};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	test_rule(rl, "r", 1, DAY, 0, false);
	heard = 0;
	rl_events_now(rl, &cursor);
	serial = newest = 0;
	return rl;
}

/* Every number that was given out was heard or is lost. */
static void
end(struct rl *rl, uint64_t start)
{
	read_them(rl, 0);
	read_them(rl, 0);
	assert_true(heard + cursor.lost == rl->segment.events->next - start);
	rl_close(rl);
}

static void
between(call_fn *first, call_fn *second)
{
	bool goes_on = true;

	for (int n = 1; goes_on; n++) {
		struct rl *rl = begin();
		uint64_t start = cursor.next;

		tell(rl, 0);
		tell(rl, 0);
		goes_on = intrude(rl, 0, first, second, n);
		end(rl, start);
	}
}

static void
test_two_writers(void **state)
{
	(void)state;
	between(tell, tell);
}

/* The one that was stopped is a round late: it spoils an entry, and nobody believes it. */
static void
test_a_writer_that_is_a_round_late(void **state)
{
	(void)state;
	between(tell, tell_a_round);
}

static void
test_a_reader_among_writers(void **state)
{
	(void)state;
	between(read_them, tell);
	between(read_them, tell_a_round);
}

static void
test_a_writer_among_readers(void **state)
{
	(void)state;
	between(tell, read_them);
}

/* Dead after each access: one event is lost at most, and those that follow are told. */
static void
test_a_writer_that_dies(void **state)
{
	volatile bool goes_on = true;

	(void)state;
	for (volatile int n = 1; goes_on; n++) {
		struct rl *rl = begin();
		uint64_t start = cursor.next;

		tell(rl, 0);
		if (setjmp(death) == 0)
			goes_on = intrude(rl, 0, tell, die, n);
		wait_for = 0;
		tell(rl, 0);
		read_them(rl, 0);
		read_them(rl, 0);
		assert_true(cursor.lost <= 1);
		assert_int_equal(newest, 3);
		tell_a_round(rl, 0); /* over it */
		read_them(rl, 0);
		assert_int_equal(newest, 3 + RING + 1);
		end(rl, start);
	}
}

static int
keep_entry(const struct rl_entry *e, void *arg)
{
	*(struct rl_entry *)arg = *e;
	return 0;
}

static uint64_t denied_at;

static void
deny(struct rl *rl, int rule)
{
	assert_int_equal(at_check(rl, rule, "k", 1, 1, denied_at, NULL), RL_DENIED);
}

static struct rl *
begin_denied(int before)
{
	struct rl *rl = begin();

	assert_int_equal(at_check(rl, 0, "k", 1, 1, T0, NULL), RL_ALLOWED);
	denied_at = T0;
	for (int i = 0; i < before; i++)
		deny(rl, 0);
	rl_events_now(rl, &cursor);
	return rl;
}

static int
count_event(const struct rl_event *e, void *arg)
{
	(void)e;
	++*(unsigned *)arg;
	return 0;
}

/*
 * Each of two is counted, and one of them is told: of a key that never was, and in another minute.
 */
static void
test_two_denials(void **state)
{
	(void)state;
	for (int before = 0; before < 3; before++) {
		bool goes_on = true;

		for (int n = 1; goes_on; n++) {
			struct rl *rl = begin_denied(before);
			struct rl_entry e = {0};
			unsigned told = 0;

			denied_at = T0 + (before == 2 ? 60 : 0) * RL_SECOND;
			goes_on = intrude(rl, 0, deny, deny, n);
			rl_lookup(rl, 0, "k", 1, denied_at, keep_entry, &e);
			assert_int_equal(e.denied, before + 1 + goes_on);
			assert_int_equal(e.denied_recent, (before == 2 ? 1 : before + 1) + goes_on);
			rl_events_read(rl, &cursor, count_event, &told);
			assert_int_equal(told, before == 1 ? 0 : 1);
			rl_close(rl);
		}
	}
}

/* Dead after each access, with its count made or not; the next ones are counted. */
static void
test_a_denial_that_dies(void **state)
{
	volatile bool goes_on = true;

	(void)state;
	for (volatile int n = 1; goes_on; n++) {
		struct rl *rl = begin_denied(0);
		struct rl_entry e = {0};

		if (setjmp(death) == 0)
			goes_on = intrude(rl, 0, deny, die, n);
		wait_for = 0;
		deny(rl, 0);
		deny(rl, 0);
		rl_lookup(rl, 0, "k", 1, T0, keep_entry, &e);
		assert_in_range(e.denied, 2, 3);
		rl_close(rl);
	}
}

static void
decide_later(struct rl *rl, int rule)
{
	at_check(rl, rule, "k", 1, 1, T0 + 60 * RL_SECOND, NULL);
}

static void
sweep_later(struct rl *rl, int rule)
{
	(void)rule;
	rl_sweep_at(rl, T0 + 60 * RL_SECOND);
}

/* Whoever notes the minute, what was decided before it is not in it, nor lost. */
static void
note_with(call_fn *second, unsigned more)
{
	bool goes_on = true;

	for (int n = 1; goes_on; n++) {
		struct rl_history_span spans[RL_HISTORY_MINUTES];
		struct rl *rl = begin_denied(3);

		goes_on = intrude(rl, 0, decide_later, second, n);
		assert_true(rl_history_minutes(rl, 0, T0 + 60 * RL_SECOND, spans) > 0);
		assert_int_equal(spans[58].allowed, 1);
		assert_int_equal(spans[58].denied, 3);
		assert_int_equal(spans[59].denied, goes_on ? 1 + more : 1);
		rl_close(rl);
	}
}

static void
test_who_notes_a_minute(void **state)
{
	(void)state;
	note_with(decide_later, 1);
	note_with(sweep_later, 0);
}

static void
test_a_decision_that_dies_noting(void **state)
{
	volatile bool goes_on = true;

	(void)state;
	for (volatile int n = 1; goes_on; n++) {
		struct rl_history_span spans[RL_HISTORY_MINUTES];
		struct rl *rl = begin_denied(3);

		if (setjmp(death) == 0)
			goes_on = intrude(rl, 0, decide_later, die, n);
		wait_for = 0;
		sweep_later(rl, 0); /* as another process would */
		decide_later(rl, 0);
		rl_history_minutes(rl, 0, T0 + 60 * RL_SECOND, spans);
		assert_int_equal(spans[58].denied, 3);
		assert_in_range(spans[59].denied, 1, 2);
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_writers),
		cmocka_unit_test(test_a_writer_that_is_a_round_late),
		cmocka_unit_test(test_a_reader_among_writers),
		cmocka_unit_test(test_a_writer_among_readers),
		cmocka_unit_test(test_a_writer_that_dies),
		cmocka_unit_test(test_two_denials),
		cmocka_unit_test(test_a_denial_that_dies),
		cmocka_unit_test(test_who_notes_a_minute),
		cmocka_unit_test(test_a_decision_that_dies_noting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
