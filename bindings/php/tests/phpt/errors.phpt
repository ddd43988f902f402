--TEST--
what cannot be decided is the caller's choice, and never silent
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$name = segment_name();
(new Rl\Segment($name, ["keys" => 100]))->rule("r", "1/h");
foreach (["throw" => null, "allow" => true, "deny" => false] as $policy => $passes) {
    $rule = (new Rl\Segment($name, ["readonly" => true, "on_error" => $policy]))->rule("r");
    $result = $rule->check("a");
    check($result->verdict() === "undecided" && $result->error() === "EROFS", "undecided");
    $empty = Rl\Segment::private(["keys" => 10, "on_error" => $policy])->rule("r", "1/h");
    check($empty->check("")->error() === "RL_EEMPTY", "empty");
    foreach ([fn () => $rule->allows("a"), fn () => $result->passes(), fn () => $empty->allows("")] as $ask) {
        check($passes === null ? str_starts_with(thrown($ask), "Rl\\Exception ") : $ask() === $passes, "$policy");
    }
}
$rule = Rl\Segment::private(["keys" => 1, "on_full" => "deny"])->rule("r", "5/h");
$full = array_filter(array_map(fn ($i) => $rule->check("key$i")->error(), range(1, 200)));
check($full && array_unique(array_values($full)) === ["ENOSPC"], "a full table");
$reserve = Rl\Segment::private(["keys" => 1, "cells" => 128, "reserves" => 2]);
check(array_intersect_key($reserve->info(), ["cells" => 1, "reserves" => 1]) === ["cells" => 128, "reserves" => 2], "the reserve's size");
foreach ([[[], 4096], [["events" => 64], 64], [["events" => 0], 0]] as [$options, $events]) {
    check(Rl\Segment::private(["keys" => 1] + $options)->info()["events"] === $events, "events: $events");
}
$last = fn ($name) => array_map(fn ($i) => $reserve->rule($name, "5/h")->check("key$i"), range(1, 200));
$reasons = array_map(fn ($name) => in_array("reserve", array_map(fn ($r) => $r->reason(), $last($name)), true), ["a", "b", "c"]);
check($reasons === [true, true, false], "two limits have cells");
foreach ([["cells" => 128, "on_full" => "deny"], ["cells" => 100], ["cells" => -1], ["reserves" => 1025], ["events" => 1048577]] as $options) {
    check(thrown(fn () => Rl\Segment::private($options)) !== "", json_encode($options));
}
try {
    Rl\unlink("nobody-" . getmypid());
} catch (Rl\Exception $e) {
    check($e->getCode() === 2 && $e->getName() === "ENOENT" && $e instanceof RuntimeException, "code and name");
}
$less = segment_name();
new Rl\Segment($less, ["keys" => 100, "ring" => 8]);
$text = thrown(fn () => new Rl\Segment($less, ["ring" => 64, "at_least" => true]));
check(str_contains($text, "RL_ELESS") && str_contains($text, "ring: 8, and 64 were asked for"), $text);
echo "done\n";
--EXPECT--
done
