/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of a segment, as a table. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "lrl.h"

/* The value at the top. Lua has no octal numbers: digits of 660 are octal, as those of "0660". */
static void
read_option(lua_State *L, const char *name, size_t len, struct rl_options *o)
{
	char why[RLB_TEXT_SIZE];
	struct rlb_value v;
	int error;

	if (strcmp(name, "mode") == 0)
		luaL_checkstring(L, -1);
	v = lrl_value(L, -1);
	error = rlb_option_set(o, name, len, &v, why);
	if (error < 0)
		luaL_error(L, "option %s", why);
	if (error > 0)
		fprintf(stderr, "rl: warning: option %s\n", why);
}

int
lrl_options_read(lua_State *L, int at, struct rl_options *options)
{
	const char *name;
	int is_lazy = 0;
	size_t len;

	*options = rlb_options;
	if (lua_isnoneornil(L, at))
		return 0;
	luaL_checktype(L, at, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "options of a segment have names");
		name = lua_tolstring(L, -2, &len);
		if (strcmp(name, "lazy") == 0)
			is_lazy = lua_toboolean(L, -1);
		else
			read_option(L, name, len, options);
	}
	return is_lazy;
}
