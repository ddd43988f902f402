--TEST--
forked workers admit exactly the limit; what a killed one held comes back
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/helper.inc";
$name = segment_name();
$web = new Rl\Segment($name, ["keys" => 100]);
$rule = $web->rule("r", ["capacity" => 50, "window" => "never", "algorithm" => "anchored_window"]);
$admitted = 0;
$pids = [];
for ($i = 0; $i < 4; $i++) {
    if (($pid = pcntl_fork()) === 0) {
        exit(count(array_filter(range(1, 100), fn () => $rule->allows("k"))));
    }
    $pids[] = $pid;
}
foreach ($pids as $pid) {
    pcntl_waitpid($pid, $status);
    $admitted += pcntl_wexitstatus($status);
}
check($admitted === 50, "50 are told");
check($rule->peek("k")->used() === 50 && $rule->stats()["denied"] === 350, "50 of 400");
$jobs = $web->rule("jobs", ["algorithm" => "in_flight", "capacity" => 1]);
[$mine, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
if (($pid = pcntl_fork()) === 0) {
    $held = $jobs->check("a", keep: true);
    fclose($mine);
    fwrite($theirs, "held\n");
    fgets($theirs); // until it is killed, or its parent ends
    exit(1);
}
fgets($mine);
check(!$jobs->check("a", keep: true)->isAllowed(), "held by another");
exec("kill -KILL $pid");
pcntl_waitpid($pid, $status);
for ($i = 0; $i < 1200 && !($held = $jobs->check("a", keep: true))->isAllowed(); $i++) {
    usleep(50000);
}
check($held->isAllowed() && $jobs->peek("a")->used() === 1, "comes back");
echo "done\n";
--EXPECT--
done
