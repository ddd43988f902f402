--TEST--
the stub for editors is what the extension has
--EXTENSIONS--
rl
--FILE--
<?php
$stub = file_get_contents(getenv("RL_STUB"));
preg_match_all('/^\s+(?:final )?class (\w+)/m', $stub, $classes);
$have = array_map(fn ($class) => substr($class, 3), array_values(array_filter(get_declared_classes(), fn ($class) => str_starts_with($class, "Rl\\"))));
echo implode(" ", array_diff($classes[1], $have)), implode(" ", array_diff($have, $classes[1])), "\n";
foreach ((new ReflectionExtension("rl"))->getClasses() as $class) {
    foreach ($class->getMethods() as $method) {
        if ($method->getDeclaringClass()->name !== $class->name) {
            continue;
        }
        $parameters = implode(", ", array_map(function ($p) {
            $default = $p->isDefaultValueAvailable() ? " = " . str_replace(["'", "NULL", "array()"], ['"', "null", "[]"], preg_replace('/array \(\s*\)/', "[]", var_export($p->getDefaultValue(), true))) : "";
            $type = str_replace(["Rl\\", "?callable"], ["", "callable"], (string) $p->getType());

            return "$type \${$p->name}$default";
        }, $method->getParameters()));
        $written = preg_match("/function {$method->name}\\(([^)]*)\\)/", preg_replace('/^.*?class ' . $class->getShortName() . '\b/s', "", $stub), $found) ? $found[1] : "nothing";
        $sorted = fn ($text) => preg_replace_callback('/[\w|?]+(?= \$)/', function ($m) { $t = explode("|", $m[0]); sort($t); return implode("|", $t); }, $text);
        if ($sorted($written) !== $sorted($parameters)) {
            echo "{$class->name}::{$method->name}($parameters), and the stub has ($written)\n";
        }
    }
}
echo "done\n";
--EXPECT--

done
