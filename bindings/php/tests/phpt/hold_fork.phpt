--TEST--
units in flight: a child gives back nothing of its parent
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$rule = (new Rl\Segment(segment_name(), ["keys" => 100]))->rule("jobs", ["algorithm" => "in_flight", "capacity" => 2]);
$held = $rule->check("a", keep: true);
$pid = pcntl_fork();
if ($pid === 0) {
    unset($held);
    exit;
}
pcntl_waitpid($pid, $status);
check($rule->peek("a")->used() === 1, "held by the parent still");
check($held->release() && $rule->peek("a")->used() === 0, "and given back by it");
echo "done\n";
--EXPECT--
done
