--TEST--
a limit, its result and its header fields
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$rule = Rl\Segment::private(["keys" => 1000])->rule("login", "3/hour");
check([true, true, true, false, false] === array_map(fn () => $rule->allows("alice"), range(1, 5)), "three of five");
check($rule->allows("bob"), "another key");
$result = $rule->check("alice");
check($result->isDenied() && !$result->isAllowed() && !$result->passes(), "denied");
check($result->retryAfter() > 0 && $result->remaining() === 0 && $result->limit() === 3, "numbers");
check(array_keys($result->headers()) === ["Retry-After", "RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"], "fields");
$shown = ["rule" => "login", "verdict" => "denied", "reason" => "limit", "limit" => 3, "remaining" => 0, "used" => 3, "retryAfter" => $result->retryAfter()];
check(print_r($result, true) === "Rl\\Result Object\n" . substr(print_r($shown, true), 6), "what is shown of it: " . print_r($result, true));
check(str_contains(print_r($rule->check(""), true), "[error] => RL_EEMPTY"), "and an error");
check($rule->check("carol", 4)->retryAfter() === INF, "never");
check($rule->check("carol", 4)->retryAfterNs() === Rl\NEVER_NS, "never in ns");
check($rule->name() === "login" && $rule->stats()["denied"] === 3, "stats " . json_encode($rule->stats()));
echo "done\n";
--EXPECT--
done
