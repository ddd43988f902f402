# SPDX-License-Identifier: BSD-2-Clause
# Plays bindings/table.json: the calls that every binding makes, and the answers that it gets.
use strict;
use warnings;
use JSON::PP;
use RL;
use Test::More;

my @FIELDS = qw(algorithm capacity granularity hard burst undelayed shadow prefix_v4 prefix_v6 prefetch count_denied);
my ($segment, %rules, %kept, $last);

sub ns { my $text = shift // 0; return $text eq 'never' ? RL::NEVER_NS : $text + 0 }

sub seconds { my $text = shift // 0; return $text eq 'never' ? undef : "${text}ns" }

sub limit_of {
    my $limit  = shift;
    my %fields = map { exists $limit->{$_} ? ($_ => $limit->{$_}) : () } @FIELDS;
    my $window = $limit->{window_ns};
    if (defined $window) {
        $fields{ $window eq 'never' ? 'window' : 'window_ns' } = $window;
    }
    $fields{granularity} //= 1 if $limit->{algorithm} eq 'sliding_window';
    return \%fields;
}

sub define {
    my $rule = shift;
    $rules{ $rule->{name} } = $segment->rule($rule->{name}, limits => [map { limit_of($_) } @{ $rule->{limits} }], keep => $rule->{keep});
    return;
}

sub rule { my $name = shift; return $rules{$name} // $segment->rule($name) }

sub key {
    my $step = shift;
    return pack 'H*', $step->{key_hex} if exists $step->{key_hex};
    my $key = $step->{key} // '';
    return $key x ($step->{times} // 1);
}

# What is not 0; nanoseconds are text.
sub put {
    my ($answer, $name, $number) = @_;
    return unless $number;
    $answer->{$name} = $name =~ /_ns$/ ? ($number == RL::NEVER_NS ? 'never' : "$number") : $number;
    return;
}

sub result {
    my $result = shift;
    my $answer = { verdict => $result->verdict };
    $answer->{error}  = $result->error  if $result->error;
    $answer->{reason} = $result->reason if $result->reason ne 'limit';
    return $answer if $result->verdict eq 'undecided';
    put($answer, $_, $result->$_)
        for qw(is_shadow_denied index limit remaining used retry_after_ns reset_after_ns delay_ns window_ns);
    return $answer;
}

sub tier { my $step = shift; return map { exists $step->{$_} ? ($_ => $step->{$_}) : () } qw(capacity burst undelayed) }

sub timed { my $step = shift; return (tier($step), now_ns => ns($step->{at_ns})) }

sub kept {
    my ($step, $result) = @_;
    $kept{ $step->{request} } = $result if $step->{request};
    return result($last = $result);
}

# Nobody can ask a rule that is not there, nor counters as a rule.
sub asked { my $step = shift; return $rules{ $step->{rule} } // eval { $segment->rule($step->{rule}) } }

sub items {
    my $step = shift;
    return [map { [rule($_->{rule}), key($_), $_->{cost} // 1, { tier($_) }] } @{ $step->{items} }];
}

sub about { my $step = shift; return (match => $step->{match} // 'key', rule => $step->{rule} ? rule($step->{rule}) : undef) }

sub counted {
    my ($step, @values) = @_;
    my $name  = $step->{call} =~ s/^counter_//r;
    my $count = $segment->counters($step->{space}, existing => 1)->$name(key($step), @values, now_ns => ns($step->{at_ns}));
    my $answer = { done => $count->{done} };
    put($answer, $_, $count->{$_}) for qw(value expires_after_ns is_new);
    return $answer;
}

sub done { my $done = shift; return { done => $done ? $done + 0 : 0 } }

my %PLAY = (
    check => sub {
        my $step = shift;
        my $rule = asked($step) or return { verdict => 'undecided', error => 'EINVAL' };
        return kept($step, $rule->check(key($step), $step->{cost}, timed($step), keep => exists $step->{request}));
    },
    peek    => sub { my $step = shift; kept($step, rule($step->{rule})->peek(key($step), now_ns => ns($step->{at_ns}))) },
    reserve => sub {
        my $step = shift;
        kept($step, rule($step->{rule})->reserve(key($step), $step->{cost}, timed($step), max_wait => seconds($step->{max_wait_ns})));
    },
    check_limits => sub {
        my $step = shift;
        my ($answer, @each) = rule($step->{rule})->check_limits(key($step), $step->{cost}, timed($step));
        return { %{ result($answer) }, limits => [map { result($_) } @each] };
    },
    check_all => sub {
        my $step   = shift;
        my $all    = $segment->check_all(items($step), now_ns => ns($step->{at_ns}));
        my $answer = { verdict => $all->{verdict}, results => [map { result($_) } @{ $all->{results} }] };
        $answer->{decided} = $all->{decided} if defined $all->{decided};
        return $answer;
    },
    check_many => sub {
        my $step = shift;
        return { results => [map { result($_) } $segment->check_many(items($step), now_ns => ns($step->{at_ns}))] };
    },
    refund     => sub { my $step = shift; done($kept{ $step->{request} }->refund(now_ns => ns($step->{at_ns}))) },
    settle     => sub { my $step = shift; done($kept{ $step->{request} }->settle($step->{actual}, now_ns => ns($step->{at_ns}))) },
    release    => sub { my $step = shift; done($kept{ $step->{request} }->release) },
    refund_key => sub { my $step = shift; done(rule($step->{rule})->refund(key($step), $step->{cost}, timed($step))) },
    (map { $_ => sub { my $step = shift; counted($step, $step->{value} // 0, seconds($step->{lifetime_ns})) } }
            qw(counter_add counter_set counter_set_new)),
    (map { $_ => sub { counted(shift) } } qw(counter_get counter_drop)),
    counter_touch => sub { my $step = shift; counted($step, seconds($step->{lifetime_ns})) },
    ban   => sub { my $step = shift; $segment->ban(key($step), until_ns => ns($step->{until_ns}), about($step)); done(0) },
    allow => sub { my $step = shift; $segment->allow(key($step), until_ns => ns($step->{until_ns}), about($step)); done(0) },
    unban => sub { my $step = shift; done($segment->unban(key($step), about($step))) },
    reset => sub {
        my $step = shift;
        done(($rules{ $step->{rule} } // $segment->counters($step->{rule}, existing => 1))->reset(key($step)));
    },
    reset_matching => sub {
        my $step = shift;
        my ($forgotten, $unknown) = $segment->reset_matching(defined $step->{match} ? key($step) : undef, about($step));
        my $answer = done(0);
        put($answer, forgotten => $forgotten);
        put($answer, unknown   => $unknown);
        return $answer;
    },
    define     => sub { my $step = shift; define($step->{define}); done(0) },
    forget     => sub { my $step = shift; done($segment->forget($step->{rule})) },
    key_digest => sub { return { text => RL::key_digest(key(shift)) } },
    headers    => sub { my $s = shift; return { $last->headers(reset => 'unix', set => $s->{set}) } },
    client     => sub {
        my $step    = shift;
        my $proxies = RL::Proxies->new($step->{trusted}, map { $_ => $step->{$_} } qw(field prefix_v4 prefix_v6));
        my ($address, $end, $hops) = $proxies->find($step->{peer}, @{ $step->{lines} // [] });
        return { address => $address, end => $end, hops => $hops };
    },
    rate => sub {
        my ($capacity, $window_ns) = RL::rate(shift->{rate});
        return { capacity => $capacity, window_ns => "$window_ns" };
    },
);

# Numbers of JSON and of Perl, true and 1: what they are is what their text is.
sub flat {
    my $value = shift;
    return [map { flat($_) } @$value] if ref $value eq 'ARRAY';
    return { map { $_ => flat($value->{$_}) } keys %$value } if ref $value eq 'HASH';
    return ref $value || (defined $value && !length $value) ? $value + 0 : "$value";
}

open my $file, '<:raw', $ENV{RL_TABLE} or die "$ENV{RL_TABLE}: $!";
my $table = decode_json(do { local $/; <$file> });
my $steps = 0;
for my $case (@{ $table->{cases} }) {
    $segment = RL->open(undef, private => 1, keys => 1000, %{ $case->{options} // {} });
    (%rules, %kept) = ();
    $segment->counters($_) for @{ $case->{spaces} // [] };
    define($_) for @{ $case->{rules} // [] };
    my $wrong = '';
    for my $step (@{ $case->{steps} }) {
        my $answer = eval { $PLAY{ $step->{call} }->($step) };
        if (my $error = $@) {
            die $error unless ref $error;
            $answer = { error => $error->code, exists $step->{answer}{text} ? (text => $error->message) : () };
        }
        my $json = JSON::PP->new->canonical;
        my ($got, $want) = map { $json->encode(flat($_)) } $answer, $step->{answer};
        $steps++;
        $wrong .= $json->encode($step) . "\n  got $got\n" if $got ne $want;
    }
    is($wrong, '', $case->{name});
}
cmp_ok($steps, '>', 300, 'it is not empty');
done_testing();
