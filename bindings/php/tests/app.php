<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/* What the servers' workers run: each request is one of these, and is told its worker and how often it has the segment mapped. */

require '/usr/share/php/Symfony/Component/RateLimiter/autoload.php';
require '/usr/share/php/Illuminate/Cache/autoload.php';
require getenv('RL_SRC') . '/autoload.php';

$name = getenv('RL_SEGMENT');
$web = new Rl\Segment($name, ['keys' => 1000]);
$do = $_GET['do'] ?? '';
if (preg_match('/\A(wrong|right|killed|fatal|thrown|server|v56)\z/', $do)) {
    $limit = ['trusted' => ['127.0.0.1']] + ($do === 'v56' ? ['clientV6' => 56] : ['countStatus' => ['401', 503]]);
    Rl\Http\Limit::request($web->rule('login', '5/day'), ...$limit);
    $web->counters('reached')->add($do, 1, 3600);
    if ($do === 'killed') {
        exec('kill -9 ' . getmypid());
    }
    if ($do === 'wrong') {
        usleep(50000); // others come meanwhile
    }
    http_response_code(['wrong' => 401, 'server' => 503][$do] ?? 200);
    match ($do) {
        'fatal' => eval('function twice() {} function twice() {}'),
        'thrown' => throw new LogicException('thrown'),
        default => null,
    };
    exit;
}
if (str_starts_with($do, 'pay-')) {
    $spent = null;
    $tokens = $web->rule('tokens', '3000/day');
    $parts = $web->rule('parts', '100000000/day');
    $result = match ($do) {
        'pay-sent', 'pay-sending' => Rl\Http\Limit::request($tokens, 'one', 40),
        'pay-within' => $tokens->spend('one', 40, fn (Rl\Result $within) => $within->settle(15)),
        default => Rl\Http\Limit::request($tokens, 'one', 40, actual: function () use (&$spent) {
            return $spent;
        }),
    };
    match ($do) {
        'pay-more' => $spent = 100,
        'pay-fatal' => eval('function twice() {} function twice() {}'),
        'pay-killed' => exec('kill -9 ' . getmypid()),
        default => null,
    };
    $sending = $web->rule('sending', ['algorithm' => 'in_flight', 'capacity' => 9])->check('all', keep: true); // to the script's end
    while ($do === 'pay-endless') { // until the client is gone
        $parts->allows('all');
        $spent++;
        echo str_repeat('.', 65536);
        flush();
    }
    $chunks = static function () use ($do, $parts): Generator {
        for ($i = 0; $i < ($do === 'pay-sending' ? INF : 15); $i++) {
            $parts->allows('all');
            yield str_repeat('.', 65536);
        }
    };
    if ($do === 'pay-sent' || $do === 'pay-sending') {
        foreach (new Rl\Http\Stream($result, $chunks(), fn (string $chunk) => intdiv(strlen($chunk), 65536)) as $chunk) {
            echo $chunk;
            flush();
        }
    }
    exit;
}
$ok = match ($do) {
    'native' => $web->rule('native', ['algorithm' => 'anchored_window', 'capacity' => 50, 'window' => 'never'])->allows('one'),
    'symfony' => (new Rl\Symfony\LimiterFactory(['id' => 'symfony', 'policy' => 'fixed_window', 'limit' => 50, 'interval' => '100 days'], $web))
        ->create('one')->consume()->isAccepted(),
    'laravel' => (new Rl\Laravel\RateLimiter($web))->attempt('one', 50, fn () => true, 86400 * 100),
    'hold' => $web->rule('jobs', ['algorithm' => 'in_flight', 'capacity' => 1])->hold('one', function () {
        header('X-Holds: 1');
        exit; // in the middle: the next request is to find it free
    }),
    'hang' => $web->rule('jobs', ['algorithm' => 'in_flight', 'capacity' => 1])->hold('one', function () {
        touch(getenv('RL_DIR') . '/holding-' . getmypid());
        sleep(600); // until it is killed
    }),
    'free' => $web->rule('jobs', ['algorithm' => 'in_flight', 'capacity' => 1])->check('one', keep: true)->isAllowed(),
    default => true,
};
http_response_code($ok ? 200 : 429);
header('X-Worker: ' . getmypid());
header('X-Maps: ' . substr_count(file_get_contents('/proc/self/maps'), $name));
