<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stands for the extension where it is not loaded, so that a program can be installed and loaded where it is written. The
 * first segment says what to do. Off Linux, with RL_OFF=1, it opens nothing, allows everything and counts nothing, after one
 * warning.
 */

declare(strict_types=1);

namespace Rl;

const NEVER_NS = PHP_INT_MAX;
const VERSION = 'off';

function unlink(string $name): void {}

function key_digest(string $key): string
{
    Off::refuse();
}

function rate(string $text): array
{
    Off::refuse();
}

class Exception extends \RuntimeException
{
    protected string $name = '';

    final public function getName(): string
    {
        return $this->name;
    }

    /** @internal */
    public static function of(string $what): self
    {
        $error = new self($what, 38);
        $error->name = 'ENOSYS';
        return $error;
    }
}

class Denied extends \RuntimeException
{
    public readonly Result $result;
}

/** @internal Whether the program may go on without limits. */
final class Off
{
    private static bool $isWarned = false;

    public static function refuse(): never
    {
        throw Exception::of(
            self::system() === 'Linux'
                ? 'rl: the extension rl is not loaded. Remedy: apt install php-rl, or extension=rl in php.ini'
                : 'rl: its counters are in the shared memory of Linux, and this is ' . self::system() .
                    '. Remedy: run it in a container, or set RL_OFF=1 to allow everything here',
        );
    }

    public static function look(): void
    {
        if (self::system() === 'Linux' || \getenv('RL_OFF') !== '1') {
            self::refuse();
        }
        if (!self::$isWarned) {
            \trigger_error('rl: RL_OFF=1: nothing is limited', \E_USER_WARNING);
        }
        self::$isWarned = true;
    }

    private static function system(): string
    {
        return \defined('Rl\TEST_OS') ? \constant('Rl\TEST_OS') : \PHP_OS_FAMILY;
    }
}

final class Segment
{
    public function __construct(?string $name = null, array $options = [])
    {
        Off::look();
    }

    public static function private(array $options = []): Segment
    {
        return new self();
    }

    public function rule(string $name, string|array|null $limit = null, bool $keep = false): Rule
    {
        return Rule::of($name);
    }

    public function counters(string $name, bool $create = true): Counters
    {
        return Counters::of($name);
    }

    public function checkAll(array $items, ?int $now = null, bool $keep = false): array
    {
        return ['verdict' => 'allowed', 'decided' => null, 'results' => $this->checkMany($items)];
    }

    public function checkMany(array $items, ?int $now = null): array
    {
        return \array_map(Result::of(...), $items);
    }

    public function ban(string $key, ?Rule $rule = null, string $match = 'key', ?float $for = null, ?int $until = null): void {}

    public function allow(string $key, ?Rule $rule = null, string $match = 'key', ?float $for = null, ?int $until = null): void {}

    public function unban(string $key, ?Rule $rule = null, string $match = 'key'): bool
    {
        return false;
    }

    public function bans(?int $now = null): array
    {
        return [];
    }

    public function resetMatching(?string $key = null, Rule|Counters|null $rule = null, string $match = 'key'): array
    {
        return ['forgotten' => 0, 'unknown' => 0];
    }

    public function forget(string $name): bool
    {
        return false;
    }

    public function look(): bool
    {
        return false;
    }

    public function nowNs(): int
    {
        return (int) (\microtime(true) * 1e6) * 1000;
    }

    public function giveBack(): int
    {
        return 0;
    }

    public function info(): array
    {
        return [];
    }

    public function ruleNames(): array
    {
        return [];
    }

    public function close(): void {}
}

final class Rule
{
    private function __construct(private string $called = '') {}

    /** @internal */
    public static function of(string $name): self
    {
        return new self($name);
    }

    public function allows(string $key, int $cost = 1): bool
    {
        return true;
    }

    public function check(string $key, int $cost = 1, ?int $capacity = null, ?int $burst = null, ?int $undelayed = null, ?int $now = null, bool $keep = false): Result
    {
        return Result::of();
    }

    public function peek(string $key, ?int $now = null): Result
    {
        return Result::of();
    }

    public function reserve(string $key, int $cost = 1, ?float $maxWait = null, ?int $capacity = null, ?int $burst = null, ?int $undelayed = null, ?int $now = null): Result
    {
        return Result::of();
    }

    public function checkLimits(string $key, int $cost = 1, ?int $now = null): array
    {
        return ['result' => Result::of(), 'limits' => []];
    }

    public function hold(string $key, callable $do, int $units = 1): mixed
    {
        return $do();
    }

    public function spend(string $key, int $estimate, callable $do): mixed
    {
        return $do(Result::of());
    }

    public function refund(string $key, int $cost = 1, ?int $capacity = null, ?int $now = null): int
    {
        return 0;
    }

    public function reset(string $key): bool
    {
        return false;
    }

    public function limits(): array
    {
        return [];
    }

    public function stats(): array
    {
        return [];
    }

    public function name(): string
    {
        return $this->called;
    }
}

/** Allowed, and nothing else is known. */
final class Result
{
    private function __construct() {}

    /** @internal */
    public static function of(): self
    {
        return new self();
    }

    public function verdict(): string
    {
        return 'allowed';
    }

    public function isAllowed(): bool
    {
        return true;
    }

    public function isDenied(): bool
    {
        return false;
    }

    public function passes(): bool
    {
        return true;
    }

    public function isShadowDenied(): bool
    {
        return false;
    }

    public function reason(): string
    {
        return 'exemption';
    }

    public function error(): ?string
    {
        return null;
    }

    public function index(): int
    {
        return 0;
    }

    public function limit(): int
    {
        return 0;
    }

    public function remaining(): int
    {
        return 0;
    }

    public function used(): int
    {
        return 0;
    }

    public function retryAfterNs(): int
    {
        return 0;
    }

    public function resetAfterNs(): int
    {
        return 0;
    }

    public function delayNs(): int
    {
        return 0;
    }

    public function windowNs(): int
    {
        return 0;
    }

    public function retryAfter(): float
    {
        return 0.0;
    }

    public function resetAfter(): float
    {
        return 0.0;
    }

    public function delay(): float
    {
        return 0.0;
    }

    public function window(): float
    {
        return 0.0;
    }

    public function headers(bool $unix = false, string $set = 'ietf'): array
    {
        return [];
    }

    public function problem(int $status): string
    {
        return '';
    }

    public function refund(?int $now = null, bool $holds = true): bool
    {
        return false;
    }

    public function settle(int $actual, ?int $now = null): bool
    {
        return false;
    }

    public function release(): bool
    {
        return false;
    }
}

/** Counters that count nothing. */
final class Counters
{
    private const NOTHING = ['done' => false, 'value' => 0, 'expires_after_ns' => 0, 'is_new' => false];

    private function __construct(private string $called = '') {}

    /** @internal */
    public static function of(string $name): self
    {
        return new self($name);
    }

    public function add(string $key, int $amount = 1, ?float $lifetime = null, ?int $now = null): array
    {
        return self::NOTHING;
    }

    public function get(string $key, ?int $now = null): array
    {
        return self::NOTHING;
    }

    public function set(string $key, int $value, ?float $lifetime = null, ?int $now = null): array
    {
        return self::NOTHING;
    }

    public function setNew(string $key, int $value, ?float $lifetime = null, ?int $now = null): array
    {
        return self::NOTHING;
    }

    public function touch(string $key, ?float $lifetime, ?int $now = null): array
    {
        return self::NOTHING;
    }

    public function drop(string $key, ?int $now = null): bool
    {
        return false;
    }

    public function reset(string $key): bool
    {
        return false;
    }

    public function name(): string
    {
        return $this->called;
    }
}

/** Whoever asks is the client. */
final class Proxies
{
    public function __construct(array $networks = [], string $field = 'x-forwarded-for', int $prefixV4 = 0, int $prefixV6 = 0) {}

    public function find(string $peer, string|array|null $lines = null): array
    {
        return ['address' => $peer, 'end' => 'found', 'hops' => 0];
    }
}
