<?php

/* SPDX-License-Identifier: BSD-2-Clause */

declare(strict_types=1);

namespace Rl\Http;

use Closure;
use Rl\Proxies;
use Rl\Result;
use Rl\Rule;

/**
 * The request that PHP is at, under a rule: in php-fpm and mod_php, before whatever framework.
 *
 *     Rl\Http\Limit::request($web->rule('page', '100/min'));
 *     Rl\Http\Limit::request($web->rule('login', '5/day'), countStatus: [401, '5xx']);
 *
 * Who is over the limit is answered 429, who is never let in 403, with header fields, and the script ends. A request that
 * cannot be decided goes by the `on_error` that the segment was opened with; of "deny" it is answered 503.
 *
 * `countStatus` says which answers count: a status, a class of them, a list of these, or a function of the status. A request
 * is charged before it is served, so that no number of them at once passes, and given back as the script ends if its
 * answer does not count. A fatal error is a 500. What is killed counts. What is in flight is held until the script ends.
 *
 * `actual` says what a request has cost that was charged `cost`, an estimate: it is asked as the script ends, also for a
 * client that has hung up. null, and a worker that is killed, leave the estimate.
 */
final class Limit
{
    private const FATAL = \E_ERROR | \E_PARSE | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR;

    /**
     * @param ?string $key whom the request counts for; the client's address, of IPv6 its first $clientV6 bits
     * @param bool|string $headers whether the draft's fields are sent, or by which version: "ietf-11", "ietf-7"
     * @param list<string> $trusted networks of proxies whose X-Forwarded-For is believed
     */
    public static function request(
        Rule $rule,
        ?string $key = null,
        int $cost = 1,
        int|string|array|Closure|null $countStatus = null,
        array $trusted = [],
        int $clientV6 = 64,
        bool|string $headers = true,
        ?Closure $actual = null,
    ): Result {
        $isCounted = self::matcher($countStatus);
        $result = $rule->check($key ?? self::client($trusted, $clientV6), $cost, keep: true);
        foreach ($headers ? $result->headers(set: $headers === true ? 'ietf' : $headers) : [] as $name => $value) {
            if (!str_starts_with($name, 'X-')) {
                header("$name: $value");
            }
        }
        if (!$result->passes()) {
            self::refuse($result);
        }
        register_shutdown_function(static function () use ($result, $isCounted, $actual): void {
            if ($isCounted && !$isCounted(self::status())) {
                $result->refund();
            } elseif ($actual && ($spent = $actual()) !== null) {
                $result->settle($spent);
            }
            $result->release();
        });

        return $result;
    }

    private static function client(array $trusted, int $clientV6): string
    {
        $proxies = new Proxies($trusted, prefixV6: $clientV6);

        return $proxies->find($_SERVER['REMOTE_ADDR'] ?? '', $_SERVER['HTTP_X_FORWARDED_FOR'] ?? null)['address'];
    }

    /** null: all answers count. */
    private static function matcher(int|string|array|Closure|null $given): ?Closure
    {
        if ($given === null || $given instanceof Closure) {
            return $given;
        }
        $all = array_map(static fn ($one) => strtolower((string) $one), (array) $given);
        $wrong = preg_grep('/\A[1-5](xx|\d\d)\z/', $all, \PREG_GREP_INVERT);
        if ($wrong || !$all) {
            throw new \ValueError('countStatus: ' . json_encode($given) . '; statuses such as 401 and "4xx", or a function, are allowed');
        }

        return static fn (int $status) => \in_array((string) $status, $all, true) || \in_array(intdiv($status, 100) . 'xx', $all, true);
    }

    /** Where errors are shown, a fatal one leaves the status that was there before. */
    private static function status(): int
    {
        $fatal = (error_get_last()['type'] ?? 0) & self::FATAL;

        return $fatal ? 500 : (int) http_response_code();
    }

    private static function refuse(Result $result): never
    {
        $status = ['never' => 403, 'undecided' => 503][$result->verdict()] ?? 429;
        http_response_code($status);
        header('Content-Type: application/problem+json');
        exit($result->problem($status));
    }
}
