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
