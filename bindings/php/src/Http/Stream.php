<?php

/* SPDX-License-Identifier: BSD-2-Clause */

declare(strict_types=1);

namespace Rl\Http;

use Closure;
use Generator;
use IteratorAggregate;
use Rl\Result;

/**
 * What is sent bit by bit, and costs what was sent:
 *
 *     $result = Rl\Http\Limit::request($web->rule('tokens', '10000/min'), cost: 800);
 *     foreach (new Rl\Http\Stream($result, $upstream, fn (string $text) => strlen($text)) as $text) {
 *         echo $text;
 *         flush();
 *     }
 *
 * However it ends, also by a client that has hung up, what was taken of it is settled, once. What was not begun costs its
 * estimate, and so does what ends by a fatal error, or is killed. The result is to have kept its charges: `keep: true`.
 */
final class Stream implements IteratorAggregate
{
    private ?int $spent = null; // until it is begun, and after it was settled

    /** @param Closure $count says what a chunk costs */
    public function __construct(private readonly Result $result, private readonly iterable $chunks, private readonly Closure $count) {}

    public function getIterator(): Generator
    {
        $this->spent = 0;
        try {
            foreach ($this->chunks as $chunk) {
                $this->spent += ($this->count)($chunk);
                yield $chunk;
            }
        } finally {
            $this->settle();
        }
    }

    /** PHP ends a script whose client is gone without the rest of its generators, but not without this. */
    public function __destruct()
    {
        $this->settle();
    }

    private function settle(): void
    {
        $spent = $this->spent;
        $this->spent = null;
        if ($spent !== null) {
            $this->result->settle($spent);
        }
        $this->result->release();
    }
}
