<?php

/**
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the extension rl has, for editors; and what its arginfo is made of (gen_stub.php of PHP).
 *
 * @generate-class-entries
 */

namespace Rl {
    /**
     * A duration or a time without an end, in nanoseconds.
     *
     * @var int
     * @cvalue ZEND_LONG_MAX
     */
    const NEVER_NS = UNKNOWN;
    /**
     * The version of the extension.
     *
     * @var string
     * @cvalue PHP_RL_VERSION
     */
    const VERSION = UNKNOWN;

    /** Remove the name of a segment. Processes that have it open find a new one within a second. */
    function unlink(string $name): void {}

    /** What stands for a key above 4096 bytes: "S256:" and its digest. Keys are replaced by themselves. */
    function key_digest(string $key): string {}

    /**
     * Read a text such as "5/min".
     *
     * @phpstan-return array{capacity: int, window_ns: int}
     */
    function rate(string $text): array {}

    /** What a segment answers that is an error. The code is its errno, getName() its name: "ENOSPC", "RL_EFOREIGN". */
    class Exception extends \RuntimeException
    {
        protected string $name = "";

        final public function getName(): string {}
    }

    /** Thrown by Rule::hold(): there is no unit left. */
    class Denied extends \RuntimeException
    {
        public readonly Result $result;
    }

    /**
     * A segment. It is opened once in a process and stays open over requests: the second `new Segment("web")` is as
     * cheap as an object.
     */
    final class Segment
    {
        /**
         * Open, and create if it is not there.
         *
         * @phpstan-param array<string, mixed> $options keys, ring, key_bytes, rules, overrides, bans, holders, on_full,
         *     cells, reserves, events, changes, buffer, mode, group, readonly, existing, at_least, any_owner, huge_pages, populate: as rl_open(3) has them;
         *     on_error: "throw" (the default), "allow" or "deny" what cannot be decided
         */
        public function __construct(?string $name = null, array $options = []) {}

        /** A segment of this object alone, for tests. */
        public static function private(array $options = []): Segment {}

        /**
         * The rule of that name: defined by a rate ("5/min") or by fields as in rl.json(5), or, with null, as
         * somebody else has defined or configured it. A definition is remembered by the process.
         *
         * @phpstan-param string|array<string, mixed>|null $limit
         */
        public function rule(string $name, string|array|null $limit = null, bool $keep = false): Rule {}

        /** The counters of that name, made if they are not there. */
        public function counters(string $name, bool $create = true): Counters {}

        /**
         * Ask several rules for one request: all allow it and all are charged, or nothing is.
         *
         * @phpstan-param list<array{0: Rule, 1: string, 2?: int, 3?: array<string, int>}> $items
         * @phpstan-return array{verdict: string, decided: int|null, results: list<Result>}
         */
        public function checkAll(array $items, ?int $now = null, bool $keep = false): array {}

        /**
         * Ask for many requests, each by itself.
         *
         * @phpstan-return list<Result>
         */
        public function checkMany(array $items, ?int $now = null): array {}

        /** Deny a key until a time (nanoseconds since 1970), or for so many seconds, or until unban(). match: "key", "prefix", "network". */
        public function ban(string $key, ?Rule $rule = null, string $match = "key", ?float $for = null, ?int $until = null): void {}

        /** Exempt a key from limits, as above. */
        public function allow(string $key, ?Rule $rule = null, string $match = "key", ?float $for = null, ?int $until = null): void {}

        /** End a ban or an exemption: whether there was one. */
        public function unban(string $key, ?Rule $rule = null, string $match = "key"): bool {}

        /** @phpstan-return list<array{rule: string|null, allow: bool, match: string, key: string|null, until_ns: int}> */
        public function bans(?int $now = null): array {}

        /**
         * Forget what keys have used: of a rule or of counters, or of all.
         *
         * @phpstan-return array{forgotten: int, unknown: int}
         */
        public function resetMatching(?string $key = null, Rule|Counters|null $rule = null, string $match = "key"): array {}

        /** Forget what applications have defined as that rule: whether one had. */
        public function forget(string $name): bool {}

        /** Look now whether the name has another segment, in place of within a second: whether it has, and is open. */
        public function look(): bool {}

        /** Nanoseconds since 1970 on the segment's clock. */
        public function nowNs(): int {}

        /** Give back what this process has prefetched. */
        public function giveBack(): int {}

        public function info(): array {}

        /** @phpstan-return list<string> */
        public function ruleNames(): array {}

        /** Close it in this process. The next `new Segment()` of its name opens it again. */
        public function close(): void {}
    }

    /** @not-serializable */
    final class Rule
    {
        private function __construct() {}

        /** Whether a request may pass; it is charged if so. */
        public function allows(string $key, int $cost = 1): bool {}

        /** Ask. With $keep, the result can give back what was charged, and what is in flight is held as long as it lives. */
        public function check(string $key, int $cost = 1, ?int $capacity = null, ?int $burst = null, ?int $undelayed = null, ?int $now = null, bool $keep = false): Result {}

        /** What check() would answer to a request of cost 1. */
        public function peek(string $key, ?int $now = null): Result {}

        /** Book tokens ahead: the result's delay is how long to wait. $maxWait in seconds, null: however long. */
        public function reserve(string $key, int $cost = 1, ?float $maxWait = null, ?int $capacity = null, ?int $burst = null, ?int $undelayed = null, ?int $now = null): Result {}

        /**
         * Ask, and get the answer of each limit.
         *
         * @phpstan-return array{result: Result, limits: list<Result>}
         */
        public function checkLimits(string $key, int $cost = 1, ?int $now = null): array {}

        /** Take units of an in_flight limit, call, and give them back. A Generator is refused: iterate it inside. */
        public function hold(string $key, callable $do, int $units = 1): mixed {}

        /** Charge an estimate, and call with the result, which is to be settled; what is not stays. A Generator is refused. */
        public function spend(string $key, int $estimate, callable $do): mixed {}

        /** Give back by the key. The most that a limit took back. */
        public function refund(string $key, int $cost = 1, ?int $capacity = null, ?int $now = null): int {}

        /** Forget what the key has used: whether there was anything. */
        public function reset(string $key): bool {}

        /** @phpstan-return list<array<string, mixed>> the limits in force */
        public function limits(): array {}

        /** @phpstan-return array<string, int> what the rule has counted, over all processes */
        public function stats(): array {}

        public function name(): string {}
    }

    /** @not-serializable */
    final class Result
    {
        private function __construct() {}

        /** "allowed", "denied", "never", "undecided" */
        public function verdict(): string {}

        public function isAllowed(): bool {}

        public function isDenied(): bool {}

        /** As Rule::allows(): what cannot be decided goes by the segment's on_error. */
        public function passes(): bool {}

        public function isShadowDenied(): bool {}

        /** "limit", "ban", "exemption", "reserve", "share" */
        public function reason(): string {}

        /** null, or the name of the error: "ENOSPC" */
        public function error(): ?string {}

        public function index(): int {}

        public function limit(): int {}

        public function remaining(): int {}

        public function used(): int {}

        /** Seconds; INF is never. */
        public function retryAfter(): float {}

        public function retryAfterNs(): int {}

        public function resetAfter(): float {}

        public function resetAfterNs(): int {}

        public function delay(): float {}

        public function delayNs(): int {}

        public function window(): float {}

        public function windowNs(): int {}

        /** @phpstan-return array<string, string> the fields of an HTTP answer; $unix: X-RateLimit-Reset is Unix time */
        public function headers(bool $unix = false, string $set = "ietf"): array {}

        /** the body of a refusal with that status: application/problem+json, as RFC 9457 has it */
        public function problem(int $status): string {}

        /** Give back what was charged: whether it was. Without $holds units in flight stay, for release(). */
        public function refund(?int $now = null, bool $holds = true): bool {}

        /** Say what the request has cost, once: whether something that counts has changed. */
        public function settle(int $actual, ?int $now = null): bool {}

        /** Give back units in flight: whether there were any. */
        public function release(): bool {}
    }

    /**
     * Counters by key. A call answers done, value, expires_after_ns, is_new; lifetimes are seconds, null is without an end.
     *
     * @not-serializable
     */
    final class Counters
    {
        private function __construct() {}

        /** @phpstan-return array{done: bool, value: int, expires_after_ns: int, is_new: bool} */
        public function add(string $key, int $amount = 1, ?float $lifetime = null, ?int $now = null): array {}

        /** @phpstan-return array{done: bool, value: int, expires_after_ns: int, is_new: bool} */
        public function get(string $key, ?int $now = null): array {}

        /** @phpstan-return array{done: bool, value: int, expires_after_ns: int, is_new: bool} */
        public function set(string $key, int $value, ?float $lifetime = null, ?int $now = null): array {}

        /** @phpstan-return array{done: bool, value: int, expires_after_ns: int, is_new: bool} */
        public function setNew(string $key, int $value, ?float $lifetime = null, ?int $now = null): array {}

        /** @phpstan-return array{done: bool, value: int, expires_after_ns: int, is_new: bool} */
        public function touch(string $key, ?float $lifetime, ?int $now = null): array {}

        public function drop(string $key, ?int $now = null): bool {}

        public function reset(string $key): bool {}

        public function name(): string {}
    }

    /**
     * Finds the client behind proxies.
     *
     * @not-serializable
     */
    final class Proxies
    {
        /**
         * @phpstan-param list<string> $networks "10.0.0.0/8", an address, "unix:"
         * The field is "x-forwarded-for" or "forwarded".
         */
        public function __construct(array $networks = [], string $field = "x-forwarded-for", int $prefixV4 = 0, int $prefixV6 = 0) {}

        /**
         * @phpstan-param string|list<string>|null $lines of the field
         * @phpstan-return array{address: string, end: string, hops: int}
         */
        public function find(string $peer, string|array|null $lines = null): array {}
    }
}
