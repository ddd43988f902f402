# SPDX-License-Identifier: BSD-2-Clause
# What the servers' workers do that count by the answer, or are paid afterwards. The counters say how many requests came so far,
# and how many parts long answers had.
use strict;
use warnings;
use RL;

my $web;
sub counters { return ($web //= RL->open($ENV{RL_SEGMENT}))->counters(shift) }
sub part     { counters('parts')->add('all', 1, 3600); return '.' x 65_536 }

{
    login => sub {
        my $what = shift;
        counters('reached')->add("/$what", 1, 3600);
        kill 'KILL', $$ if $what eq 'killed';
        select undef, undef, undef, 0.05 if $what eq 'wrong';    # others come meanwhile
    },
    # A body, if there is one, of a request that was charged an estimate.
    spend => sub {
        my ($spent, $what) = @_;
        $spent->settle(15)  if $what eq 'less';
        $spent->settle(100) if $what eq 'more';
        die "thrown\n"      if $what eq 'thrown';
        kill 'KILL', $$     if $what eq 'killed';
        my $left = 300;
        return $what eq 'long' ? $spent->stream(sub { $left-- > 0 ? part() : undef }, sub { 1 }) : undef;
    },
};
