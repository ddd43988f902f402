<?php

/* SPDX-License-Identifier: BSD-2-Clause */

declare(strict_types=1);

namespace Rl\Symfony;

use Rl\Rule;
use Rl\Segment;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\Policy\NoLimiter;

/**
 * Makes limiters from the configuration of Symfony's RateLimiterFactory, all of them on one rule of a segment: each
 * decision is one step for all processes of the host, so that there is no storage and no lock.
 *
 *     new LimiterFactory(['id' => 'login', 'policy' => 'sliding_window', 'limit' => 5, 'interval' => '15 minutes'], 'web')
 */
class LimiterFactory
{
    private const ALGORITHMS = [
        'fixed_window' => 'anchored_window',
        'sliding_window' => 'sliding_window',
        'token_bucket' => 'token_bucket',
    ];
    private const FIELDS = ['id', 'policy', 'limit', 'interval', 'rate', 'granularity', 'hard', 'lock_factory', 'cache_pool', 'storage_service'];

    private readonly ?Rule $rule;
    private readonly array $config;

    /**
     * @param array{id: string, policy: string, limit?: int, interval?: string, rate?: array{interval: string, amount?: int}} $config
     */
    public function __construct(array $config, Segment|string $segment = 'default')
    {
        foreach (array_keys($config) as $field) {
            if (!\in_array($field, self::FIELDS, true)) {
                throw new \InvalidArgumentException("There is no option \"$field\".");
            }
        }
        $this->config = $config;
        $segment = \is_string($segment) ? new Segment($segment) : $segment;
        $this->rule = 'no_limit' === $this->needed('policy') ? null : $segment->rule($this->needed('id'), $this->limit());
    }

    public function create(?string $key = null): LimiterInterface
    {
        return $this->rule ? new Limiter($this->rule, (string) $key === '' ? 'all' : "key-$key", $this->config['policy']) : new NoLimiter();
    }

    private function needed(string $field): mixed
    {
        return $this->config[$field] ?? throw new \InvalidArgumentException("The option \"$field\" is missing.");
    }

    /** @return array<string, mixed> the fields of a rule */
    private function limit(): array
    {
        $policy = $this->config['policy'];
        $algorithm = self::ALGORITHMS[$policy]
            ?? throw new \LogicException("Limiter policy \"$policy\" does not exists, it must be either \"token_bucket\", \"sliding_window\", \"fixed_window\" or \"no_limit\".");
        $limit = $this->needed('limit');
        if ('token_bucket' === $policy) {
            $rate = $this->needed('rate');

            return ['algorithm' => $algorithm, 'capacity' => $rate['amount'] ?? 1, 'window' => self::seconds($rate['interval']), 'burst' => $limit];
        }

        return ['algorithm' => $algorithm, 'capacity' => $limit, 'window' => self::seconds($this->needed('interval'))]
            + array_intersect_key($this->config, ['granularity' => 1, 'hard' => 1]);
    }

    private static function seconds(string $interval): int
    {
        $start = \DateTimeImmutable::createFromFormat('U', '0');
        try {
            $end = @$start->modify('+' . $interval);
        } catch (\DateMalformedStringException) { // since PHP 8.3
            $end = false;
        }
        if (!$end || $end <= $start) {
            throw new \LogicException("Cannot parse interval \"$interval\", please use a valid unit as described on https://www.php.net/datetime.formats.relative.");
        }

        return $end->getTimestamp();
    }
}
