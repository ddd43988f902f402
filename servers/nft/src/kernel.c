/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table by libnftables; its elements by netlink, for to add one to a set with intervals
 * libnftables reads all of them from the kernel, which takes half a second of a CPU where there are
 * 60,000.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <nftables/libnftables.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nft.h"

#define SEND_BUFFER (64 << 20) /* a transaction is sent at once */
#define MESSAGE_ROOM 65536
#define MESSAGE_FULL 32768 /* bytes of elements: the length of an attribute has 16 bits */
#define RULE_COUNT 2

static const struct {
	const char *set;
	uint32_t size; /* of an address */
} families[FAMILIES] = {
	[V4] = {"v4", 4},
	[V6] = {"v6", 16},
};

static int
run_nft(const char *commands)
{
	struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
	int error = nft ? nft_run_cmd_from_buffer(nft, commands) : -1;

	if (nft)
		nft_ctx_free(nft);
	return error == 0 ? 0 : -EIO;
}

static void
put_u32(struct nlmsghdr *message, uint16_t type, uint32_t value)
{
	mnl_attr_put_u32(message, type, htonl(value));
}

static struct nlmsghdr *
write_header(void *room, unsigned type, unsigned flags, uint8_t family, uint32_t sequence)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(room);
	struct nfgenmsg *extra = mnl_nlmsg_put_extra_header(message, sizeof(*extra));

	message->nlmsg_type = (uint16_t)type;
	message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	message->nlmsg_seq = sequence;
	extra->nfgen_family = family;
	extra->version = NFNETLINK_V0;
	return message;
}

/* Begins a message of the transaction; NULL: there is no memory. */
static struct nlmsghdr *
begin(struct kernel *kernel, unsigned type, unsigned flags)
{
	if (kernel->room - kernel->length < MESSAGE_ROOM) {
		size_t room = kernel->room * 2 + MESSAGE_ROOM;
		char *batch = realloc(kernel->batch, room);

		if (!batch)
			return NULL;
		kernel->batch = batch;
		kernel->room = room;
	}
	return write_header(kernel->batch + kernel->length, NFNL_SUBSYS_NFTABLES << 8 | type, flags,
	                    NFPROTO_INET, ++kernel->sequence);
}

static void
end(struct kernel *kernel, const struct nlmsghdr *message)
{
	kernel->length += MNL_ALIGN(message->nlmsg_len);
}

/* Around the messages. By the generation the kernel refuses one that others' came before. */
static bool
mark(struct kernel *kernel, unsigned type)
{
	struct nlmsghdr *message = begin(kernel, 0, 0);
	struct nfgenmsg *extra;

	if (!message)
		return false;
	message->nlmsg_type = (uint16_t)type;
	extra = mnl_nlmsg_get_payload(message);
	extra->nfgen_family = AF_UNSPEC;
	extra->res_id = htons(NFNL_SUBSYS_NFTABLES);
	if (type == NFNL_MSG_BATCH_BEGIN)
		put_u32(message, NFNL_BATCH_GENID, kernel->generation);
	end(kernel, message);
	return true;
}

/* The kernel has answered all before send() returns; what succeeds has no answer. */
static int
read_answers(struct kernel *kernel)
{
	char room[MESSAGE_ROOM];
	int error = 0;
	ssize_t got;

	while ((got = recv(mnl_socket_get_fd(kernel->socket), room, sizeof(room), MSG_DONTWAIT)) >
	       0) {
		const struct nlmsghdr *message = (const void *)room;
		int left = (int)got;

		for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
			const struct nlmsgerr *told = mnl_nlmsg_get_payload(message);

			if (message->nlmsg_type == NLMSG_ERROR && error == 0)
				error = told->error;
		}
	}
	if (error == 0 && got < 0 && errno != EAGAIN)
		error = -errno;
	return error;
}

static int
transact(struct kernel *kernel)
{
	int error = -ENOMEM;

	if (mark(kernel, NFNL_MSG_BATCH_END))
		error = mnl_socket_sendto(kernel->socket, kernel->batch, kernel->length) < 0
		                ? -errno
		                : read_answers(kernel);
	if (error == 0 && ++kernel->generation == 0)
		kernel->generation = 1; /* as the kernel counts */
	return error;
}

/* Asks, and gives each message of the answer to `see`. */
static int
ask(struct kernel *kernel, const struct nlmsghdr *request, mnl_cb_t see, void *arg)
{
	char room[MESSAGE_ROOM];
	unsigned port = mnl_socket_get_portid(kernel->socket);
	int more;

	if (mnl_socket_sendto(kernel->socket, request, request->nlmsg_len) < 0)
		return -errno;
	do {
		ssize_t got = mnl_socket_recvfrom(kernel->socket, room, sizeof(room));

		if (got < 0)
			return -errno;
		more = mnl_cb_run(room, (size_t)got, request->nlmsg_seq, port, see, arg);
	} while (more > MNL_CB_STOP);
	return more < 0 ? -errno : 0;
}

static int
see_generation(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, message, sizeof(struct nfgenmsg))
	{
		if (mnl_attr_get_type(attribute) == NFTA_GEN_ID)
			*(uint32_t *)arg = ntohl(mnl_attr_get_u32(attribute));
	}
	return MNL_CB_STOP;
}

static int
read_generation(struct kernel *kernel, uint32_t *generation)
{
	char room[256];

	return ask(kernel,
	           write_header(room, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN, 0, AF_UNSPEC,
	                        ++kernel->sequence),
	           see_generation, generation);
}

static int
count_rule(const struct nlmsghdr *message, void *arg)
{
	(void)message;
	++*(size_t *)arg;
	return MNL_CB_OK;
}

/* An interval is two elements; its last has the flag. */
static int
count_span(const struct nlattr *element, void *arg)
{
	const struct nlattr *part;
	bool is_last = false;

	mnl_attr_for_each_nested(part, element)
	{
		if (mnl_attr_get_type(part) == NFTA_SET_ELEM_FLAGS)
			is_last = ntohl(mnl_attr_get_u32(part)) & NFT_SET_ELEM_INTERVAL_END;
	}
	*(size_t *)arg += !is_last;
	return MNL_CB_OK;
}

static int
count_spans(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *list;

	mnl_attr_for_each(list, message, sizeof(struct nfgenmsg))
	{
		if (mnl_attr_get_type(list) == NFTA_SET_ELEM_LIST_ELEMENTS)
			mnl_attr_parse_nested(list, count_span, arg);
	}
	return MNL_CB_OK;
}

/* How many rules the chain has, or spans a set; none where there is no such thing. */
static int
count(struct kernel *kernel, unsigned type, const char *name, mnl_cb_t see, size_t *found)
{
	char room[256];
	struct nlmsghdr *request = write_header(room, NFNL_SUBSYS_NFTABLES << 8 | type, NLM_F_DUMP,
	                                        NFPROTO_INET, ++kernel->sequence);
	int error;

	*found = 0;
	/* Table and name have the same numbers in both kinds of request. */
	mnl_attr_put_strz(request, NFTA_RULE_TABLE, TABLE);
	mnl_attr_put_strz(request, NFTA_RULE_CHAIN, name);
	error = ask(kernel, request, see, found);
	return error == -ENOENT ? 0 : error;
}

/* True if no span is missing that still lasts, and there are no more than were put. */
static bool
has_all(const struct spans *held, size_t found, uint64_t now_ns)
{
	size_t ended = 0;

	for (size_t i = 0; i < held->count; i++)
		ended += held->items[i].until_ns < now_ns + SHORTEST_NS;
	return found <= held->count && found >= held->count - ended;
}

int
kernel_is_changed(struct kernel *kernel, struct rl *rl)
{
	uint32_t generation = 0;
	size_t found;
	int error = read_generation(kernel, &generation);

	if (error < 0 || generation == kernel->generation)
		return error;
	error = count(kernel, NFT_MSG_GETRULE, CHAIN, count_rule, &found);
	if (error == 0 && kernel->has_rules && found != RULE_COUNT)
		error = 1;
	for (int i = 0; i < FAMILIES && error == 0; i++) {
		error = count(kernel, NFT_MSG_GETSETELEM, families[i].set, count_spans, &found);
		if (error == 0 && !has_all(&kernel->held[i], found, rl_now(rl)))
			error = 1;
	}
	if (error == 0)
		kernel->generation = generation;
	return error;
}

/* Elements of one set, in as many messages as they take. */
struct writing {
	struct kernel *kernel;
	enum family family;
	unsigned type; /* of NFT_MSG_NEWSETELEM and NFT_MSG_DELSETELEM */
	uint64_t now_ns;
	struct nlmsghdr *message; /* NULL: none is begun */
	struct nlattr *list;
	bool has_failed;
};

static bool
begin_elements(struct writing *writing)
{
	bool is_new = writing->type == NFT_MSG_NEWSETELEM;

	writing->message = begin(writing->kernel, writing->type, is_new ? NLM_F_CREATE : 0);
	writing->has_failed |= !writing->message;
	if (writing->has_failed)
		return false;
	mnl_attr_put_strz(writing->message, NFTA_SET_ELEM_LIST_TABLE, TABLE);
	mnl_attr_put_strz(writing->message, NFTA_SET_ELEM_LIST_SET, families[writing->family].set);
	return true;
}

static void
end_elements(struct writing *writing)
{
	if (!writing->message)
		return;
	mnl_attr_nest_end(writing->message, writing->list);
	end(writing->kernel, writing->message);
	writing->message = NULL;
}

static void
put_element(struct writing *writing, address some, uint32_t flags, uint64_t until_ns)
{
	struct nlmsghdr *message = writing->message;
	struct nlattr *element = mnl_attr_nest_start(message, NFTA_LIST_ELEM), *key;
	unsigned char bytes[16];
	uint32_t size = families[writing->family].size;

	for (uint32_t i = size; i-- > 0; some >>= 8)
		bytes[i] = (unsigned char)some;
	key = mnl_attr_nest_start(message, NFTA_SET_ELEM_KEY);
	mnl_attr_put(message, NFTA_DATA_VALUE, size, bytes);
	mnl_attr_nest_end(message, key);
	if (flags)
		put_u32(message, NFTA_SET_ELEM_FLAGS, flags);
	if (until_ns != RL_NEVER_NS)
		mnl_attr_put_u64(message, NFTA_SET_ELEM_TIMEOUT,
		                 htobe64((until_ns - writing->now_ns) / RL_MILLISECOND));
	mnl_attr_nest_end(message, element);
}

static void
put_span(struct writing *writing, const struct span *span)
{
	address most = writing->family == V4 ? UINT32_MAX : ~(address)0;
	bool is_new = writing->type == NFT_MSG_NEWSETELEM;

	if (!writing->message) {
		if (!begin_elements(writing))
			return;
		writing->list = mnl_attr_nest_start(writing->message, NFTA_SET_ELEM_LIST_ELEMENTS);
	}
	put_element(writing, span->first, 0, is_new ? span->until_ns : RL_NEVER_NS);
	if (span->last != most)
		put_element(writing, span->last + 1, NFT_SET_ELEM_INTERVAL_END, RL_NEVER_NS);
	if (writing->message->nlmsg_len > MESSAGE_FULL)
		end_elements(writing);
}

static int
compare(const struct span *a, const struct span *b)
{
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->last != b->last)
		return a->last < b->last ? -1 : 1;
	return (a->until_ns > b->until_ns) - (a->until_ns < b->until_ns);
}

/* Both are in order. Of what `from` has alone; but what ends just now ends by itself. */
static bool
put_difference(struct kernel *kernel, enum family family, unsigned type, const struct spans *from,
               const struct spans *other, uint64_t now_ns)
{
	struct writing writing = {
		.kernel = kernel, .family = family, .type = type, .now_ns = now_ns};

	for (size_t i = 0, j = 0; i < from->count && !writing.has_failed; i++) {
		const struct span *span = &from->items[i];

		while (j < other->count && compare(&other->items[j], span) < 0)
			j++;
		if ((j == other->count || compare(&other->items[j], span) != 0) &&
		    span->until_ns >= now_ns + SHORTEST_NS)
			put_span(&writing, span);
	}
	end_elements(&writing);
	return !writing.has_failed;
}

/* The sets are as they were, or empty. */
static int
make_table(struct kernel *kernel)
{
	static const char sets[] =
		"add table inet " TABLE "\n"
		"add set inet " TABLE " v4 { type ipv4_addr; flags interval, timeout; }\n"
		"add set inet " TABLE " v6 { type ipv6_addr; flags interval, timeout; }\n";
	static const char rules[] =
		"add chain inet " TABLE " " CHAIN " { type filter hook prerouting priority raw; }\n"
		"flush chain inet " TABLE " " CHAIN "\n"
		"add rule inet " TABLE " " CHAIN " ip saddr @v4 counter drop\n"
		"add rule inet " TABLE " " CHAIN " ip6 saddr @v6 counter drop\n";
	char text[sizeof(sets) + sizeof(rules)];

	stpcpy(stpcpy(text, sets), kernel->has_rules ? rules : "");
	return run_nft(text);
}

static bool
empty_sets(struct kernel *kernel)
{
	for (unsigned i = 0; i < FAMILIES; i++) {
		struct writing all = {.kernel = kernel, .family = i, .type = NFT_MSG_DELSETELEM};

		if (!begin_elements(&all))
			return false;
		end(kernel, all.message); /* without a list: all of them */
	}
	return true;
}

/* True if it is written; nothing behind the mark: there is no difference. */
static bool
put_all(struct kernel *kernel, const struct bans *bans)
{
	static const struct spans none;
	bool is_done = kernel->is_set || empty_sets(kernel);

	for (unsigned i = 0; i < FAMILIES && is_done; i++) {
		const struct spans *held = kernel->is_set ? &kernel->held[i] : &none;

		is_done = put_difference(kernel, i, NFT_MSG_DELSETELEM, held, &bans->of[i],
		                         bans->now_ns) &&
		          put_difference(kernel, i, NFT_MSG_NEWSETELEM, &bans->of[i], held,
		                         bans->now_ns);
	}
	return is_done;
}

static int
hold(struct kernel *kernel, const struct bans *bans)
{
	for (int i = 0; i < FAMILIES; i++) {
		const struct spans *now = &bans->of[i];
		struct spans *held = &kernel->held[i];

		if (now->count > held->room) {
			struct span *items = reallocarray(held->items, now->count, sizeof(*items));

			if (!items)
				return -ENOMEM;
			*held = (struct spans){items, 0, now->count};
		}
		if (now->count > 0)
			memcpy(held->items, now->items, now->count * sizeof(*now->items));
		held->count = now->count;
	}
	return 0;
}

int
kernel_put(struct kernel *kernel, const struct bans *bans)
{
	int error = kernel->is_set ? 0 : make_table(kernel);
	size_t empty;

	if (error == 0 && !kernel->is_set)
		error = read_generation(kernel, &kernel->generation);
	kernel->length = 0;
	if (error == 0 && !mark(kernel, NFNL_MSG_BATCH_BEGIN))
		error = -ENOMEM;
	empty = kernel->length;
	if (error == 0 && !put_all(kernel, bans))
		error = -ENOMEM;
	if (error == 0 && kernel->length > empty)
		error = transact(kernel);
	if (error == 0)
		error = hold(kernel, bans);
	if (error != -ERESTART)
		kernel->is_set = error == 0;
	return error;
}

int
kernel_remove(void)
{
	return run_nft("add table inet " TABLE "\ndelete table inet " TABLE "\n");
}

int
kernel_open(struct kernel *kernel, bool has_rules)
{
	int bytes = SEND_BUFFER;

	*kernel = (struct kernel){.has_rules = has_rules};
	kernel->socket = mnl_socket_open(NETLINK_NETFILTER);
	if (!kernel->socket || mnl_socket_bind(kernel->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	/* Without the right to do so, nothing else will do either, and says so. */
	setsockopt(mnl_socket_get_fd(kernel->socket), SOL_SOCKET, SO_SNDBUFFORCE, &bytes,
	           sizeof(bytes));
	return 0;
}

void
kernel_close(struct kernel *kernel)
{
	if (kernel->socket)
		mnl_socket_close(kernel->socket);
	for (int i = 0; i < FAMILIES; i++)
		free(kernel->held[i].items);
	free(kernel->batch);
}
