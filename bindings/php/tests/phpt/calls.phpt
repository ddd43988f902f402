--TEST--
each call of the extension is made by these tests, whose memory is watched
--EXTENSIONS--
rl
--FILE--
<?php
$tests = '';
foreach ([...glob(__DIR__ . '/*.phpt'), dirname(__DIR__) . '/table.php'] as $file) {
    $tests .= file_get_contents($file);
}
$extension = new ReflectionExtension('rl');
foreach ($extension->getClasses() as $class) {
    foreach ($class->getMethods() as $method) {
        $call = $method->isConstructor() ? "new (Rl\\\\)?{$class->getShortName()}\\(" : "(->|::){$method->name}\\(";
        if ($method->getDeclaringClass() == $class && !$method->isPrivate() && !preg_match("/$call/", $tests)) {
            echo "{$class->name}::{$method->name}() is called by nobody\n";
        }
    }
}
foreach (array_keys($extension->getFunctions()) as $name) {
    if (!preg_match('/\b' . substr($name, 3) . '\(/', $tests)) {
        echo "$name() is called by nobody\n";
    }
}
echo "done\n";
--EXPECT--
done
