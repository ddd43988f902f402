--TEST--
bans and exemptions are those of rlctl
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$name = segment_name();
$web = new Rl\Segment($name, ["keys" => 100]);
$rule = $web->rule("r", "5/h");
$web->ban("mallory", $rule, for: 3600);
check(str_contains(rlctl($name, "bans")[0], "mallory") && $rule->check("mallory")->reason() === "ban", "banned");
check(rlctl($name, "unban", "--rule", "r", "mallory")[1] === 0 && $rule->allows("mallory"), "lifted");
check(rlctl($name, "ban", "eve", "--for", "1h")[1] === 0 && !$rule->allows("eve"), "banned by rlctl");
check([["eve", null, false]] === array_map(fn ($b) => [$b["key"], $b["rule"], $b["allow"]], $web->bans()), "listed");
check($web->unban("eve") && !$web->unban("eve"), "unban");
$web->allow("192.0.2.0/24", match: "network");
check($rule->check("192.0.2.7")->reason() === "exemption", "exempt");
for ($i = 0; $i < 5; $i++) {
    $rule->allows("alice");
}
preg_match_all('/"(?:used|remaining)": (\d+)/', rlctl($name, "get", "r", "alice", "--json")[0], $numbers);
check(array_slice($numbers[1], -2) === ["5", "0"], "rlctl tells the same: " . json_encode($numbers));
echo "done\n";
--EXPECT--
done
