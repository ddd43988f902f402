--TEST--
a bad definition names what is wrong
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$bad = [
    ["5/fortnight", "limit: expected a rate"],
    [["limit" => 5], "limit: expected a rate"],
    [["capacity" => -1, "window" => 1], "capacity: expected an integer"],
    [["capacity" => 1.5, "window" => 1], "capacity: expected an integer"],
    [["capacity" => 0, "window" => 1, "algorithm" => "fixed_window"], "limit.capacity: 0"],
    [["capacity" => 1, "window" => "soon"], "window: expected a duration"],
    [["capacity" => 1, "window" => -1.0], "window: expected a duration"],
    [["capacity" => 1, "window" => NAN], "window: expected a duration"],
    [["capacity" => 1, "window" => []], "window: expected a duration"],
    [["limit" => "1/s", "algorithm" => "magic"], 'algorithm: expected "sliding_window", '],
    [["limit" => "1/s", "hard" => "yes"], "hard: expected true or false"],
    [["limit" => "1/s", "colour" => 1], "colour: a limit has no such field"],
    [["limit" => "1/s", 3 => 1], "a limit has fields with names alone"],
    [["limit" => "1/min", "granularity" => "7s"], "granularity: its length divides"],
    [["limit" => "1/min", "mode" => "off"], "mode: expected"],
    [["limits" => []], "limits: expected an array of 1 to 8"],
    [["limits" => [5]], "limits: expected an array of arrays"],
    [["limits" => array_fill(0, 9, ["limit" => "1/s"])], "more_count: 8"],
];
$web = Rl\Segment::private(["keys" => 100]);
foreach ($bad as [$limit, $text]) {
    $got = thrown(fn () => $web->rule("r", $limit));
    check(str_starts_with($got, "ValueError: $text"), json_encode($limit, JSON_PARTIAL_OUTPUT_ON_ERROR) . " gives $got");
}
check(str_contains(thrown(fn () => $web->rule(str_repeat("n", 64), "1/s")), "too long"), "name");
check(str_contains(thrown(fn () => $web->rule("a\0b", "1/s")), "ValueError"), "NUL");
check(str_starts_with(thrown(fn () => $web->rule("nobody")), "Rl\\Exception ENOENT: rule nobody: "), "nobody");
$limits = $web->rule("api", ["limits" => [["limit" => "20/s"], ["limit" => "100/d", "shadow" => true]], "algorithm" => "fixed_window"])->limits();
check([20, 100] === array_column($limits, "capacity") && [false, true] === array_column($limits, "shadow"), "limits inherit");
$fields = ["limits" => [["limit" => "20/s"], ["limit" => "100/d"]], "algorithm" => "fixed_window"];
foreach ($fields["limits"] as &$fields_of_one) { // leaves references in the array
    foreach ($fields_of_one as &$field) {
        $field = (string) $field;
    }
}
$algorithm = &$fields["algorithm"];
check([20, 100] === array_column($web->rule("by_reference", $fields)->limits(), "capacity"), "references");
$options = ["keys" => 10, "ring" => 8, "on_full" => "deny"];
foreach ($options as &$option) {
}
check(Rl\Segment::private($options)->info()["on_full"] === "deny", "options by reference");
$said = "";
set_error_handler(function (int $level, string $text) use (&$said) {
    $said = "$level $text";
    return true;
});
check(Rl\Segment::private(["on_full" => "evict"])->info()["on_full"] === "reserve", "a word of before");
check(str_starts_with($said, E_DEPRECATED . " ") && str_contains($said, '"evict" is gone, taken as "reserve"'), "a warning of it");
restore_error_handler();
check(Rl\Segment::private(["keys" => 10])->info()["ring"] === 64, "any window has room");
try {
    Rl\Segment::private(["keys" => 10, "ring" => 1])->rule("r", "5/min");
    echo "a ring of 1 has room\n";
} catch (Rl\Exception $e) {
    check(str_contains($e->getMessage(), "'rlctl resize --ring 60'") && $e->getName() === "RL_ERING", $e->getMessage());
}
$named = Rl\Segment::private(["keys" => 100]);
$named->rule("one", "5/min");
check($named->ruleNames() === ["one"] && $named->giveBack() === 0 && $named->nowNs() > 0, "names, what was prefetched, now");
echo "done\n";
--EXPECT--
done
