<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/* A share of a cluster's limit is waited for where the limit says so: run by tests/support/lent.py, beside a store and rld. */

$segment = new Rl\Segment(getenv('RL_LENT_SEGMENT'), ['existing' => true]);
$rules = [];
foreach (['five', 'usual', 'none', 'unasked'] as $name) {
    $rules[$name] = $segment->rule($name);
}

function check(mixed $is, mixed $expected, string $what): void
{
    if ($is !== $expected) {
        echo "FAILED: $what: ", json_encode($is), ' and not ', json_encode($expected), "\n";
        exit(1);
    }
}

/** @return list<bool> */
function several(int $count, callable $ask): array
{
    return array_map(fn () => $ask() === 'allowed', range(1, $count));
}

/* A busy machine may keep a share from being lent within the second of a wait: of ten keys with one it is. */
function fiveOfFive(callable $ask, string $what): void
{
    $five = [true, true, true, true, true, false];
    for ($key = 1; $key <= 10 && ($is = several(6, fn () => $ask("$what $key"))) !== $five; $key++);
    check($is, $five, $what);
}

fiveOfFive(fn ($key) => $rules['five']->check($key)->verdict(), 'five of five');
fiveOfFive(fn ($key) => $segment->checkAll([[$rules['five'], $key], [$rules['unasked'], 'b']])['verdict'], 'beside another limit');
foreach (['usual', 'none'] as $name) {
    check($rules[$name]->check('c')->reason(), 'share', "nobody sleeps by $name");
}
posix_kill((int) getenv('RL_LENT_STORE'), SIGSTOP);
$began = hrtime(true);
check($rules['five']->check('d')->isAllowed(), false, 'nothing is lent');
$took = (hrtime(true) - $began) / 1e9;
posix_kill((int) getenv('RL_LENT_STORE'), SIGCONT);
check($took >= 0.99, true, "a sleep ends as the limit says, after $took s");
echo "ok\n";
