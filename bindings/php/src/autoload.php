<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads Rl\Http, Rl\Laravel and Rl\Symfony where there is no Composer. The classes of Rl itself are the extension's, or those of off.php. */
require __DIR__ . '/loaded.php';
spl_autoload_register(static function (string $class): void {
    if (preg_match('/\ARl\\\\(Http|Laravel|Symfony)\\\\(\w+)\z/', $class, $name)) {
        $file = __DIR__ . "/$name[1]/$name[2].php";
        if (is_file($file)) {
            require $file;
        }
    }
});
