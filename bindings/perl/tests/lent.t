# SPDX-License-Identifier: BSD-2-Clause
# A share of a cluster's limit is waited for where the limit says so: run by tests/support/lent.py, beside a store and rld.
use strict;
use warnings;
use RL;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $segment = RL->open($ENV{RL_LENT_SEGMENT}, existing => 1);
my %rules   = map { $_ => $segment->rule($_) } qw(five usual none);

sub several { my ($count, $ask) = @_; return [map { $ask->()->is_allowed ? 1 : 0 } 1 .. $count] }

# A busy machine may keep a share from being lent within the second of a wait: of ten keys with one it is.
my $answers = [];
for my $key (map { "a$_" } 1 .. 10) {
    $answers = several(6, sub { $rules{five}->check($key) });
    last if "@$answers" eq '1 1 1 1 1 0';
}
is_deeply $answers, [1, 1, 1, 1, 1, 0], 'five of five';
is $rules{$_}->check('b')->reason, 'share', "nobody sleeps by $_" for qw(usual none);

kill STOP => $ENV{RL_LENT_STORE};
my $began = clock_gettime(CLOCK_MONOTONIC);
ok !$rules{five}->check('c')->is_allowed, 'nothing is lent';
my $took = clock_gettime(CLOCK_MONOTONIC) - $began;
kill CONT => $ENV{RL_LENT_STORE};
cmp_ok $took, '>=', 0.99, 'a sleep ends as the limit says';
done_testing;
