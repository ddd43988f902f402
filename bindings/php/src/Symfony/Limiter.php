<?php

/* SPDX-License-Identifier: BSD-2-Clause */

declare(strict_types=1);

namespace Rl\Symfony;

use Rl\Result;
use Rl\Rule;
use Symfony\Component\RateLimiter\Exception\MaxWaitDurationExceededException;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\Policy\SlidingWindow;
use Symfony\Component\RateLimiter\RateLimit;
use Symfony\Component\RateLimiter\Reservation;

/**
 * Symfony's LimiterInterface on a rule. A request that cannot be decided throws Rl\Exception, or goes by the
 * `on_error` that the segment was opened with.
 */
final class Limiter implements LimiterInterface
{
    public function __construct(private readonly Rule $rule, private readonly string $key, private readonly string $policy = 'sliding_window')
    {
    }

    public function consume(int $tokens = 1): RateLimit
    {
        $result = $this->rule->check($this->key, $tokens);
        if ('never' === $result->verdict() && $this->canReserve()) {
            throw $this->tooMany($tokens, $result);
        }

        $isLook = 0 === $tokens && 'denied' === $result->verdict() && 'limit' === $result->reason();

        return $isLook || $result->passes() ? $this->accepted($result) : self::rateLimit($result, false, microtime(true) + self::finite($result->retryAfter()));
    }

    /** From when there is another token: now, unless this was the last one. Whole seconds, as of Symfony's own. */
    private function accepted(Result $result): RateLimit
    {
        $wait = 0 === $result->remaining() && $result->limit() > 0 ? self::finite($this->rule->peek($this->key)->retryAfter()) : 0.0;

        return self::rateLimit($result, true, floor(microtime(true) + $wait));
    }

    /** Of a token bucket, tokens are booked ahead; a window has them now, or not at all. */
    public function reserve(int $tokens = 1, ?float $maxTime = null): Reservation
    {
        if (!$this->canReserve()) {
            throw new ReserveNotSupportedException(self::class);
        }
        $isBucket = 'token_bucket' === $this->policy;
        $result = $isBucket ? $this->rule->reserve($this->key, $tokens, $maxTime) : $this->rule->check($this->key, $tokens);
        if ('never' === $result->verdict()) {
            throw $this->tooMany($tokens, $result);
        }
        $now = microtime(true);
        if ($result->passes()) {
            $time = $now + $result->delay();

            return new Reservation($time, 0.0 === $result->delay() ? $this->accepted($result) : self::rateLimit($result, false, $time));
        }
        $wait = $result->retryAfter() + ($isBucket ? (float) $maxTime : 0);
        if (null === $maxTime && !$isBucket) {
            throw new ReserveNotSupportedException(self::class);
        }
        throw new MaxWaitDurationExceededException(
            sprintf('The rate limiter wait time ("%d" seconds) is longer than the provided maximum time ("%d" seconds).', (int) ceil($wait), (int) $maxTime),
            self::rateLimit($result, false, $now + $wait),
        );
    }

    public function reset(): void
    {
        $this->rule->reset($this->key);
    }

    /** Before Symfony 6.4 its sliding windows could not, and said no to what is more than there ever is. */
    private function canReserve(): bool
    {
        return 'sliding_window' !== $this->policy || method_exists(SlidingWindow::class, 'calculateTimeForTokens');
    }

    private static function rateLimit(Result $result, bool $accepted, float $time): RateLimit
    {
        $at = \DateTimeImmutable::createFromFormat('U.u', sprintf('%.6F', $time));

        return new RateLimit($result->remaining(), $at, $accepted, $result->limit());
    }

    private static function finite(float $seconds): float
    {
        return is_finite($seconds) ? $seconds : 0.0;
    }

    private function tooMany(int $tokens, Result $result): \InvalidArgumentException
    {
        $what = 'token_bucket' === $this->policy ? 'burst size' : 'size';

        return new \InvalidArgumentException(sprintf("Cannot reserve more tokens (%d) than the $what of the rate limiter (%d).", $tokens, $result->limit()));
    }
}
