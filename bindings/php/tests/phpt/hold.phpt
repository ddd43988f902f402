--TEST--
units in flight: held as long as their result lives
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$rule = Rl\Segment::private(["keys" => 100])->rule("jobs", ["algorithm" => "in_flight", "capacity" => 2]);
check($rule->hold("a", fn () => 7) === 7 && $rule->peek("a")->used() === 0, "the callback's value");
check(thrown(fn () => $rule->hold("a", fn () => throw new LogicException("x"))) === "LogicException: x", "its exception");
check($rule->peek("a")->used() === 0, "given back after an exception");
$one = $rule->check("a", keep: true);
$two = $rule->check("a", keep: true);
try {
    $rule->hold("a", fn () => check(false, "it ran"));
} catch (Rl\Denied $e) {
    check($e->result->isDenied() && $e->result->used() === 2, "denied");
}
check($one->release() && !$one->release() && $rule->peek("a")->used() === 1, "released once");
unset($two);
$generator = function () { echo "it ran\n"; yield 1; };
foreach ([$generator, fn () => $generator(), fn () => (fn () => yield from $generator())()] as $do) {
    check(thrown(fn () => $rule->hold("b", $do)) === 'TypeError: Rl\Rule::hold(): Argument #2 ($do) must not return a Generator: its body would run after the units are given back', "a generator");
    check($rule->peek("b")->used() === 0, "given back after a generator");
}
check($rule->hold("b", fn () => iterator_to_array((function () use ($rule) { yield $rule->peek("b")->used(); })())) === [1], "iterated inside");
check($rule->peek("a")->used() === 0, "goes with its object");
check($rule->check("a")->error() === "RL_ECHARGES", "not without a place to keep it");
$result = $rule->peek("a");
check([$result->resetAfter(), $result->delay(), $result->window()] === [0.0, 0.0, 0.0], "no times");
echo "done\n";
--EXPECT--
done
