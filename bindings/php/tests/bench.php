<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a call costs: beside rl_check() in C; and the limiters of Symfony and Laravel on rl beside the same on APCu, all in
 * one run. Each number is the median of nine rounds, which take turns.
 */

require '/usr/share/php/Symfony/Component/RateLimiter/autoload.php';
require '/usr/share/php/Symfony/Component/Cache/autoload.php';
require '/usr/share/php/Illuminate/Cache/autoload.php';
require __DIR__ . '/../src/autoload.php';

use Illuminate\Cache\ApcStore;
use Illuminate\Cache\ApcWrapper;
use Illuminate\Cache\RateLimiter as LaravelsOwn;
use Illuminate\Cache\Repository;
use Symfony\Component\Cache\Adapter\ApcuAdapter;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;

const ROUNDS = 9;
const KEY = '203.0.113.7';

function timed(int $calls, callable $call): float
{
    $start = hrtime(true);
    for ($i = 0; $i < $calls; $i++) {
        $call();
    }

    return (hrtime(true) - $start) / $calls;
}

function median(array $numbers): float
{
    sort($numbers);

    return $numbers[intdiv(count($numbers), 2)];
}

/* Nanoseconds of each, without those of the loop and of an empty call. */
function measure(int $calls, array $what): array
{
    $rounds = [];
    for ($r = 0; $r < ROUNDS; $r++) {
        $empty = timed($calls, static fn () => null);
        foreach ($what as $name => $call) {
            $rounds[$name][] = timed($calls, $call) - $empty;
        }
    }

    return array_map(median(...), $rounds);
}

function table(string $title, array $numbers, string $base): void
{
    echo "\n$title\n\n| | ns | x |\n|---|--:|--:|\n";
    foreach ($numbers as $name => $ns) {
        printf("| %s | %.0f | %.2f |\n", $name, $ns, $ns / $numbers[$base]);
    }
}

$name = 'php-bench-' . getmypid();
$web = new Rl\Segment($name, ['keys' => 1000]);
$rule = $web->rule('bench', ['algorithm' => 'sliding_window', 'capacity' => (1 << 28) - 1, 'window' => '1d', 'granularity' => 1]);
$full = $web->rule('full', ['algorithm' => 'sliding_window', 'capacity' => 1, 'window' => '1d', 'granularity' => 1]);
$counters = $web->counters('counters');
$full->allows(KEY);

$before = (float) shell_exec(getenv('RL_CHECK_NS') . " $name");
$calls = measure(200000, [
    'allows' => static fn () => $rule->allows(KEY),
    'check' => static fn () => $rule->check(KEY),
    'allows, denied' => static fn () => $full->allows(KEY),
    'counters->add' => static fn () => $counters->add(KEY, 1, 60.0),
    'new Rl\Segment, rule, allows' => static fn () => (new Rl\Segment($name))->rule('login', '5/min')->allows(KEY),
    'apcu_inc' => static fn () => apcu_inc('bench', 1, $ok, 60),
]);
$after = (float) shell_exec(getenv('RL_CHECK_NS') . " $name");
$c = ($before + $after) / 2;
table("A call, beside rl_check() with its own clock ($before and $after ns, before and after)", ['rl_check() in C' => $c] + $calls, 'rl_check() in C');

$limit = 1 << 27;
$symfony = [];
foreach (['fixed_window', 'sliding_window'] as $policy) {
    $config = ['id' => "s-$policy", 'policy' => $policy, 'limit' => $limit, 'interval' => '1 hour'];
    $symfony["$policy, rl"] = (new Rl\Symfony\LimiterFactory($config, $name))->create(KEY);
    $symfony["$policy, APCu (without a lock)"] = (new RateLimiterFactory($config, new CacheStorage(new ApcuAdapter())))->create(KEY);
    $symfony["$policy, memory of one request"] = (new RateLimiterFactory($config, new InMemoryStorage()))->create(KEY);
}
$consume = measure(5000, array_map(static fn ($limiter) => static fn () => $limiter->consume(), $symfony));
table('Symfony: consume()', $consume, 'fixed_window, rl');

$laravel = ['rl' => new Rl\Laravel\RateLimiter($name), 'APCu' => new LaravelsOwn(new Repository(new ApcStore(new ApcWrapper())))];
$hit = measure(2000, array_map(static fn ($limiter) => static fn () => $limiter->tooManyAttempts(KEY, $limit) || $limiter->hit(KEY, 3600), $laravel));
table('Laravel: tooManyAttempts() and hit()', $hit, 'rl');
Rl\unlink($name);

$slower = array_filter([
    'Symfony fixed_window' => $consume['fixed_window, rl'] > $consume['fixed_window, APCu (without a lock)'],
    'Symfony sliding_window' => $consume['sliding_window, rl'] > $consume['sliding_window, APCu (without a lock)'],
    'Laravel' => $hit['rl'] > $hit['APCu'],
]);
foreach ($slower as $what => $is) {
    echo "slower than APCu: $what\n";
}
exit($slower ? 1 : 0);
