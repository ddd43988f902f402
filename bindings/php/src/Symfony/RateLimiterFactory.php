<?php

/* SPDX-License-Identifier: BSD-2-Clause */

declare(strict_types=1);

namespace Rl\Symfony;

use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;

/* Symfony 7.3 has an interface for what makes limiters. Before it there is no such class. */
if (interface_exists(RateLimiterFactoryInterface::class)) {
    final class RateLimiterFactory extends LimiterFactory implements RateLimiterFactoryInterface
    {
    }
}
