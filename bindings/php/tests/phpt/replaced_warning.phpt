--TEST--
a segment whose successor cannot be opened is warned of, once
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$name = segment_name();
$web = new Rl\Segment($name, ["keys" => 100]);
Rl\unlink($name);
file_put_contents("/dev/shm/rl.$name", "nonsense");
for ($i = 0; $i < 2; $i++) {
    try {
        $web->look();
    } catch (Rl\Exception $e) {
        echo $e->getName(), "\n";
    }
}
unlink("/dev/shm/rl.$name");
--EXPECTF--
Warning: Rl\Segment::look(): segment %s was replaced, and the new one cannot be opened: %s. This process goes on with the old one, and tries again each second in %s on line %d
RL_EFOREIGN
RL_EFOREIGN
