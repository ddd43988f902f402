<?php

/* SPDX-License-Identifier: BSD-2-Clause */
/* Plays bindings/table.json: the calls that every binding makes, and the answers that it gets. */

namespace Rl;

final class Player
{
    private Segment $segment;
    /** @var array<string, Rule> */
    private array $rules = [];
    /** @var array<string, Result> */
    private array $kept = [];
    private ?Result $last = null;

    public function __construct(array $case)
    {
        $this->segment = Segment::private(['keys' => 1000] + ($case['options'] ?? []));
        foreach ($case['spaces'] ?? [] as $name) {
            $this->segment->counters($name);
        }
        foreach ($case['rules'] ?? [] as $rule) {
            $this->define($rule);
        }
    }

    public function play(array $step): array
    {
        try {
            return $this->{'play_' . $step['call']}($step);
        } catch (Exception $e) {
            return ['error' => $e->getName(), 'text' => $e->getMessage()];
        } catch (\ValueError $e) {
            return ['error' => 'EINVAL', 'text' => $e->getMessage()];
        }
    }

    private static function ns(?string $text): int
    {
        return $text === 'never' ? NEVER_NS : (int) $text;
    }

    private static function seconds(string $text): ?float
    {
        return $text === 'never' ? null : (int) $text / 1e9;
    }

    private function define(array $rule): void
    {
        $limits = array_map(function (array $limit): array {
            if (($limit['window_ns'] ?? '') === 'never') {
                unset($limit['window_ns']);
                $limit['window'] = 'never';
            } elseif (isset($limit['window_ns'])) {
                $limit['window_ns'] = (int) $limit['window_ns'];
            }

            return $limit + ($limit['algorithm'] === 'sliding_window' ? ['granularity' => 1] : []);
        }, $rule['limits']);
        $this->rules[$rule['name']] = $this->segment->rule($rule['name'], ['limits' => $limits], $rule['keep'] ?? false);
    }

    private function rule(string $name): Rule
    {
        return $this->rules[$name] ?? $this->segment->rule($name);
    }

    private static function key(array $step): string
    {
        return isset($step['key_hex']) ? hex2bin($step['key_hex']) : str_repeat($step['key'] ?? '', $step['times'] ?? 1);
    }

    private static function put(array &$answer, string $name, int $value): void
    {
        if ($value !== 0) {
            $answer[$name] = !str_ends_with($name, '_ns') ? $value : ($value === NEVER_NS ? 'never' : (string) $value);
        }
    }

    private static function result(Result $r): array
    {
        $answer = ['verdict' => $r->verdict()];
        if ($r->error() !== null) {
            $answer['error'] = $r->error();
        }
        if ($r->reason() !== 'limit') {
            $answer['reason'] = $r->reason();
        }
        if ($r->verdict() === 'undecided') {
            return $answer;
        }
        self::put($answer, 'index', $r->index());
        self::put($answer, 'limit', $r->limit());
        self::put($answer, 'remaining', $r->remaining());
        self::put($answer, 'used', $r->used());
        self::put($answer, 'is_shadow_denied', (int) $r->isShadowDenied());
        self::put($answer, 'retry_after_ns', $r->retryAfterNs());
        self::put($answer, 'reset_after_ns', $r->resetAfterNs());
        self::put($answer, 'delay_ns', $r->delayNs());
        self::put($answer, 'window_ns', $r->windowNs());

        return $answer;
    }

    private function remember(array $step, Result $result): array
    {
        if (isset($step['request'])) {
            $this->kept[$step['request']] = $result;
        }
        $this->last = $result;

        return self::result($result);
    }

    private static function tier(array $step): array
    {
        return array_intersect_key($step, ['capacity' => 1, 'burst' => 1, 'undelayed' => 1]);
    }

    private function play_check(array $step): array
    {
        try { // nobody can ask a rule that is not there
            $rule = $this->rule($step['rule']);
        } catch (Exception) {
            return ['verdict' => 'undecided', 'error' => 'EINVAL'];
        }

        return $this->remember($step, $rule->check(
            self::key($step), $step['cost'] ?? 1, ...self::tier($step), now: self::ns($step['at_ns']), keep: isset($step['request'])));
    }

    private function play_peek(array $step): array
    {
        return $this->remember($step, $this->rule($step['rule'])->peek(self::key($step), self::ns($step['at_ns'])));
    }

    private function play_reserve(array $step): array
    {
        return $this->remember($step, $this->rule($step['rule'])->reserve(
            self::key($step), $step['cost'] ?? 1, self::seconds($step['max_wait_ns']), ...self::tier($step), now: self::ns($step['at_ns'])));
    }

    private function play_check_limits(array $step): array
    {
        $answers = $this->rule($step['rule'])->checkLimits(self::key($step), $step['cost'] ?? 1, self::ns($step['at_ns']));

        return self::result($answers['result']) + ['limits' => array_map(self::result(...), $answers['limits'])];
    }

    private function items(array $step): array
    {
        return array_map(fn ($item) => [$this->rule($item['rule']), self::key($item), $item['cost'] ?? 1, self::tier($item)], $step['items']);
    }

    private function play_check_all(array $step): array
    {
        $answers = $this->segment->checkAll($this->items($step), self::ns($step['at_ns']));
        $answers['results'] = array_map(self::result(...), $answers['results']);

        return array_filter($answers, fn ($value) => $value !== null);
    }

    private function play_check_many(array $step): array
    {
        return ['results' => array_map(self::result(...), $this->segment->checkMany($this->items($step), self::ns($step['at_ns'])))];
    }

    private function play_refund(array $step): array
    {
        return ['done' => (int) $this->kept[$step['request']]->refund(self::ns($step['at_ns']))];
    }

    private function play_release(array $step): array
    {
        return ['done' => (int) $this->kept[$step['request']]->release()];
    }

    private function play_settle(array $step): array
    {
        return ['done' => (int) $this->kept[$step['request']]->settle($step['actual'], self::ns($step['at_ns']))];
    }

    private function play_refund_key(array $step): array
    {
        return ['done' => $this->rule($step['rule'])->refund(self::key($step), $step['cost'] ?? 1, $step['capacity'] ?? null, self::ns($step['at_ns']))];
    }

    private function space(array $step): Counters
    {
        return $this->segment->counters($step['space'], false);
    }

    private static function count(array $count): array
    {
        $answer = ['done' => (int) $count['done']];
        self::put($answer, 'value', $count['value']);
        self::put($answer, 'expires_after_ns', $count['expires_after_ns']);
        self::put($answer, 'is_new', (int) $count['is_new']);

        return $answer;
    }

    private function play_counter_add(array $s): array
    {
        return self::count($this->space($s)->add(self::key($s), $s['value'] ?? 0, self::seconds($s['lifetime_ns']), self::ns($s['at_ns'])));
    }

    private function play_counter_get(array $s): array
    {
        return self::count($this->space($s)->get(self::key($s), self::ns($s['at_ns'])));
    }

    private function play_counter_set(array $s): array
    {
        return self::count($this->space($s)->set(self::key($s), $s['value'] ?? 0, self::seconds($s['lifetime_ns']), self::ns($s['at_ns'])));
    }

    private function play_counter_set_new(array $s): array
    {
        return self::count($this->space($s)->setNew(self::key($s), $s['value'] ?? 0, self::seconds($s['lifetime_ns']), self::ns($s['at_ns'])));
    }

    private function play_counter_touch(array $s): array
    {
        return self::count($this->space($s)->touch(self::key($s), self::seconds($s['lifetime_ns']), self::ns($s['at_ns'])));
    }

    private function play_counter_drop(array $s): array
    {
        return ['done' => (int) $this->space($s)->drop(self::key($s), self::ns($s['at_ns']))];
    }

    private function ruleOrAny(array $step): ?Rule
    {
        return isset($step['rule']) ? $this->rule($step['rule']) : null;
    }

    private function play_ban(array $s): array
    {
        $this->segment->ban(self::key($s), $this->ruleOrAny($s), $s['match'] ?? 'key', until: self::ns($s['until_ns']));

        return ['done' => 0];
    }

    private function play_allow(array $s): array
    {
        $this->segment->allow(self::key($s), $this->ruleOrAny($s), $s['match'] ?? 'key', until: self::ns($s['until_ns']));

        return ['done' => 0];
    }

    private function play_unban(array $s): array
    {
        return ['done' => (int) $this->segment->unban(self::key($s), $this->ruleOrAny($s), $s['match'] ?? 'key')];
    }

    private function play_reset(array $s): array
    {
        $of = $this->rules[$s['rule']] ?? $this->segment->counters($s['rule'], false);

        return ['done' => (int) $of->reset(self::key($s))];
    }

    private function play_reset_matching(array $s): array
    {
        $counts = $this->segment->resetMatching(isset($s['match']) ? self::key($s) : null, $this->ruleOrAny($s), $s['match'] ?? 'key');
        $answer = ['done' => 0];
        self::put($answer, 'forgotten', $counts['forgotten']);
        self::put($answer, 'unknown', $counts['unknown']);

        return $answer;
    }

    private function play_define(array $s): array
    {
        $this->define($s['define']);

        return ['done' => 0];
    }

    private function play_forget(array $s): array
    {
        return ['done' => (int) $this->segment->forget($s['rule'])];
    }

    private function play_key_digest(array $s): array
    {
        return ['text' => key_digest(self::key($s))];
    }

    private function play_headers(array $s): array
    {
        return $this->last->headers(unix: true, set: $s['set'] ?? 'ietf');
    }

    private function play_client(array $s): array
    {
        $proxies = new Proxies($s['trusted'], $s['field'], $s['prefix_v4'] ?? 0, $s['prefix_v6'] ?? 0);

        return $proxies->find($s['peer'], $s['lines']);
    }

    private function play_rate(array $s): array
    {
        $rate = rate($s['rate']);

        return ['capacity' => $rate['capacity'], 'window_ns' => (string) $rate['window_ns']];
    }
}

/* The same members with the same values, in any order. */
function same(mixed $want, mixed $got): bool
{
    if (!is_array($want) || !is_array($got)) {
        return $want === $got;
    }
    if (isset($got['error']) && !isset($want['text'])) {
        unset($got['text']);
    }
    foreach ($want as $name => $value) {
        if (!array_key_exists($name, $got) || !same($value, $got[$name])) {
            return false;
        }
    }

    return count($want) === count($got);
}

$steps = $wrong = 0;
foreach (json_decode(file_get_contents(getenv('RL_TABLE')), true, flags: JSON_THROW_ON_ERROR)['cases'] as $case) {
    $player = new Player($case);
    foreach ($case['steps'] as $i => $step) {
        $got = $player->play($step);
        $steps++;
        if (!same($step['answer'], $got)) {
            $wrong++;
            echo "{$case['name']}, step $i: ", json_encode($step), "\n got ", json_encode($got), "\n";
        }
    }
}
echo $steps > 300 && $wrong === 0 ? "all as the table has it\n" : "$wrong of $steps differ\n";
