<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/* Symfony's LimiterInterface and Laravel's RateLimiter on rl, beside the libraries' own where both say the same. */

require '/usr/share/php/Symfony/Component/RateLimiter/autoload.php';
require '/usr/share/php/Illuminate/Cache/autoload.php';
require '/usr/share/php/Illuminate/Routing/autoload.php';
require __DIR__ . '/../src/autoload.php';

use Illuminate\Cache\ArrayStore;
use Illuminate\Cache\RateLimiter as LaravelsOwn;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Cache\Repository;
use Illuminate\Http\Exceptions\ThrottleRequestsException;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Routing\Middleware\ThrottleRequests;
use Rl\Laravel\RateLimited;
use Rl\Laravel\RateLimiter;
use Rl\Laravel\WithoutOverlapping;
use Rl\Segment;
use Rl\Symfony\LimiterFactory;
use Symfony\Component\RateLimiter\CompoundLimiter;
use Symfony\Component\RateLimiter\Exception\MaxWaitDurationExceededException;
use Symfony\Component\RateLimiter\Exception\RateLimitExceededException;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\Policy\SlidingWindow;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;

error_reporting(E_ALL & ~E_DEPRECATED);
$failed = $count = 0;

function check(bool $ok, string $what): void
{
    global $failed, $count;
    $count++;
    if (!$ok) {
        $failed++;
        echo "not so: $what\n  ", debug_backtrace()[0]['file'], ':', debug_backtrace()[0]['line'], "\n";
    }
}

function thrown(callable $call): ?Throwable
{
    try {
        $call();
    } catch (Throwable $e) {
        return $e;
    }

    return null;
}

function segment(array $options = []): Segment
{
    return Segment::private(['keys' => 1000] + $options);
}

/* What a limiter of Symfony says to each of these requests. */
function answers(LimiterInterface $limiter, array $tokens): array
{
    return array_map(function (int $n) use ($limiter) {
        $limit = $limiter->consume($n);

        return [$limit->isAccepted(), $limit->getRemainingTokens(), $limit->getLimit()];
    }, $tokens);
}

$configs = [
    ['id' => 'f', 'policy' => 'fixed_window', 'limit' => 5, 'interval' => '1 hour'],
    ['id' => 's', 'policy' => 'sliding_window', 'limit' => 5, 'interval' => '60 minutes'],
    ['id' => 't', 'policy' => 'token_bucket', 'limit' => 5, 'rate' => ['interval' => '1 hour', 'amount' => 5]],
];
foreach ($configs as $config) {
    $ours = (new LimiterFactory($config, segment()))->create('alice');
    $theirs = (new RateLimiterFactory($config, new InMemoryStorage()))->create('alice');
    $requests = [1, 2, 1, 2, 1, 1, 1];
    check(answers($ours, $requests) === answers($theirs, $requests), "{$config['policy']} as Symfony's: " . json_encode(answers($ours, [1])));
    $refused = $ours->consume();
    $wait = $refused->getRetryAfter()->format('U.u') - microtime(true);
    check(!$refused->isAccepted() && $wait > 0 && $wait <= 3700, "{$config['policy']} retry after $wait");
    check(thrown(fn () => $refused->ensureAccepted()) instanceof RateLimitExceededException, 'ensureAccepted');
    $ours->reset();
    check($ours->consume(5)->isAccepted(), 'reset');
    if ($config['policy'] !== 'sliding_window' || method_exists(SlidingWindow::class, 'calculateTimeForTokens')) {
        check(thrown(fn () => $ours->consume(6)) instanceof InvalidArgumentException, 'more than there ever is');
        check(thrown(fn () => $theirs->consume(6)) instanceof InvalidArgumentException, 'theirs, too');
    } else {
        check(!$ours->consume(6)->isAccepted() && !$theirs->consume(6)->isAccepted(), 'more than there ever is');
        check(thrown(fn () => $ours->reserve()) instanceof ReserveNotSupportedException, 'reserve');
    }
}

/* When there is another token, as the component's own tests have it. */
foreach ($configs as $config) {
    $limiter = (new LimiterFactory($config, segment()))->create('alice');
    $second = fn (float $in) => DateTimeImmutable::createFromFormat('U', (string) floor(microtime(true) + $in));
    $looks = function (float $in) use ($limiter, $second): bool {
        [$from, $at] = [$second($in - 1), $limiter->consume(0)->getRetryAfter()];

        return $at >= $from && $at <= $second($in) && $at->format('u') === '000000';
    };
    $limiter->consume(4);
    check($limiter->consume(0)->isAccepted() && $limiter->consume(0)->getRemainingTokens() === 1 && $looks(0), "{$config['policy']}: a look, and now");
    $last = $limiter->consume();
    $wait = ['fixed_window' => 3600, 'sliding_window' => 3660, 'token_bucket' => 720][$config['policy']];
    check($last->isAccepted() && $last->getRetryAfter() > $second($wait - 62) && $last->getRetryAfter() <= $second($wait), "{$config['policy']}: after the last one");
    check($limiter->consume(0)->isAccepted() && $limiter->consume(0)->getRemainingTokens() === 0, "{$config['policy']}: a look at none");
    $what = $config['policy'] === 'token_bucket' ? 'burst size' : 'size';
    $e = thrown(fn () => $limiter->consume(15));
    check($config['policy'] === 'sliding_window' || $e->getMessage() === "Cannot reserve more tokens (15) than the $what of the rate limiter (5).", "{$config['policy']}: more than there are");
}
$limiter = (new LimiterFactory(['id' => 'q', 'policy' => 'token_bucket', 'limit' => 2, 'rate' => ['interval' => '1 second', 'amount' => 5]], segment()))->create('a');
do { // a machine that stands still meanwhile lets it through
    $limiter->consume(2);
    $refused = $limiter->consume();
} while ($refused->isAccepted());
$refused->wait();
check(!$refused->isAccepted() && $limiter->consume()->isAccepted(), 'who has waited is let through');

$segment = segment();
$factory = new LimiterFactory($configs[0], $segment);
check($factory->create('a')->consume(5)->isAccepted() && $factory->create('b')->consume(5)->isAccepted(), 'keys are apart');
check(!$factory->create('a')->consume()->isAccepted(), 'and the same for each who asks');
check($factory->create()->consume()->isAccepted() && $factory->create(null)->consume(4)->isAccepted() && !$factory->create('')->consume()->isAccepted(), 'no key is one key');
check($factory->create('all')->consume(5)->isAccepted(), 'a key of that name is another');
check(in_array('f', $segment->ruleNames(), true), 'the rule has the limiter\'s name');
check((new LimiterFactory(['id' => 'n', 'policy' => 'no_limit'], $segment))->create('a')->consume(1000)->isAccepted(), 'no limit');
check(interface_exists(\Symfony\Component\RateLimiter\RateLimiterFactoryInterface::class) === class_exists(\Rl\Symfony\RateLimiterFactory::class), 'with its interface alone');
check((new CompoundLimiter([$factory->create('c'), $factory->create('d')]))->consume()->isAccepted(), 'in a compound');

$bucket = (new LimiterFactory(['id' => 'r', 'policy' => 'token_bucket', 'limit' => 1, 'rate' => ['interval' => '1 hour']], $segment))->create('a');
$now = $bucket->reserve();
$later = $bucket->reserve(1, 7200);
check($now->getWaitDuration() < 1 && $now->getRateLimit()->isAccepted(), 'the first token');
check($later->getWaitDuration() > 3000 && $later->getWaitDuration() <= 3600 && !$later->getRateLimit()->isAccepted(), 'a token booked ahead');
$e = thrown(fn () => $bucket->reserve(1, 5));
check($e instanceof MaxWaitDurationExceededException && !$e->getRateLimit()->isAccepted(), 'longer than it may wait');
check(!$bucket->consume()->isAccepted(), 'what was booked counts');
$window = $factory->create('w');
check($window->reserve(5)->getWaitDuration() == 0, 'a window has it now');
check(thrown(fn () => $window->reserve(1, 5)) instanceof MaxWaitDurationExceededException, 'or too late');
check(thrown(fn () => $window->reserve()) instanceof ReserveNotSupportedException, 'or cannot tell');

foreach ([
    [['id' => 'x', 'policy' => 'magic', 'limit' => 1, 'interval' => '1 hour'], LogicException::class],
    [['id' => 'x', 'policy' => 'fixed_window', 'interval' => '1 hour'], InvalidArgumentException::class],
    [['id' => 'x', 'policy' => 'fixed_window', 'limit' => 1, 'interval' => 'soonish'], LogicException::class],
    [['id' => 'x', 'policy' => 'fixed_window', 'limit' => 0, 'interval' => '1 hour'], ValueError::class],
    [['policy' => 'fixed_window', 'limit' => 1, 'interval' => '1 hour'], InvalidArgumentException::class],
    [['id' => 'x', 'colour' => 1], InvalidArgumentException::class],
] as [$config, $class]) {
    check(thrown(fn () => new LimiterFactory($config, $segment)) instanceof $class, json_encode($config));
}
$readonly = 'php-adapters-' . getmypid();
new LimiterFactory($configs[0], $readonly);
$blind = new Rl\Symfony\Limiter((new Segment($readonly, ['readonly' => true]))->rule('f'), 'key-a');
check(thrown(fn () => $blind->consume()) instanceof Rl\Exception, 'what cannot be decided is told');
Rl\unlink($readonly);

/* Laravel: the same calls on both, in the same order. */
$clock = 1_800_000_000_000_000_000;
$ours = new RateLimiter(segment(), clock: function () use (&$clock) { return $clock; });
$theirs = new LaravelsOwn(new Repository(new ArrayStore()));
foreach ([
    fn ($l) => $l->tooManyAttempts('a', 2), fn ($l) => $l->hit('a', 60), fn ($l) => $l->hit('a', 60), fn ($l) => $l->attempts('a'),
    fn ($l) => $l->tooManyAttempts('a', 2), fn ($l) => $l->remaining('a', 5), fn ($l) => $l->retriesLeft('a', 5), fn ($l) => $l->availableIn('a'),
    fn ($l) => $l->resetAttempts('a'), fn ($l) => $l->attempts('a'), fn ($l) => $l->hit('é&amp;<', 60), fn ($l) => $l->attempts('é&amp;<'),
    fn ($l) => $l->clear('a'), fn ($l) => $l->availableIn('a'), fn ($l) => $l->attempts('nobody'), fn ($l) => $l->availableIn('nobody'),
    fn ($l) => $l->attempt('b', 1, fn () => 'done', 60), fn ($l) => $l->attempt('b', 1, fn () => 'done', 60), fn ($l) => $l->attempt('c', 1, fn () => null, 60),
    fn ($l) => get_class(thrown(fn () => $l->attempt('d', 1, fn () => throw new LogicException(), 60))), fn ($l) => $l->attempts('d'),
    fn ($l) => $l->for('x', fn () => 7) === $l, fn ($l) => $l->limiter('x')(), fn ($l) => $l->limiter('y'),
] as $i => $call) {
    [$mine, $own] = [$call($ours), $call($theirs)];
    check($mine == $own || ($i === 7 && $mine === 60 && $own > 0 && $own < 60), "Laravel, call $i: " . json_encode([$mine, $own]));
}
$same = ['__construct', 'for', 'limiter', 'retriesLeft', 'cleanRateLimiterKey']; // they ask no cache
foreach ((new ReflectionClass(LaravelsOwn::class))->getMethods(ReflectionMethod::IS_PUBLIC) as $method) {
    $is_ours = (new ReflectionMethod(RateLimiter::class, $method->name))->class === RateLimiter::class;
    check($is_ours || in_array($method->name, $same, true), "Laravel's {$method->name}() is not ours");
}
$ours->hit('e', 60);
$clock += 59_000_000_000;
check($ours->hit('e', 60) === 2 && $ours->availableIn('e') === 1, 'the first hit says when it ends');
$clock += 1_000_000_000;
check($ours->attempts('e') === 0 && $ours->availableIn('e') === 0 && $ours->hit('e', 60) === 1, 'it ended');
foreach ([false, [], 0, '', 'x'] as $i => $value) { // Laravel 9 and later; before it these were true
    check($ours->attempt("v$i", 1, fn () => $value) === $value && $ours->attempts("v$i") === 1, 'the value of the callback: ' . json_encode($value));
}
check($ours->attempt('null', 1, fn () => null) === true, 'null is true');
check($ours->increment('m', 60, 7) === 7 && $ours->remaining('m', 5) === 0 && $ours->retriesLeft('m', 5) === 0, 'never fewer than none');
check($ours->increment('f', 60, 5) === 5 && $ours->decrement('f', 60, 2) === 3, 'amounts');
check($ours->hit('g', new DateInterval('PT2M')) === 1 && $ours->availableIn('g') === 120, 'an interval');
$clock += 1; // no whole millisecond
check($ours->hit('h', 60) === 1 && $ours->availableIn('h') === 60, 'no second more than was asked for');
check([$ours->hit('', 60), $ours->hit(null, 60), $ours->attempts('')] === [1, 2, 2], 'an empty key is a key');
check([$ours->hit('past', -5), $ours->attempts('past'), $ours->hit('past', new DateTimeImmutable('@0'))] === [0, 0, 0], 'what has ended counts nothing');

/* Atomic: attempt() of four processes admits its maximum, and no hit is lost. */
$name = 'php-laravel-' . getmypid();
$shared = new RateLimiter($name);
$pids = [];
for ($p = 0; $p < 4; $p++) {
    if (($pid = pcntl_fork()) === 0) {
        for ($admitted = $i = 0; $i < 100; $i++) {
            $admitted += $shared->attempt('k', 50, fn () => true, 86400) ? 1 : 0;
            $shared->hit('hits', 86400);
        }
        exit($admitted);
    }
    $pids[] = $pid;
}
$admitted = 0;
foreach ($pids as $pid) {
    pcntl_waitpid($pid, $status);
    $admitted += pcntl_wexitstatus($status);
}
check($admitted === 50 && $shared->attempts('k') === $admitted, "attempt() admitted $admitted");
check($shared->attempts('hits') === 400, 'hits');
Rl\unlink($name);

/* The middleware of requests, with a limiter by its name. */
$limiter = new RateLimiter(segment());
$limiter->for('login', fn (Request $request) => [Limit::perMinute(2)->by($request->ip()), Limit::perMinute(5)->by('all')]);
$limiter->for('open', fn () => Limit::none());
$limiter->for('own', fn () => Limit::perMinute(0)->response(fn () => new Response('own', 418)));
$throttle = new ThrottleRequests($limiter);
$from = function (string $address, string $name = 'login') use ($throttle) {
    $request = Request::create('/', server: ['REMOTE_ADDR' => $address]);

    try {
        $response = $throttle->handle($request, fn () => new Response('welcome'), $name);
    } catch (ThrottleRequestsException $e) {
        return [429, $e->getHeaders()['X-RateLimit-Remaining'], $e->getHeaders()['Retry-After']];
    } catch (Illuminate\Http\Exceptions\HttpResponseException $e) {
        return [$e->getResponse()->getStatusCode()];
    }

    return [$response->getStatusCode(), $response->headers->get('X-RateLimit-Remaining')];
};
check($from('192.0.2.1')[0] === 200 && $from('192.0.2.1')[0] === 200, 'two of an address');
[$status, $left, $after] = $from('192.0.2.1');
check($status === 429 && $left === 0 && $after > 50 && $after <= 60, "and not a third: $left, $after");
check($from('192.0.2.2') === [200, '1'] && $from('192.0.2.2')[0] === 200 && $from('192.0.2.3')[0] === 200, 'three of others');
check($from('192.0.2.4')[0] === 429, 'and none of all');
check($from('192.0.2.1', 'open')[0] === 200 && $from('192.0.2.1', 'own') === [418], 'without a limit, and with an answer of its own');

/* Which answers count: what cannot be is refused. The rest is in servers.py. */
$rule = segment()->rule('login', '5/day');
foreach ([[], ['6xx'], 99, [4.5]] as $wrong) {
    check(thrown(fn () => Rl\Http\Limit::request($rule, 'a', countStatus: $wrong)) instanceof ValueError, 'no status: ' . json_encode($wrong));
}
check($rule->peek('a')->used() === 0, 'and charges nothing');

/* Middleware of jobs: what is run, released and failed. With workers: bindings/common/tests/jobs/run.py. */
final class FakeJob
{
    public array $released = [];
    public ?Throwable $failed = null;

    public function release($delay = 0): void
    {
        $this->released[] = $delay;
    }

    public function fail($exception = null): void
    {
        $this->failed = $exception;
    }
}

$name = 'php-jobs-' . getmypid();
$jobs = new Segment($name, ['ring' => 64]);
$job = new FakeJob();
$rated = new RateLimited('rate', '2/s', segment: $name, sleeps: 0.7);
$begin = hrtime(true);
check($rated->handle($job, fn () => 'a') === 'a' && $rated->handle($job, fn () => 'b') === 'b', 'a turn within what it sleeps');
check(hrtime(true) - $begin > 4e8, 'it was waited for');
$slow = new RateLimited('slow', '2/min', segment: $name, sleeps: 0.1);
check($slow->handle($job, fn () => 'a') === 'a', 'the first turn');
$slow->handle($job, fn () => check(false, 'too early'));
check(is_int($job->released[0]) && $job->released[0] > 10 && $job->released[0] <= 30, 'released for the next whole second');
$one = new WithoutOverlapping('k', segment: $name, sleeps: 0.05, releaseAfter: 3);
$one->handle($job, function () use ($one, $job, $name): void {
    $one->handle($job, fn () => check(false, 'two at once'));
    $ran = false;
    (new WithoutOverlapping('other', segment: $name))->handle($job, function () use (&$ran): void {
        $ran = true;
    });
    check($ran, 'another key');
});
check(array_slice($job->released, 1) === [3], 'released after so long');
check(thrown(fn () => $one->handle($job, fn () => throw new LogicException('x'))) instanceof LogicException, 'its error');
check($one->handle($job, fn () => 'c') === 'c', 'given back by an error, too');
$jobs->ban('k');
$one->handle($job, fn () => check(false, 'a banned key'));
check(str_contains($job->failed->getMessage(), 'rule overlapping never lets it through'), 'it fails');
Rl\unlink($name);

echo $failed === 0 && $count > 60 ? "$count checks\n" : "$failed of $count failed\n";
exit($failed === 0 && $count > 60 ? 0 : 1);
