<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * off.php OS|calls [EXTENSION]: off.php of src, as on that system; or every call of the classes that are there, each with its
 * arguments and types. tests/off.sh asks.
 */

namespace Rl;

if ($argv[1] !== 'calls') {
    define('Rl\TEST_OS', $argv[1]);
}
require __DIR__ . '/../src/autoload.php';

function calls(): void
{
    foreach (['Exception', 'Denied', 'Segment', 'Rule', 'Result', 'Counters', 'Proxies'] as $name) {
        $class = new \ReflectionClass("Rl\\$name");
        echo $name, $class->isFinal() ? ' final' : '', "\n";
        foreach ($class->getMethods(\ReflectionMethod::IS_PUBLIC) as $method) {
            if ($method->class === "Rl\\$name" && !str_contains((string) $method->getDocComment(), '@internal')) {
                $lines[] = "$name " . ($method->isStatic() ? 'static ' : '') . call($method);
            }
        }
    }
    foreach (['unlink', 'key_digest', 'rate'] as $name) {
        $lines[] = call(new \ReflectionFunction("Rl\\$name"));
    }
    sort($lines);
    echo implode("\n", $lines), "\n", NEVER_NS, "\n";
}

function call(\ReflectionFunctionAbstract $of): string
{
    $arguments = array_map(
        fn ($a) => "{$a->getType()} \${$a->getName()}" . ($a->isDefaultValueAvailable() ? ' = ' . var_export($a->getDefaultValue(), true) : ''),
        $of->getParameters(),
    );
    return "{$of->getName()}(" . implode(', ', $arguments) . "): {$of->getReturnType()}";
}

if ($argv[1] === 'calls') {
    calls();
    exit;
}
try {
    $web = new Segment('web', ['keys' => 100]);
} catch (Exception $e) {
    echo $e->getName(), ' ', $e->getMessage(), "\n";
    exit;
}
$login = $web->rule('login', '3/hour');
echo implode(' ', array_map(fn () => $login->allows('alice') ? 'true' : 'false', range(1, 5))), ' ',
    $web->checkAll([[$login, 'alice'], [$login, 'bob']])['verdict'], ' ', $login->hold('alice', fn () => $login->spend('alice', 800, fn ($spent) => $spent->verdict())), ' ',
    count($login->check('alice')->headers()), ' ', $web->counters('c')->add('x')['value'], ' ', $login->name(), ' ',
    Segment::private()->rule('x')->peek('a')->isAllowed() ? 'ok' : 'no', "\n";
