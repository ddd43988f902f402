<?php

/* SPDX-License-Identifier: BSD-2-Clause */

declare(strict_types=1);

namespace Rl\Laravel;

/**
 * A middleware of Laravel's jobs: of those with a key one runs at a time, or `atOnce`, over all workers of the host.
 *
 *     public function middleware() { return [new \Rl\Laravel\WithoutOverlapping($this->customer)]; }
 *
 * There is no lock that expires: who is killed has given back what it held. Jobs share a key if they share the rule.
 */
class WithoutOverlapping extends RateLimited
{
    public function __construct(
        string $key = 'all',
        int $atOnce = 1,
        string $rule = 'overlapping',
        string $segment = 'default',
        float $sleeps = 1.0,
        int $releaseAfter = 1,
    ) {
        parent::__construct($rule, ['algorithm' => 'in_flight', 'capacity' => $atOnce], $key, $segment, $sleeps, $releaseAfter);
    }
}
