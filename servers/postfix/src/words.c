/* SPDX-License-Identifier: BSD-2-Clause */
/* What Postfix 3.7 to 3.10 sends to a policy server, as its SMTPD_POLICY_README has it. */
#include <string.h>

#include "policyd.h"

const char *const postfix_attributes[] = {"request",
                                          "protocol_state",
                                          "protocol_name",
                                          "helo_name",
                                          "queue_id",
                                          "sender",
                                          "recipient",
                                          "recipient_count",
                                          "client_address",
                                          "client_name",
                                          "reverse_client_name",
                                          "instance",
                                          "sasl_method",
                                          "sasl_username",
                                          "sasl_sender",
                                          "size",
                                          "ccert_subject",
                                          "ccert_issuer",
                                          "ccert_fingerprint",
                                          "encryption_protocol",
                                          "encryption_cipher",
                                          "encryption_keysize",
                                          "etrn_domain",
                                          "stress",
                                          "ccert_pubkey_fingerprint",
                                          "client_port",
                                          "policy_context",
                                          "server_address",
                                          "server_port",
                                          "compatibility_level",
                                          "mail_version",
                                          NULL};

const char *const postfix_states[] = {"CONNECT", "EHLO",           "HELO", "MAIL", "RCPT",
                                      "DATA",    "END-OF-MESSAGE", "VRFY", "ETRN", NULL};

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many letters have to be put in, taken out or changed (Levenshtein's distance). */
static size_t
distance(const char *a, const char *b)
{
	size_t row[NAME_SIZE], len = strlen(b);

	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < len; j++) {
			size_t changed = corner + (a[i] != b[j]);

			corner = row[j + 1];
			row[j + 1] = least(changed, least(corner, row[j]) + 1);
		}
	}
	return row[len];
}

const char *
word_nearest(const char *word, const char *const known[])
{
	const char *nearest = known[0];

	for (size_t i = 1; known[i]; i++)
		if (distance(word, known[i]) < distance(word, nearest))
			nearest = known[i];
	return nearest;
}

const char *const placeholders[PLACEHOLDERS] = {[IN_SECONDS] = "{seconds}",
                                                [IN_LIMIT] = "{limit}",
                                                [IN_REMAINING] = "{remaining}",
                                                [IN_RULE] = "{rule}"};

enum placeholder
placeholder_at(const char *at)
{
	size_t i = 0;

	while (i < PLACEHOLDERS && strncmp(at, placeholders[i], strlen(placeholders[i])) != 0)
		i++;
	return (enum placeholder)i;
}
