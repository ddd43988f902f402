--TEST--
what a request has cost is said once
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$tokens = Rl\Segment::private()->rule("tokens", "100/h");
$less = $tokens->check("a", 40, keep: true);
$more = $tokens->check("a", 10, keep: true);
check($less->settle(15) && $tokens->peek("a")->used() === 25, "less comes back");
check($more->settle(110) && $tokens->peek("a")->used() === 125 && $tokens->peek("a")->remaining() === 0, "more is charged");
$answer = $tokens->spend("s", 40, fn (Rl\Result $spent) => [$spent->used(), $spent->settle(15)]);
check($answer === [40, true] && $tokens->peek("s")->used() === 15, "what a callback has spent");
check(thrown(fn () => $tokens->spend("s", 20, fn () => throw new LogicException("x"))) === "LogicException: x" && $tokens->peek("s")->used() === 35, "an exception leaves the estimate");
try {
    $tokens->spend("s", 70, fn () => check(false, "it ran"));
} catch (Rl\Denied $e) {
    check($e->result->isDenied() && $e->result->used() === 35, "denied");
}
check(thrown(fn () => $tokens->spend("s", 1, function () { yield 1; })) === 'TypeError: Rl\Rule::spend(): Argument #3 ($do) must not return a Generator: its body would run after the units are given back', "a generator");
check(str_starts_with(thrown(fn () => $tokens->spend("s", -1, fn () => 1)), 'ValueError: Rl\Rule::spend(): Argument #2 ($estimate)'), "a negative estimate");
foreach ([fn () => $less->settle(15), fn () => $tokens->check("b", keep: true)->settle(-1), fn () => $tokens->check("c")->settle(1)] as $call) {
    try {
        $call();
        echo "nothing was thrown\n";
    } catch (Throwable $error) {
        echo get_class($error), ": ", strtok($error->getMessage(), ";"), "\n";
    }
}
--EXPECT--
Rl\Exception: settle: rule tokens: the charges were settled before: settle a request once
ValueError: Rl\Result::settle(): Argument #1 ($actual) must not be negative
Error: this request kept no charges: ask with keep: true
