--TEST--
a request that ends by exit() in the middle of hold() gives its units back
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$rule = (new Rl\Segment(segment_name(), ["keys" => 100]))->rule("jobs", ["algorithm" => "in_flight", "capacity" => 1]);
$leaked = $rule->check("b", keep: true);
register_shutdown_function(fn () => print("still held: {$rule->peek('a')->used()} {$rule->peek('b')->used()}\n"));
$rule->hold("a", function () {
    echo "exit\n";
    exit(0);
});
--EXPECT--
exit
still held: 0 1
