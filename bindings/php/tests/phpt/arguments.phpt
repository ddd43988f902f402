--TEST--
bad arguments
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$web = Rl\Segment::private(["keys" => 100]);
$rule = $web->rule("r", "5/min");
$other = Rl\Segment::private(["keys" => 100])->rule("r", "5/min");
foreach ([
    fn () => $rule->check(),
    fn () => $rule->check([]),
    fn () => $rule->check("a", -1),
    fn () => $rule->allows("a", -1),
    fn () => $rule->check("a", capacity: -1),
    fn () => $rule->check("a", burst: 1 << 33),
    fn () => $rule->check("a", now: -1),
    fn () => $rule->hold("a", "no_such_function"),
    fn () => $web->ban("a", match: "regex"),
    fn () => $web->ban("a", for: 1, until: 2),
    fn () => $web->ban("a", for: -1),
    fn () => $web->ban("a", $other),
    fn () => $web->bans(-1),
    fn () => $web->checkAll([]),
    fn () => $web->checkAll(array_fill(0, 33, [$rule, "a"])),
    fn () => $web->checkAll([[$other, "a"]]),
    fn () => $web->checkAll([[$rule]]),
    fn () => $web->checkAll([[$rule, "a", -1]]),
    fn () => $web->checkAll(["a"]),
    fn () => $web->checkMany([[$rule, "a", 1, ["capacity" => "x"]]]),
    fn () => $web->resetMatching("a", new stdClass()),
    fn () => $web->counters("c")->add("a", 1, -1.0),
    fn () => $web->counters("c")->set("a", -1),
    fn () => new Rl\Segment("x", ["colour" => 1]),
    fn () => new Rl\Segment("x", ["on_full" => "explode"]),
    fn () => new Rl\Segment("x", ["keys" => "many"]),
    fn () => new Rl\Segment("x", ["group" => "no such group"]),
    fn () => new Rl\Segment("x", ["buffer" => "soon"]),
    fn () => new Rl\Proxies(["10.0.0.0/99"]),
    fn () => new Rl\Proxies([], "x-real-ip"),
    fn () => (new Rl\Proxies())->find("nonsense"),
    fn () => Rl\rate("5 per minute"),
    fn () => new Rl\Rule(),
    fn () => clone $rule,
    fn () => clone $web,
    fn () => clone $rule->check("a"),
    fn () => serialize($web),
    fn () => serialize($rule),
    fn () => $web->__construct(),
    fn () => $rule->check("a")->refund(),
] as $i => $call) {
    $got = thrown($call);
    check(preg_match('/^(ValueError|TypeError|ArgumentCountError|Error|Exception): /', $got) === 1, "number $i gives $got");
}
check(str_contains(thrown(fn () => new Rl\Segment("a/b")), "EINVAL"), "name");
check(str_contains(thrown(fn () => new Rl\Segment("a/b")), "a name has 1 to 63 letters"), "name");
check(str_contains(thrown(fn () => new Rl\Segment("nobody-" . getmypid(), ["existing" => true])), "ENOENT"), "existing");
check($web->checkMany([]) === [], "nothing to ask");
echo "done\n";
--EXPECT--
done
