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
check($rule->peek("a")->used() === 0, "goes with its object");
check($rule->check("a")->error() === "EINVAL", "not without a place to keep it");
echo "done\n";
--EXPECT--
done
