--TEST--
text has the defaults of rl.json(5), and rlctl agrees
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$name = segment_name();
$web = new Rl\Segment($name, ["keys" => 100]);
foreach (["5/min", "7/s", "9/90s", "300/5min", "2/10ms", "1/1h30m", "4/d", "3/61s"] as $i => $limit) {
    $file = tempnam(sys_get_temp_dir(), "rl");
    file_put_contents($file, json_encode(["segment" => ["name" => $name], "rules" => ["json" => ["limit" => $limit]]], JSON_UNESCAPED_SLASHES));
    [$out, $status] = rlctl($name, "config", "reload", "--config", $file);
    unlink($file);
    check($status === 0, $out);
    check($web->rule("php-$i", $limit)->limits() === $web->rule("json")->limits(), $limit);
}
echo "done\n";
--EXPECT--
done
