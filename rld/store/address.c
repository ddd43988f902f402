/* SPDX-License-Identifier: BSD-2-Clause */
#include "address.h"

#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned
port_of(const char *text)
{
	char *end;
	unsigned long port;

	if (*text < '1' || *text > '9')
		return 0;
	port = strtoul(text, &end, 10);
	return *end == '\0' && port <= UINT16_MAX ? (unsigned)port : 0;
}

bool
address_parse(const char *text, struct store_address *to)
{
	const char *colon = strrchr(text, ':'), *host = text;
	size_t size = colon ? (size_t)(colon - text) : 0;

	if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
		host++;
		size -= 2;
	}
	*to = (struct store_address){.port = colon ? port_of(colon + 1) : 0};
	if (size == 0 || size >= sizeof to->host || to->port == 0)
		return false;
	memcpy(to->host, host, size);
	return !strpbrk(to->host, " \t[]/");
}

void
address_text(const struct store_address *a, char text[static STORE_ADDRESS_MAX])
{
	const char *form = strchr(a->host, ':') ? "[%s]:%u" : "%s:%u";

	snprintf(text, STORE_ADDRESS_MAX, form, a->host, a->port);
}

bool
address_is_same(const struct store_address *a, const struct store_address *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* The thread of getaddrinfo_a() writes into it until it says that it is done. */
struct lookup {
	struct gaicb request;
	struct addrinfo hints;
	char host[STORE_HOST_MAX], port[8];
	bool is_numeric; /* and so known at once, without a thread */
};

static bool
find_numeric(struct lookup *l)
{
	struct addrinfo hints = l->hints;

	hints.ai_flags |= AI_NUMERICHOST;
	l->is_numeric = getaddrinfo(l->host, l->port, &hints, &l->request.ar_result) == 0;
	return l->is_numeric;
}

static int
error_of(struct lookup *l)
{
	return l->is_numeric ? 0 : gai_error(&l->request);
}

struct lookup *
lookup_start(const struct store_address *a)
{
	struct lookup *l = calloc(1, sizeof *l);
	struct gaicb *list[1];

	if (!l)
		return NULL;
	memcpy(l->host, a->host, sizeof l->host);
	snprintf(l->port, sizeof l->port, "%u", a->port);
	l->hints = (struct addrinfo){.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	l->request =
		(struct gaicb){.ar_name = l->host, .ar_service = l->port, .ar_request = &l->hints};
	list[0] = &l->request;
	if (find_numeric(l) || getaddrinfo_a(GAI_NOWAIT, list, 1, NULL) == 0)
		return l;
	free(l);
	return NULL;
}

static const struct addrinfo *
address_of(const struct addrinfo *first, unsigned which)
{
	const struct addrinfo *a = first;

	for (; first && which > 0; which--)
		a = a->ai_next ? a->ai_next : first;
	return a;
}

int
lookup_done(struct lookup *l, unsigned which, struct sockaddr_storage *to, socklen_t *size)
{
	const struct addrinfo *found;
	int error = error_of(l);

	if (error == EAI_INPROGRESS)
		return -EAGAIN;
	found = address_of(l->request.ar_result, which);
	if (error != 0 || !found || found->ai_addrlen > sizeof *to)
		return -ENOENT;
	memcpy(to, found->ai_addr, found->ai_addrlen);
	*size = found->ai_addrlen;
	return 0;
}

void
lookup_free(struct lookup *l)
{
	if (!l)
		return;
	if (error_of(l) == EAI_INPROGRESS && gai_cancel(&l->request) != EAI_CANCELED)
		return; /* its thread uses it still; a name that nobody answers is rare, and some
		           bytes */
	if (l->request.ar_result)
		freeaddrinfo(l->request.ar_result);
	free(l);
}
