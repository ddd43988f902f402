/* SPDX-License-Identifier: BSD-2-Clause */
#include "tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#define WHY_MAX 200

struct tls_context {
	SSL_CTX *ctx;
	const char *name;
};

struct tls {
	SSL *ssl;
	bool wants_write;
	char why[WHY_MAX];
};

static void
say_last(char *why, size_t size, const char *what)
{
	unsigned long e = ERR_get_error();
	const char *reason = e != 0 ? ERR_reason_error_string(e) : NULL;

	snprintf(why, size, "%s: %s", what, reason ? reason : "unknown reason");
	ERR_clear_error();
}

static bool
load_files(SSL_CTX *ctx, const struct store_tls *o, char *why, size_t size)
{
	int ok = o->ca ? SSL_CTX_load_verify_locations(ctx, o->ca, NULL)
	               : SSL_CTX_set_default_verify_paths(ctx);

	if (ok != 1)
		say_last(why, size, o->ca ? o->ca : "the system's certificates");
	else if (o->cert && SSL_CTX_use_certificate_chain_file(ctx, o->cert) != 1)
		say_last(why, size, o->cert);
	else if (o->key && SSL_CTX_use_PrivateKey_file(ctx, o->key, SSL_FILETYPE_PEM) != 1)
		say_last(why, size, o->key);
	else
		return true;
	return false;
}

struct tls_context *
tls_context_new(const struct store_tls *options, char *why, size_t size)
{
	struct tls_context *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->name = options->name;
	c->ctx = SSL_CTX_new(TLS_client_method());
	if (c->ctx && load_files(c->ctx, options, why, size)) {
		SSL_CTX_set_min_proto_version(c->ctx, TLS1_2_VERSION);
		SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
		SSL_CTX_set_mode(c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
		                                 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
		return c;
	}
	tls_context_free(c);
	return NULL;
}

void
tls_context_free(struct tls_context *c)
{
	if (!c)
		return;
	SSL_CTX_free(c->ctx);
	free(c);
}

static bool
is_address(const char *host)
{
	unsigned char to[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, to) == 1 || inet_pton(AF_INET6, host, to) == 1;
}

/* The certificate is to be of this name or address; a server of many names is told which. */
static bool
expect(SSL *ssl, const char *host)
{
	if (is_address(host))
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct tls *
tls_new(struct tls_context *c, int fd, const char *host)
{
	struct tls *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->ssl = SSL_new(c->ctx);
	if (t->ssl && SSL_set_fd(t->ssl, fd) == 1 && expect(t->ssl, c->name ? c->name : host)) {
		SSL_set_connect_state(t->ssl);
		return t;
	}
	tls_free(t);
	return NULL;
}

void
tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	free(t);
}

static void
say_why(struct tls *t)
{
	long verified = SSL_get_verify_result(t->ssl);

	if (verified != X509_V_OK)
		snprintf(t->why, sizeof t->why, "its certificate: %s",
		         X509_verify_cert_error_string(verified));
	else
		say_last(t->why, sizeof t->why, "TLS");
	ERR_clear_error();
}

/* The outcome of a call of OpenSSL. */
static int
outcome(struct tls *t, int returned)
{
	int error = SSL_get_error(t->ssl, returned);

	t->wants_write = error == SSL_ERROR_WANT_WRITE;
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	say_why(t);
	return -EPROTO;
}

int
tls_handshake(struct tls *t)
{
	int done, error;

	ERR_clear_error();
	done = SSL_do_handshake(t->ssl);
	if (done == 1) {
		t->wants_write = false;
		return 0;
	}
	error = outcome(t, done);
	return error == 0 ? -EPROTO : error;
}

ssize_t
tls_read(struct tls *t, char *to, size_t size)
{
	int got;

	ERR_clear_error();
	got = SSL_read(t->ssl, to, size < INT_MAX ? (int)size : INT_MAX);
	return got > 0 ? got : outcome(t, got);
}

ssize_t
tls_write(struct tls *t, const char *bytes, size_t size)
{
	int put, error;

	ERR_clear_error();
	put = SSL_write(t->ssl, bytes, size < INT_MAX ? (int)size : INT_MAX);
	if (put > 0)
		return put;
	error = outcome(t, put);
	return error == 0 ? -EPROTO : error;
}

bool
tls_wants_write(const struct tls *t)
{
	return t->wants_write;
}

const char *
tls_error(const struct tls *t)
{
	return t->why;
}
