<?php

/* SPDX-License-Identifier: BSD-2-Clause */

declare(strict_types=1);

namespace Rl\Laravel;

use Closure;
use Rl\Result;
use Rl\Rule;
use Rl\Segment;

/**
 * A middleware of Laravel's jobs: all workers of the host together keep a rate.
 *
 *     public function middleware() { return [new \Rl\Laravel\RateLimited('weather', '20/s')]; }
 *
 * A job that has its turn within `sleeps` seconds waits in its worker; others are released for later, which Laravel counts
 * as an attempt: give such jobs a retryUntil(), and no $tries. A rate of which no algorithm is said is a token_bucket with
 * a burst of 1: turns that are evenly apart.
 */
class RateLimited
{
    private const POLL = 0.02; // seconds until a unit in flight is asked for again

    /**
     * @param string|array|null $limit defines the rule, as Segment::rule(); null: it is configured, or another program's
     * @param string|Closure $key whom the job counts for; is called with the job
     */
    public function __construct(
        private readonly string $rule,
        private string|array|null $limit = null,
        private readonly string|Closure $key = 'all',
        private readonly string $segment = 'default',
        private readonly float $sleeps = 1.0,
        private readonly ?int $releaseAfter = null,
    ) {
        if (\is_string($limit)) {
            $this->limit = ['limit' => $limit, 'algorithm' => 'token_bucket', 'burst' => 1];
        }
    }

    public function handle($job, $next)
    {
        $rule = (new Segment($this->segment))->rule($this->rule, $this->limit);
        $key = \is_string($this->key) ? $this->key : (string) ($this->key)($job);
        $until = hrtime(true) + (int) ($this->sleeps * 1e9);
        while (!($result = $this->ask($rule, $key))->passes()) {
            if ($result->verdict() === 'never' || $result->retryAfter() === INF) {
                return $job->fail(new \RuntimeException("rule $this->rule never lets it through: {$result->verdict()}"));
            }
            $wait = $result->retryAfter() ?: self::POLL;
            if (hrtime(true) + $wait * 1e9 > $until) {
                return $job->release($this->releaseAfter ?? (int) ceil($wait));
            }
            usleep((int) ceil($wait * 1e6));
        }
        usleep((int) ceil($result->delay() * 1e6));
        try {
            return $next($job);
        } finally {
            $result->release();
        }
    }

    /** A bucket books a turn; what is in flight is held with the result. */
    private function ask(Rule $rule, string $key): Result
    {
        foreach ($rule->limits() as $limit) {
            if (!\in_array($limit['algorithm'], ['token_bucket', 'leaky_bucket'], true)) {
                return $rule->check($key, keep: true);
            }
        }

        return $rule->reserve($key, maxWait: $this->sleeps);
    }
}
