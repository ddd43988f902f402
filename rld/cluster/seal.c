/* SPDX-License-Identifier: BSD-2-Clause */
#include "seal.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define NONCE 12
#define TAG 16

bool
seal_name(const struct secret *s, const unsigned char *bytes, size_t size,
          char name[static SEAL_NAME])
{
	unsigned char hash[EVP_MAX_MD_SIZE];

	if (!HMAC(EVP_sha256(), s->seal, SECRET_SIZE, bytes, size, hash, NULL))
		return false;
	for (int i = 0; i < (SEAL_NAME - 1) / 2; i++)
		snprintf(name + i * 2, 3, "%02x", hash[i]);
	return true;
}

/* With the key and the nonce set, and the name taken in. NULL without memory. */
static EVP_CIPHER_CTX *
begin(const struct secret *s, const char *name, const unsigned char *nonce, int is_sealing)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int size;

	if (ctx &&
	    EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, s->seal, nonce, is_sealing) == 1 &&
	    EVP_CipherUpdate(ctx, NULL, &size, (const unsigned char *)name, (int)strlen(name)) == 1)
		return ctx;
	EVP_CIPHER_CTX_free(ctx);
	return NULL;
}

bool
seal_close(const struct secret *s, const char *name, const unsigned char *bytes, size_t size,
           unsigned char *sealed)
{
	EVP_CIPHER_CTX *ctx =
		getrandom(sealed, NONCE, 0) == NONCE ? begin(s, name, sealed, 1) : NULL;
	int done;
	bool is_sealed = ctx &&
	                 EVP_CipherUpdate(ctx, sealed + SEAL_MORE, &done, bytes, (int)size) == 1 &&
	                 EVP_CipherFinal_ex(ctx, sealed + SEAL_MORE + done, &done) == 1 &&
	                 EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG, sealed + NONCE) == 1;

	EVP_CIPHER_CTX_free(ctx);
	return is_sealed;
}

bool
seal_open(const struct secret *s, const char *name, const unsigned char *sealed, size_t size,
          unsigned char *bytes)
{
	EVP_CIPHER_CTX *ctx = size > SEAL_MORE ? begin(s, name, sealed, 0) : NULL;
	unsigned char tag[TAG];
	int done;
	bool is_opened;

	if (!ctx)
		return false;
	memcpy(tag, sealed + NONCE, TAG);
	is_opened = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, tag) == 1 &&
	            EVP_CipherUpdate(ctx, bytes, &done, sealed + SEAL_MORE,
	                             (int)(size - SEAL_MORE)) == 1 &&
	            EVP_CipherFinal_ex(ctx, bytes + done, &done) == 1;
	EVP_CIPHER_CTX_free(ctx);
	return is_opened;
}
