--TEST--
bindings/table.json, which all bindings play
--EXTENSIONS--
rl
--FILE--
<?php
require __DIR__ . "/../table.php";
--EXPECT--
all as the table has it
