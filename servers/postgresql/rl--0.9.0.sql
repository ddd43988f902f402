-- SPDX-License-Identifier: BSD-2-Clause
\echo Use "CREATE EXTENSION rl" to load this file. \quit

CREATE FUNCTION rl_check(rule text, key text, cost bigint DEFAULT 1) RETURNS boolean
	AS 'MODULE_PATHNAME', 'pg_rl_check' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rl_check(text, text, bigint) IS 'charge the cost, and tell whether there was room for it; ROLLBACK gives nothing back';

CREATE FUNCTION rl_enforce(rule text, key text, cost bigint DEFAULT 1) RETURNS void
	AS 'MODULE_PATHNAME', 'pg_rl_enforce' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rl_enforce(text, text, bigint) IS 'charge the cost, or raise SQLSTATE PT429';

CREATE FUNCTION rl_peek(rule text, key text, OUT allowed boolean, OUT reason text, OUT capacity bigint, OUT remaining bigint,
	OUT used bigint, OUT retry_after interval, OUT reset_after interval)
	AS 'MODULE_PATHNAME', 'pg_rl_peek' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rl_peek(text, text) IS 'what rl_check() would say of a cost of 1; charges nothing';

CREATE FUNCTION rl_hold(rule text, key text, units bigint DEFAULT 1, session boolean DEFAULT false) RETURNS boolean
	AS 'MODULE_PATHNAME', 'pg_rl_hold' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rl_hold(text, text, bigint, boolean) IS 'take units of a concurrency limit until the transaction or the session ends';

CREATE FUNCTION rl_release(rule text, key text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'pg_rl_release' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rl_release(text, text) IS 'give back what this session has held for itself last, under that rule and key';

CREATE FUNCTION rl_ban(key text, rule text DEFAULT NULL, span interval DEFAULT NULL, match text DEFAULT 'key') RETURNS void
	AS 'MODULE_PATHNAME', 'pg_rl_ban' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rl_ban(text, text, interval, text) IS 'deny a key, a prefix or a network, for a span or for ever, under a rule or all';

CREATE FUNCTION rl_exempt(key text, rule text DEFAULT NULL, span interval DEFAULT NULL, match text DEFAULT 'key') RETURNS void
	AS 'MODULE_PATHNAME', 'pg_rl_exempt' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rl_exempt(text, text, interval, text) IS 'exempt a key, a prefix or a network from limits';

CREATE FUNCTION rl_unban(key text, rule text DEFAULT NULL, match text DEFAULT 'key') RETURNS boolean
	AS 'MODULE_PATHNAME', 'pg_rl_unban' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rl_unban(text, text, text) IS 'lift a ban or an exemption, and tell whether there was one';

CREATE FUNCTION rl_reset(rule text, key text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'pg_rl_reset' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rl_reset(text, text) IS 'forget what a key has used';

REVOKE ALL ON FUNCTION rl_ban(text, text, interval, text), rl_exempt(text, text, interval, text),
	rl_unban(text, text, text), rl_reset(text, text) FROM PUBLIC;
