<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the examples of README.md in order: PHP, where `// => x` is what a line is to give, and shell. Files that it names are there. */

$text = file_get_contents(__DIR__ . '/../README.md');
$name = 'php-readme-' . getmypid();
$checked = 0;

function same(string $want, mixed $got): void
{
    global $checked;
    $checked++;
    if (var_export($got, true) !== $want) {
        echo "README.md: $want is expected, got ", var_export($got, true), "\n";
        exit(1);
    }
}

register_shutdown_function(function () use ($name) {
    try {
        Rl\unlink($name);
    } catch (Rl\Exception) {
    }
});
preg_match_all('/^```(php|sh)\n(.*?)^```$/ms', $text, $blocks, PREG_SET_ORDER);
foreach ($blocks as [, $language, $code]) {
    $code = str_replace(["'web'", '--segment web', '/usr/share/php/Rl/'], ["'$name'", "--segment $name", __DIR__ . '/../src/'], $code);
    if ($language === 'php') {
        $code = preg_replace_callback('~^(?:(\$\w+) = )?(.*\S);\s+// => (.+?)(, [a-z].*)?$~m',
            fn ($m) => 'same(' . var_export($m[3], true) . ', ' . ($m[1] ? "$m[1] = " : '') . "$m[2]);", $code);
        eval($code);
        continue;
    }
    exec('PATH=' . escapeshellarg(dirname(getenv('RLCTL'))) . ":\$PATH sh -ec " . escapeshellarg($code) . ' 2>&1', $out, $status);
    if ($status !== 0) {
        echo implode("\n", $out), "\n";
        exit(1);
    }
}
preg_match_all('~`((?:tests|ext)/[\w/.]+)`~', $text, $files);
foreach ($files[1] as $file) {
    file_exists(__DIR__ . "/../$file") || exit("README.md names $file, which is not there\n");
}
$enough = count($blocks) >= 6 && $checked >= 17;
echo "$checked answers", $enough ? "\n" : ": too few\n";
exit($enough ? 0 : 1);
