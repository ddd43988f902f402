# SPDX-License-Identifier: BSD-2-Clause
# What Starman's workers run: /native asks a rule by the middleware, /hold takes a unit in flight and keeps it, /login is a
# middleware of which failures count, /spend one that is paid afterwards. Each answer names its worker.
use strict;
use warnings;
use Plack::Builder;
use RL;

my $web  = RL->open($ENV{RL_SEGMENT}, keys => 1000);
my $jobs = $web->rule('jobs', algorithm => 'in_flight', capacity => 4);
my @held;
my $app = sub {
    my $env = shift;
    if ($env->{PATH_INFO} eq '/hold') {
        push @held, $jobs->hold('one');
        return [429, [], []] unless $held[-1];
    }
    return [200, ['X-Worker' => $$, 'Content-Type' => 'text/plain'], ["$$\n"]];
};

my $does  = do "$ENV{RL_HERE}/spends.pl" || die $@;
my $login = sub {
    my $path = shift->{PATH_INFO};
    $does->{login}->($path =~ s{^/}{}r);
    return [$path eq '/right' ? 200 : 401, ['X-Worker' => $$], []];
};
my $spend = sub {
    my $env = shift;
    return [200, ['X-Worker' => $$], $does->{spend}->($env->{'rl.result'}, $env->{PATH_INFO} =~ s{^/}{}r) // []];
};

builder {
    mount '/login' => builder {
        enable 'RL', segment => $web, rule => 'login', limit => '5/day', trusted => ['unix:', '127.0.0.1'], count_status => [401];
        $login;
    };
    mount '/spend' => builder {
        enable 'RL', segment => $web, rule => 'tokens', limit => '3000/day', key => sub { 'one' }, cost => 40;
        $spend;
    };
    mount '/native' => builder {
        enable 'RL', segment => $web, rule => 'native', key => sub { 'one' },
            limit => { algorithm => 'anchored_window', capacity => 50, window => 'never' };
        $app;
    };
    mount '/' => $app;
};
