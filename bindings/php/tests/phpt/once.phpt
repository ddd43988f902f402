--TEST--
opened once in a process; rules are remembered
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$name = segment_name();
$mapped = fn () => substr_count(file_get_contents("/proc/self/maps"), $name);
$first = new Rl\Segment($name, ["keys" => 100]);
$count = $mapped();
check($count > 0, "mapped");
for ($i = 0; $i < 100; $i++) {
    $web = new Rl\Segment($name);
    $rule = $web->rule("r", "5/h");
}
check($mapped() <= 2 * $count, "mapped once for each way to open it: $count, " . $mapped());
check($rule->stats()["redefined"] === 0, "not redefined");
$web->rule("r", "6/h");
check($rule->limits()[0]["capacity"] === 6 && $rule->stats()["redefined"] === 1, "another definition is one");
$first->rule("r", "6/h");
check($rule->stats()["redefined"] === 1, "the same one is none");
check(thrown(fn () => $web->rule("r", "7/h", keep: true)) !== "nothing is thrown" && $rule->limits()[0]["capacity"] === 6, "keep");
echo "done\n";
--EXPECT--
done
