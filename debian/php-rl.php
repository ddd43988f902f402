mod bindings/php/rl.ini
