/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The address of a client behind proxies, from the end of a list of addresses.
 *
 *	lines[0]: a, b      lines[1]: c, d      peer
 *	          4  3                2  1      0         in this order
 *
 * Each element is cut off at the end of what is left, so that it is cut the same whatever stands
 * before it. In Forwarded a comma between quotes ends no element: a quote opens or closes a string,
 * going backwards as forwards, unless an odd number of backslashes stands before it. What is cut
 * off is believed only if it is one whole element: then it is one whatever stands before it, too.
 *
 * Cost: an element that is longer than RL_HTTP_ELEMENT_MAX ends the walk, and so do
 * RL_HTTP_HOPS_MAX elements.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "rl_http.h"
#include "rule/address.h"

enum family {
	UNIX = 1,
	V4 = 4,
	V6 = 6,
};

/* The address that a list element, or the peer, names. */
struct node {
	enum family family;
	struct rl_address address; /* not of UNIX */
};

/* Text that may be read. */
struct span {
	const char *at;
	size_t len;
};

/* The rest of the lines, and how many elements it may still have. */
struct list {
	const struct rl_http_value *lines;
	size_t count;     /* of them that are not begun with */
	struct span rest; /* of the line that is; NULL if that is over */
	unsigned left;
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct span
trim(struct span s)
{
	for (; s.len > 0 && is_blank(s.at[0]); s.at++)
		s.len--;
	while (s.len > 0 && is_blank(s.at[s.len - 1]))
		s.len--;
	return s;
}

/* The text before the first `c` in *s, all of it if there is none; *s goes on behind it. */
static struct span
cut(struct span *s, char c)
{
	const char *found = s->len > 0 ? memchr(s->at, c, s->len) : NULL;
	struct span before = {s->at, found ? (size_t)(found - s->at) : s->len};

	s->at += before.len + (found != NULL);
	s->len -= before.len + (found != NULL);
	return before;
}

/* "for" in whatever case. */
static bool
is_for(struct span s)
{
	return s.len == 3 && (s.at[0] | 0x20) == 'f' && (s.at[1] | 0x20) == 'o' &&
	       (s.at[2] | 0x20) == 'r';
}

/* Letters, digits and . _ - as names of zones and hidden ports have; a zone may be escaped by %. */
static bool
is_name(struct span s)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~%";

	for (size_t i = 0; i < s.len; i++)
		if (s.at[i] == '\0' || !strchr(good, s.at[i]))
			return false;
	return s.len > 0;
}

/* RFC 7239, section 6.3: one to five digits, or a hidden one that begins with _. */
static bool
is_port(struct span s)
{
	if (s.len > 1 && s.at[0] == '_')
		return is_name(s);
	for (size_t i = 0; i < s.len; i++)
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
	return s.len > 0 && s.len <= 5;
}

static bool
parse_v6(struct span s, struct rl_address *a)
{
	bool has_zone = s.len > 0 && memchr(s.at, '%', s.len) != NULL;
	struct span address = cut(&s, '%');

	if (address.len == 0 || !memchr(address.at, ':', address.len))
		return false;
	return (!has_zone || is_name(s)) && rl_address_parse(address.at, address.len, a);
}

/* An address, a port behind it or not. What has two colons and no brackets has no port. */
static bool
parse_address(struct span s, struct rl_address *a)
{
	struct span address;

	if (s.len > 0 && s.at[0] == '[') {
		s.at++;
		s.len--;
		if (!memchr(s.at, ']', s.len))
			return false;
		address = cut(&s, ']');
		if (s.len > 0 && (s.at[0] != ':' || !is_port((struct span){s.at + 1, s.len - 1})))
			return false;
		return parse_v6(address, a);
	}
	if (parse_v6(s, a))
		return true;
	address = cut(&s, ':');
	return (s.at == address.at + address.len || is_port(s)) && address.len > 0 &&
	       rl_address_parse(address.at, address.len, a);
}

static bool
parse_node(struct span s, struct node *node)
{
	if (!parse_address(s, &node->address))
		return false;
	node->family = node->address.bits == 32 ? V4 : V6;
	return true;
}

/* Or a unix socket, as servers write it; its path, if any is told, is not looked at. */
static bool
parse_hop(struct span s, struct node *node)
{
	if (s.len < 5 || memcmp(s.at, "unix:", 5) != 0)
		return parse_node(s, node);
	node->family = UNIX;
	return true;
}

/* A socket without a name is a unix socket, too. */
static bool
parse_peer(struct span s, struct node *node)
{
	node->family = UNIX;
	return s.len == 0 || parse_hop(s, node);
}

/* A text without quotes, backslashes and commas. */
static bool
is_plain(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.at[i] == '"' || s.at[i] == '\\' || s.at[i] == ',')
			return false;
	return true;
}

/* A value of Forwarded, plain or a quoted string, which goes into `to` and is no longer than it. */
static bool
unquote(struct span s, char to[RL_HTTP_ELEMENT_MAX], struct span *value)
{
	*value = s;
	if (s.len == 0 || s.at[0] != '"')
		return is_plain(s);
	if (s.len < 2 || s.at[s.len - 1] != '"')
		return false;
	*value = (struct span){to, 0};
	for (size_t i = 1; i < s.len - 1; i++) {
		if (s.at[i] == '"')
			return false;
		if (s.at[i] == '\\' && ++i == s.len - 1)
			return false;
		to[value->len++] = s.at[i];
	}
	return true;
}

/* Up to a semicolon that is not between quotes. */
static struct span
cut_pair(struct span *s)
{
	struct span pair = {s->at, 0};
	bool is_quoted = false;

	for (; pair.len < s->len && (is_quoted || s->at[pair.len] != ';'); pair.len++) {
		if (is_quoted && s->at[pair.len] == '\\' && pair.len + 1 < s->len)
			pair.len++;
		else if (s->at[pair.len] == '"')
			is_quoted = !is_quoted;
	}
	s->at += pair.len + (pair.len < s->len);
	s->len -= pair.len + (pair.len < s->len);
	return trim(pair);
}

/* An element of Forwarded: pairs of which one is `for`, and nothing else. */
static bool
parse_forwarded(struct span s, struct node *node)
{
	char unquoted[RL_HTTP_ELEMENT_MAX];
	bool has_for = false;
	struct span value;

	while (s.len > 0) {
		struct span pair = cut_pair(&s), name = cut(&pair, '=');

		if (!is_plain(name) || !unquote(pair, unquoted, &value))
			return false;
		if (!is_for(name))
			continue;
		if (has_for || !parse_node(value, node))
			return false;
		has_for = true;
	}
	return has_for;
}

/* Is the character at `i` of `s` escaped, nothing before `from` being looked at? */
static bool
is_escaped(struct span s, size_t from, size_t i)
{
	size_t backslashes = 0;

	while (i - backslashes > from && s.at[i - backslashes - 1] == '\\')
		backslashes++;
	return backslashes % 2 == 1;
}

/* Where the last element of `s` begins; false if it is too long, or in the middle of a string. */
static bool
find_last(struct span s, enum rl_http_field field, size_t *start)
{
	size_t from = s.len > RL_HTTP_ELEMENT_MAX ? s.len - RL_HTTP_ELEMENT_MAX - 1 : 0;
	bool is_quoted = false;

	for (*start = s.len; *start > from; --*start) {
		char c = s.at[*start - 1];

		if (c == ',' && !is_quoted)
			return true;
		if (c == '"' && field == RL_HTTP_FORWARDED && !is_escaped(s, from, *start - 1))
			is_quoted = !is_quoted;
	}
	return s.len <= RL_HTTP_ELEMENT_MAX && !is_quoted;
}

/* How taking an element ended. */
enum taken {
	TAKEN,
	EMPTY, /* there is none left */
	LONG,
	ENOUGH,
};

/* The last element that has something in it, off the end of the list; others count, too. */
static enum taken
take(struct list *l, enum rl_http_field field, struct span *element)
{
	for (; l->left > 0; l->left--) {
		size_t start;

		if (!l->rest.at) {
			if (l->count == 0)
				return EMPTY;
			l->count--;
			l->rest = (struct span){l->lines[l->count].text, l->lines[l->count].len};
			l->rest.len = l->rest.at ? l->rest.len : 0;
		}
		if (!find_last(l->rest, field, &start))
			return LONG;
		*element = trim((struct span){l->rest.at + start, l->rest.len - start});
		l->rest = start > 0 ? (struct span){l->rest.at, start - 1} : (struct span){NULL, 0};
		if (element->len > 0) {
			l->left--;
			return TAKEN;
		}
	}
	return ENOUGH;
}

/* As two numbers of 64 bits, IPv4 at the end of the second. */
static void
to_words(const struct rl_address *a, uint64_t words[2])
{
	words[0] = words[1] = 0;
	for (unsigned i = 0; i < a->bits / 8; i++) {
		unsigned byte = i + 16 - a->bits / 8;
		words[byte / 8] |= (uint64_t)a->bytes[i] << (56 - byte % 8 * 8);
	}
}

/* The first `bits` of 128. */
static void
to_mask(unsigned bits, uint64_t mask[2])
{
	mask[0] = bits >= 64 ? UINT64_MAX : ~(UINT64_MAX >> bits);
	mask[1] = bits >= 128 ? UINT64_MAX : bits <= 64 ? 0 : ~(UINT64_MAX >> (bits - 64));
}

int
rl_http_network(const char *text, struct rl_http_network *network)
{
	struct rl_address a = {0};
	unsigned prefix;

	if (!text || !network)
		return -EINVAL;
	*network = (struct rl_http_network){.family = UNIX};
	if (strcmp(text, "unix:") == 0)
		return 0;
	*network = (struct rl_http_network){.family = 0}; /* which no address has */
	if (!rl_network_parse(text, strlen(text), &a, &prefix))
		return -EINVAL;
	network->family = a.bits == 32 ? V4 : V6;
	to_mask(128 - a.bits + prefix, network->mask);
	to_words(&a, network->address);
	network->address[0] &= network->mask[0];
	network->address[1] &= network->mask[1];
	return 0;
}

static bool
is_trusted(const struct rl_http_trust *t, const struct node *node)
{
	uint64_t words[2] = {0};

	if (node->family != UNIX)
		to_words(&node->address, words);
	for (size_t i = 0; i < t->count; i++) {
		const struct rl_http_network *n = &t->networks[i];
		if (n->family == node->family && (words[0] & n->mask[0]) == n->address[0] &&
		    (words[1] & n->mask[1]) == n->address[1])
			return true;
	}
	return false;
}

static void
write_address(const struct rl_http_trust *t, const struct node *node, char *to)
{
	unsigned prefix_v4 = t->prefix_v4 > 0 ? t->prefix_v4 : 32;
	unsigned prefix_v6 = t->prefix_v6 > 0 ? t->prefix_v6 : 64;
	unsigned char key[RL_NETWORK_KEY_MAX];
	char text[RL_NETWORK_TEXT_MAX];

	if (node->family == UNIX) {
		memcpy(to, "unix:", sizeof "unix:");
		return;
	}
	rl_network_key(&node->address, node->family == V4 ? prefix_v4 : prefix_v6, key);
	key[1] = key[0]; /* an address, not a network */
	memcpy(to, text, rl_network_text(key, text) + 1);
}

/* From the peer, which is in *node, to the client. */
static void
walk(const struct rl_http_trust *t, struct list *l, struct node *node,
     struct rl_http_client *client)
{
	struct span element;

	for (; is_trusted(t, node); client->hops++) {
		enum taken taken = take(l, t->field, &element);
		struct node before;

		client->end = taken == EMPTY    ? RL_HTTP_CLIENT_LISTED
		              : taken == ENOUGH ? RL_HTTP_CLIENT_FAR
		                                : RL_HTTP_CLIENT_NO_ADDRESS;
		if (taken != TAKEN ||
		    !(t->field == RL_HTTP_FORWARDED ? parse_forwarded(element, &before)
		                                    : parse_hop(element, &before)))
			return;
		*node = before;
	}
	client->end = RL_HTTP_CLIENT_FOUND;
}

static bool
is_sound(const struct rl_http_trust *t, struct rl_http_value peer,
         const struct rl_http_value *lines, size_t count)
{
	return t && (t->networks || t->count == 0) && (unsigned)t->field <= RL_HTTP_FORWARDED &&
	       t->prefix_v4 <= 32 && t->prefix_v6 <= 128 && (peer.text || peer.len == 0) &&
	       (lines || count == 0);
}

int
rl_http_client(const struct rl_http_trust *trust, struct rl_http_value peer,
               const struct rl_http_value *lines, size_t count, struct rl_http_client *client)
{
	struct list list = {.lines = lines, .count = count, .left = RL_HTTP_HOPS_MAX};
	struct node node;

	if (!client)
		return -EINVAL;
	*client = (struct rl_http_client){.address = ""};
	if (!is_sound(trust, peer, lines, count) ||
	    !parse_peer((struct span){peer.text, peer.len}, &node))
		return -EINVAL;
	walk(trust, &list, &node, client);
	write_address(trust, &node, client->address);
	return 0;
}
