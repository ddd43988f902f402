--TEST--
keys are bytes
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$rule = Rl\Segment::private(["keys" => 100])->rule("r", "1/h");
check($rule->allows("a\0b") && $rule->allows("a\0c") && $rule->allows("\xff\xfe"), "any bytes");
check($rule->allows(str_repeat("x", 5000)) && !$rule->allows(Rl\key_digest(str_repeat("x", 5000))), "long ones by their digest");
check($rule->allows("42") && !$rule->allows(42), "a number is its text");
echo "done\n";
--EXPECT--
done
