/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef POLICYD_H
#define POLICYD_H

/*
 * rl-policyd: limits for Postfix, by its policy protocol.
 *
 *	main      options, signals, the loop
 *	settings  what the file says
 *	words     the attributes and states of Postfix, and what stands in braces
 *	part      a part of an attribute: a domain, a network
 *	match     conditions: what parts of a request are to be
 *	listen    sockets, systemd's or its own
 *	clients   connections: bytes in, requests out of them, replies
 *	request   the attributes of one request
 *	policy    what rl says of a request, as a reply
 *	segment   the segment and its rules, which may come and go
 *	report    who was limited, out of the events that rld has written
 *	say       the log
 *
 * One process, no threads. All memory that strangers can make it use is bounded: CLIENTS_MAX times
 * REQUEST_MAX.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define REQUEST_MAX 16384 /* bytes of a request; Postfix sends some 1,000 */
#define REPLY_MAX 512
#define CLIENTS_MAX 512
#define CHECKS_MAX 16 /* of one request */
#define PARTS_MAX 8   /* attributes of a key */
#define STATES_MAX 9
#define LISTEN_MAX 8
#define TERMS_MAX 8     /* attributes in a condition */
#define EVENTS_MAX 8    /* files of events */
#define COMMAND_MAX 16  /* words of a command */
#define VALUE_MAX 1024  /* bytes of a value that a list can have, NUL */
#define NAME_SIZE 64    /* of an attribute or a state, NUL */
#define ACTION_SIZE 400 /* of an action with its text, NUL */

/* say.c: a line to standard error, which systemd keeps. At most one a second of each kind. */
enum kind {
	SAY_ALWAYS = -1,
	SAY_ERROR,
	SAY_REQUEST,
	SAY_SLOW,
	SAY_FULL,
	SAY_SEGMENT,
	SAY_KINDS
};
void say(enum kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t clock_ms(void);

enum part_kind {
	PART_WHOLE,
	PART_DOMAIN,    /* behind the last '@'; nothing without one */
	PART_LOCALPART, /* before the last '@'; all of it without one */
	PART_NETWORK,   /* of an address: so many leading bits, "192.0.2.0/24" */
	PART_CLIENT     /* IPv4, or the network of IPv6, "2001:db8::", as servers of http have it */
};

/* An attribute, or a part of it. */
struct part {
	enum part_kind kind;
	char name[NAME_SIZE];
	uint8_t v4, v6; /* bits of a network, or of a client */
};

/* IPv4 is in the first four bytes; a mapped address is IPv4. */
struct address {
	uint8_t bytes[16];
	uint8_t bits; /* 32 or 128; of a network, how many of them count */
	bool is_v4;   /* of a network */
};

/* A part, and what it may be: any of these. */
struct term {
	struct part part;
	char **texts; /* in order */
	size_t text_count;
	struct address *networks;
	size_t network_count;
};
struct conditions {
	struct term terms[TERMS_MAX];
	size_t count;
};

/* One limit of requests. */
struct check {
	char rule[RL_NAME_MAX + 1];
	struct part key[PARTS_MAX]; /* they are the key together */
	size_t key_parts;
	struct conditions when;             /* it applies where all of them hold */
	struct conditions unless;           /* and none of these */
	char states[STATES_MAX][NAME_SIZE]; /* protocol_state; none: in each */
	size_t state_count;
	char cost[NAME_SIZE];    /* the attribute that says how much; "": 1 */
	bool is_lowercase;       /* upper case in the key counts as lower case */
	char allow[ACTION_SIZE]; /* "": that of the settings */
	char deny[ACTION_SIZE], never[ACTION_SIZE];
};

/* Who was limited, for people. */
struct report {
	char events[EVENTS_MAX][256]; /* files of rld --events-file */
	size_t events_count;
	char command[COMMAND_MAX][256]; /* that takes it at its standard input */
	size_t command_words;           /* 0: it is printed */
};

struct settings {
	char segment[RL_NAME_MAX + 1];
	char listen[LISTEN_MAX][256];
	size_t listen_count;
	mode_t mode; /* of unix sockets */
	char allow[ACTION_SIZE], error[ACTION_SIZE];
	struct conditions exempt; /* where any of them holds, no check applies */
	struct report report;
	struct check checks[CHECKS_MAX];
	size_t check_count;
};

/*
 * Reads the file, and the lists it names. On error `settings` is as it was, and `text` says what is
 * wrong with which field.
 */
bool settings_read(const char *path, struct settings *settings, char *text, size_t size);

/*
 * words.c: lists with a NULL at their end, and the one of them that is most like a word of less
 * than NAME_SIZE bytes.
 */
extern const char *const postfix_attributes[], *const postfix_states[];
const char *word_nearest(const char *word, const char *const known[]);

/* What may stand in braces in an action, in the order of this list. */
enum placeholder {
	IN_SECONDS,
	IN_LIMIT,
	IN_REMAINING,
	IN_RULE,
	PLACEHOLDERS
};
extern const char *const placeholders[PLACEHOLDERS];
/* Which of them is at `at`, or PLACEHOLDERS. */
enum placeholder placeholder_at(const char *at);

/*
 * listen.c: opens the sockets; -1 at the end. Systemd's, if it has any for this program. false:
 * said why.
 */
bool listen_open(const struct settings *settings, int fds[LISTEN_MAX + 1]);
void listen_close(const struct settings *settings, int fds[LISTEN_MAX + 1]);

/* request.c: one request, within the bytes of its connection. */
struct text {
	const char *bytes;
	size_t len;
};
struct request {
	const char *bytes; /* lines "name=value", each with its newline */
	size_t len;
};
/*
 * Bytes of the first request in the buffer with its empty line, which is not before `from`; 0: it
 * is not whole.
 */
size_t request_length(const char *bytes, size_t from, size_t len);
/* The mistake in it, or NULL. */
const char *request_fault(const struct request *request);
/* The value of an attribute; empty if it is not there. */
struct text request_get(const struct request *request, const char *name);
/* part.c */
#define PART_ROOM 64
/* Reads "sender" or "domain(sender)": what is wrong with it, or NULL. */
const char *part_read(const char *text, struct part *part);
bool part_is_address(const struct part *part);
/* What the request has there; empty if there is nothing. It is in the request or in `room`. */
struct text part_value(const struct request *request, const struct part *part,
                       char room[PART_ROOM]);
bool address_read(struct text text, struct address *address);
/* Clears all bits but the first `bits`. */
void address_mask(uint8_t bytes[16], unsigned bits);

/* match.c */
/* Adds a value, or those of "file:PATH": what is wrong with it, in `text` or constant, or NULL. */
const char *term_add(struct term *term, const char *value, char *text, size_t size);
/* Once all values are there. */
void term_sort(struct term *term);
void conditions_free(struct conditions *conditions);
bool conditions_all(const struct request *request, const struct conditions *conditions);
bool conditions_any(const struct request *request, const struct conditions *conditions);

/*
 * key.c: the key of a check, in `key`; its length, or 0: the first attribute has no value, so that
 * the check does not apply. Values of several attributes are joined by '|', and have a backslash
 * before '|' and '\'.
 */
size_t check_key(const struct request *request, const struct check *check, char *key, size_t size);

/*
 * report.c: prints who was limited in the `span_s` seconds before now, by the files of events;
 * `now_s` is Unix time. Returns the status to exit with.
 */
int report_run(const struct settings *settings, uint64_t now_s, uint64_t span_s);

/* segment.c: NULL: it is not open, and `error` says why. */
struct segment {
	char name[RL_NAME_MAX + 1];
	struct rl *rl;
	int error;
	uint64_t look_ms;
	dev_t device;
	ino_t inode;
	int rules[CHECKS_MAX]; /* handles, in the order of checks; negative: why there is none */
};
struct rl *segment_get(struct segment *segment, const struct settings *settings);
void segment_close(struct segment *segment);

/* A request that waits for a share of a cluster's limit; CLIENTS_MAX of them at most. */
struct wait {
	uint64_t end_ms; /* 0: it does not */
	uint64_t next_ms;
};

/*
 * policy.c: the reply to a request, "action=...\n\n"; its length. 0: there is none yet, and it is
 * to be asked again at next_ms.
 */
size_t policy_reply(struct segment *segment, const struct settings *settings,
                    const struct request *request, struct wait *wait, char reply[REPLY_MAX]);

/* After the settings were read: whether checks apply is watched anew. */
void policy_begin(void);

/* clients.c: serves until `stop` is set; `is_one`: the connection at descriptor 0 alone. */
struct server {
	const struct settings *settings;
	struct segment *segment;
	int listeners[LISTEN_MAX + 1];
	int signals; /* readable when a signal has come; -1: none */
};
/* Returns the signal, or 0 when there is no client any more and no listener. */
int clients_serve(struct server *server, int first_client);

#endif
