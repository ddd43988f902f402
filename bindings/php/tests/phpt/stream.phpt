--TEST--
a stream costs what was taken of it
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
require getenv('RL_SRC') . '/autoload.php';
$segment = Rl\Segment::private();
$tokens = $segment->rule("tokens", "1000/h");
$used = fn () => $tokens->peek("a")->used();
$stream = fn (iterable $chunks, ?Closure $count = null) => new Rl\Http\Stream($tokens->check("a", 40, keep: true), $chunks, $count ?? strlen(...));

check(implode(" ", iterator_to_array($stream(["one", "three"]))) === "one three" && $used() === 8, "all of it");
foreach ($stream((function () { yield "one"; yield "three"; })()) as $chunk) {
    break;
}
check($used() === 11, "what was taken before a break");
$kept = $stream(["one", "three"]);
foreach ($kept as $chunk) {
    break;
}
check($used() === 14, "the same of one that is kept");
unset($kept);
check($used() === 14, "it is settled once");
$stream(["one"]);
check($used() === 54, "what was not begun costs its estimate");
$fails = fn (string $text) => $text === "three" ? throw new LogicException("x") : 1;
check(thrown(fn () => iterator_to_array($stream(["one", "three"], $fails))) === "LogicException: x" && $used() === 55, "what was counted before it failed");
check(thrown(fn () => iterator_to_array($stream((function () { yield "one"; throw new LogicException("y"); })()))) === "LogicException: y" && $used() === 58, "what was taken before its source failed");
check($stream([str_repeat(".", 100)])->getIterator()->current() !== "" && $used() === 158, "more than its estimate");
$jobs = $segment->rule("jobs", ["algorithm" => "in_flight", "capacity" => 1]);
$held = new Rl\Http\Stream($jobs->check("a", 1, keep: true), ["one"], strlen(...));
check(!$jobs->check("a")->isAllowed(), "it is in flight");
iterator_to_array($held);
check($jobs->peek("a")->isAllowed(), "and is not any more");
echo "ok\n";
--EXPECT--
ok
