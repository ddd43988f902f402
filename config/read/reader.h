/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_READER_H
#define CONFIG_READER_H

/*
 * Objects of known fields, read by tables: a field has a name, the kind of value it takes, its
 * range, and a place in an array of values. Whatever is wrong is reported where it stands, and
 * reading goes on.
 */

#include <jansson.h>

#include "read/report.h"

/* A value: what it is, and where it stands. */
struct node {
	json_t *json;
	uint32_t token;
};

struct reader {
	struct report *report;
	struct config_source *source;
	uint32_t ring;    /* entries that the segment may have for a key */
	bool has_cluster; /* limits of the file may be of one */
};

/* The value of a field. */
struct value {
	uint32_t token;  /* 0: it was not there */
	bool is_bad;     /* it was, and its problem has been reported */
	uint64_t number; /* a count, nanoseconds, 0 or 1, or the place of a word in its list */
	json_t *json;
};

struct field {
	const char *name; /* "": this table does not take it */
	void (*read)(struct reader *reader, const struct field *field, struct node node,
	             struct value *values);
	int id; /* where in `values` */
	uint64_t least, most;
	const char *const *words;
};

/* Kinds of values. */
void read_count(struct reader *, const struct field *, struct node, struct value *);
void read_flag(struct reader *, const struct field *, struct node, struct value *);
void read_word(struct reader *, const struct field *, struct node, struct value *);
void read_text(struct reader *, const struct field *, struct node, struct value *);
void read_seconds(struct reader *, const struct field *, struct node, struct value *);
void read_duration(struct reader *, const struct field *, struct node, struct value *);
void read_any(struct reader *, const struct field *, struct node, struct value *);

/* Put a value in its place; one that is there already is a contradiction. */
void value_set(struct reader *reader, struct value *values, int id, struct value value);

/* Read an object into `values`, which are zero. Each of `tables` ends with a NULL name, and they
 * with NULL. */
void read_fields(struct reader *reader, struct node object, const struct field *const *tables,
                 struct value *values);

/* Every member of an object, but comments. A name that is given twice is reported, and visited
 * once. */
typedef void visit_member(struct reader *reader, const char *name, struct node node, void *arg);
void each_member(struct reader *reader, struct node object, visit_member *visit, void *arg);

/* Every element of an array. */
typedef void visit_element(struct reader *reader, size_t index, struct node node, void *arg);
void each_element(struct reader *reader, struct node array, visit_element *visit, void *arg);

#endif
