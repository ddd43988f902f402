--TEST--
a closed segment says so, and can be opened again
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$name = segment_name();
$web = new Rl\Segment($name, ["keys" => 100]);
$rule = $web->rule("r", "5/h");
$counters = $web->counters("c");
$kept = $rule->check("a", keep: true);
$web->close();
$web->close();
foreach ([fn () => $rule->check("a"), fn () => $rule->allows("a"), fn () => $counters->get("a"), fn () => $web->info(), fn () => $web->ban("a"),
    fn () => $kept->headers(), fn () => $kept->refund(), fn () => $rule->limits(), fn () => $web->rule("r"), fn () => $web->checkMany([])] as $i => $call) {
    check(str_starts_with(thrown($call), "Rl\\Exception EBADF"), "number $i: " . thrown($call));
}
new Rl\Segment($name);
check($rule->check("a")->used() === 2 && !$kept->refund(), "the counters stayed, the charge is of another handle");
echo "done\n";
--EXPECT--
done
