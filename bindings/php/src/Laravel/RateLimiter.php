<?php

/* SPDX-License-Identifier: BSD-2-Clause */

declare(strict_types=1);

namespace Rl\Laravel;

use Closure;
use Illuminate\Cache\RateLimiter as Base;
use Rl\Counters;
use Rl\Segment;

/**
 * Laravel's RateLimiter on counters that all processes of the host share. In a service provider:
 *
 *     $this->app->singleton(\Illuminate\Cache\RateLimiter::class, fn () => new \Rl\Laravel\RateLimiter('web'));
 *
 * A hit is one step: no hit is lost, and attempt() admits exactly its maximum, however many processes ask. A caller
 * that asks tooManyAttempts() and then calls hit(), as the middleware of Laravel does, leaves room between the two.
 */
class RateLimiter extends Base
{
    private readonly Counters $counters;

    /** @param ?Closure $clock returns nanoseconds since 1970, for tests with a time of their own */
    public function __construct(Segment|string $segment = 'default', string $space = 'laravel', private readonly ?Closure $clock = null)
    {
        $segment = \is_string($segment) ? new Segment($segment) : $segment;
        $this->counters = $segment->counters($space);
    }

    public function hit($key, $decaySeconds = 60)
    {
        return $this->increment($key, $decaySeconds);
    }

    public function increment($key, $decaySeconds = 60, $amount = 1)
    {
        return $this->counters->add($this->keyOf($key), $amount, self::seconds($decaySeconds), $this->now())['value'];
    }

    public function decrement($key, $decaySeconds = 60, $amount = 1)
    {
        return $this->increment($key, $decaySeconds, -$amount);
    }

    public function attempt($key, $maxAttempts, Closure $callback, $decaySeconds = 60)
    {
        if ($this->tooManyAttempts($key, $maxAttempts)) {
            return false;
        }
        if ($this->increment($key, $decaySeconds) > $maxAttempts) {
            $this->decrement($key, $decaySeconds);

            return false;
        }
        try {
            return $callback() ?? true;
        } catch (\Throwable $e) {
            $this->decrement($key, $decaySeconds);
            throw $e;
        }
    }

    public function tooManyAttempts($key, $maxAttempts)
    {
        return $this->attempts($key) >= $maxAttempts;
    }

    public function attempts($key)
    {
        return $this->get($key)['value'];
    }

    public function resetAttempts($key)
    {
        return $this->counters->drop($this->keyOf($key), $this->now());
    }

    public function remaining($key, $maxAttempts)
    {
        return max(0, $maxAttempts - $this->attempts($key));
    }

    public function clear($key)
    {
        $this->resetAttempts($key);
    }

    /** A counter's end is a whole millisecond, so up to one later than was asked for: that is no further second. */
    public function availableIn($key)
    {
        return (int) ceil(max(0, $this->get($key)['expires_after_ns'] - 1_000_000) / 1e9);
    }

    private function get($key): array
    {
        return $this->counters->get($this->keyOf($key), $this->now());
    }

    /** librl does not count an empty key, so it gets a name. */
    private function keyOf($key): string
    {
        $clean = $this->cleanRateLimiterKey($key);

        return $clean === '' ? '(empty)' : $clean;
    }

    private function now(): ?int
    {
        return $this->clock ? ($this->clock)() : null;
    }

    /** Laravel 10 and later also take an interval or a time. */
    private static function seconds(mixed $decay): float
    {
        if ($decay instanceof \DateInterval) {
            $decay = (new \DateTimeImmutable('@0'))->add($decay)->getTimestamp();
        } elseif ($decay instanceof \DateTimeInterface) {
            $decay = $decay->getTimestamp() - time();
        }

        return max(0.0, (float) $decay);
    }
}
