--TEST--
the body of a refusal says what kind of refusal it is
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$segment = Rl\Segment::private();
$rule = $segment->rule("login", "1/h");
$rule->check("a");
$told = json_decode($rule->check("a")->problem(429), true, 512, JSON_THROW_ON_ERROR);
check(str_ends_with($told["type"], "#quota-exceeded") && $told["status"] === 429 && $told["violated-policies"] === ["login"], "a limit");
$segment->ban("b");
check(str_ends_with(json_decode($rule->check("b")->problem(403))->type, "#abnormal-usage-detected"), "a ban");
check(thrown(fn () => $rule->peek("a")->problem(600)) !== null, "no status");
echo "done\n";
--EXPECT--
done
