--TEST--
objects outlive each other in any order
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
function result() {
    return Rl\Segment::private(["keys" => 10])->rule("r", "5/h")->check("a", keep: true);
}
$results = array_map(fn () => result(), range(1, 50));
foreach ($results as $result) {
    check($result->refund() && !$result->refund() && $result->headers() !== [], "alive");
}
$cycle = new stdClass();
$cycle->self = $cycle;
$cycle->result = result();
unset($cycle, $results, $result);
check(gc_collect_cycles() > 0, "collected");
echo "done\n";
--EXPECT--
done
