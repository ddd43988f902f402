<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/* The classes of Rl itself are the extension's, or what stands for it. */
if (!extension_loaded('rl')) {
    require __DIR__ . '/off.php';
}
