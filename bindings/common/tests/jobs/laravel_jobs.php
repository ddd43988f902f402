<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/* The jobs of the test, for Laravel's queue: its own worker and Redis connection, without the framework around them. */

use Illuminate\Bus\Dispatcher as Bus;
use Illuminate\Container\Container;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Events\Dispatcher as Events;
use Illuminate\Queue\Capsule\Manager;
use Illuminate\Queue\InteractsWithQueue;
use Illuminate\Queue\Worker;
use Illuminate\Queue\WorkerOptions;
use Illuminate\Redis\RedisManager;

foreach (['Queue', 'Bus', 'Events', 'Redis', 'Container', 'Pipeline'] as $part) {
    require_once "/usr/share/php/Illuminate/$part/autoload.php";
}
require_once getenv('RL_TOP') . '/bindings/php/src/autoload.php';

function tell(string $what, int $number): void
{
    $line = sprintf("%s %d %d %.6f\n", $what, $number, getmypid(), microtime(true));
    file_put_contents(getenv('RL_WORK') . '/told', $line, FILE_APPEND);
}

abstract class Job
{
    use InteractsWithQueue;

    public function __construct(public int $number)
    {
    }

    public function retryUntil()
    {
        return new DateTime('+1 hour');
    }
}

class Held extends Job
{
    public function middleware()
    {
        return [new Rl\Laravel\WithoutOverlapping('all', 2, segment: getenv('RL_SEGMENT'))];
    }

    public function handle(): void
    {
        foreach (['lock-0', 'lock-1'] as $name) {
            $lock = fopen(getenv('RL_WORK') . "/$name", 'r+');
            if (!flock($lock, LOCK_EX | LOCK_NB)) {
                continue;
            }
            tell('begin', $this->number);
            usleep(60000);
            tell('end', $this->number);

            return;
        }
        tell('third', $this->number);
    }
}

class Rated extends Job
{
    public function middleware()
    {
        return [new Rl\Laravel\RateLimited('rate', '20/s', segment: getenv('RL_SEGMENT'))];
    }

    public function handle(): void
    {
        tell('rated', $this->number);
    }
}

final class Shown implements ExceptionHandler
{
    public function report(Throwable $e)
    {
        fwrite(STDERR, "$e\n");
    }

    public function shouldReport(Throwable $e)
    {
        return true;
    }

    public function render($request, Throwable $e)
    {
    }

    public function renderForConsole($output, Throwable $e)
    {
    }
}

$app = new Container();
Container::setInstance($app);
$app->instance(Illuminate\Contracts\Container\Container::class, $app);
$app->singleton(Illuminate\Contracts\Events\Dispatcher::class, fn () => new Events($app));
$app->alias(Illuminate\Contracts\Events\Dispatcher::class, 'events');
$app->singleton(Illuminate\Contracts\Bus\Dispatcher::class, fn () => new Bus($app));
$app->singleton(ExceptionHandler::class, fn () => new Shown());
$app->singleton('redis', fn () => new RedisManager($app, 'phpredis', [
    'options' => ['prefix' => 'laravel:'],
    'default' => ['host' => getenv('RL_REDIS'), 'port' => 0, 'database' => 0],
]));

$queue = new Manager($app);
$queue->addConnection(['driver' => 'redis', 'connection' => 'default', 'queue' => 'default', 'retry_after' => 600], 'default');
$manager = $queue->getQueueManager();
$manager->addConnector('redis', fn () => new Illuminate\Queue\Connectors\RedisConnector($app['redis']));

if ($argv[1] === 'work') {
    $worker = new Worker($manager, $app['events'], $app[ExceptionHandler::class], fn () => false);
    $options = new WorkerOptions();
    $options->sleep = 0.05;
    $options->maxTries = 0;
    $worker->daemon('default', 'default', $options);
    exit;
}
for ($i = 0; $i < (int) $argv[2]; ++$i) {
    $manager->connection('default')->push(new (['held' => Held::class, 'rated' => Rated::class][$argv[1]])($i));
}
