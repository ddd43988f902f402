<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/* The factory where Symfony has an interface for it, which Debian's has not yet: the interface as 7.3 declares it. */

namespace Symfony\Component\RateLimiter {
    interface RateLimiterFactoryInterface
    {
        public function create(?string $key = null): LimiterInterface;
    }
}

namespace {
    use Rl\Segment;
    use Rl\Symfony\RateLimiterFactory;
    use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;

    require '/usr/share/php/Symfony/Component/RateLimiter/autoload.php';
    require __DIR__ . '/../src/autoload.php';

    /* What a service is given, which knows the interface alone. */
    function admitted(RateLimiterFactoryInterface $factory, ?string $key): array
    {
        return array_map(fn () => $factory->create($key)->consume()->isAccepted(), range(1, 4));
    }

    $config = ['id' => 'login', 'policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 hour'];
    $factory = new RateLimiterFactory($config, Segment::private(['keys' => 100])); // the first class that is loaded
    foreach (['alice', 'bob', null] as $key) {
        if (admitted($factory, $key) !== [true, true, true, false]) {
            exit("not three of four\n");
        }
    }
    echo "by its interface\n";
}
