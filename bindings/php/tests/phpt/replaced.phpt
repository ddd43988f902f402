--TEST--
a segment that is replaced is found, a foreign one is survived
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$name = segment_name();
$web = new Rl\Segment($name, ["keys" => 100]);
$rule = $web->rule("r", "1/h");
$counters = $web->counters("c");
$kept = $rule->check("a", keep: true);
check($kept->isAllowed() && !$rule->allows("a"), "one");
$created = $web->info()["created_ns"];
Rl\unlink($name);
check($web->look() && !$web->look() && $web->info()["created_ns"] !== $created, "another segment");
check(!$kept->refund() && $rule->allows("a") && !$rule->allows("a"), "the rule is there");
check($counters->add("k", 1, 60)["value"] === 1, "the counters are there");
Rl\unlink($name);
file_put_contents("/dev/shm/rl.$name", str_repeat("nonsense", 100));
check(str_contains(thrown(fn () => new Rl\Segment($name, ["mode" => 0640])), "RL_EFOREIGN"), "foreign");
check(str_contains(@thrown(fn () => $web->look()), "RL_EFOREIGN"), "told");
check(!$rule->allows("a") && $rule->allows("b"), "the old one limits on");
unlink("/dev/shm/rl.$name");
$until = hrtime(true) + 60_000_000_000;
while (!($again = $rule->allows("a")) && hrtime(true) < $until) { // by itself, within a second
    usleep(50000);
}
check($again, "a call finds the new one");
echo "done\n";
--EXPECT--
done
