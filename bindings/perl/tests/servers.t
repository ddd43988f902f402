# SPDX-License-Identifier: BSD-2-Clause
# Starman, with its application loaded before the fork and after it, and mod_perl: four workers admit exactly 50 of 400,
# though one is killed, and what a killed one held comes back.
use strict;
use warnings;
use File::Temp qw(tempdir);
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX qw(:sys_wait_h);
use RL;
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

my $SOON = 60;    # seconds until something that comes at once is given up
my ($here) = __FILE__ =~ m{(.*)/};
$here = `cd "$here" && pwd`;
chomp $here;
$ENV{RL_HERE} = $here;
my @started;

sub start {
    my ($log, @command) = @_;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        setpgrp;
        open STDOUT, '>>', $log or die;
        open STDERR, '>&', \*STDOUT or die;
        exec @command or die "$command[0]: $!";
    }
    push @started, $pid;
    return $pid;
}

# And the segment: a worker that takes the place of a killed one would make it anew.
sub stop { my $segment = shift; kill 'TERM', $_ for @started; waitpid $_, 0 for splice @started; eval { RL::unlink($segment) }; return }

END { my $status = $?; stop($ENV{RL_SEGMENT} // ''); $? = $status }

sub wait_for {
    my ($what, $is) = @_;
    my $until = clock_gettime(CLOCK_MONOTONIC) + $SOON;
    until ($is->()) {
        die "$what: not in $SOON s\n" if clock_gettime(CLOCK_MONOTONIC) > $until;
        sleep 0.05;
    }
    return;
}

# (status, worker, all of the head)
sub get {
    my ($at, $path, $client) = @_;
    my $socket = $at =~ m{^/} ? IO::Socket::UNIX->new(Peer => $at) : IO::Socket::INET->new(PeerAddr => $at);
    return 0 unless $socket;
    local $SIG{ALRM} = sub { die "$at$path: no answer in $SOON s\n" };
    alarm $SOON;
    print $socket "GET $path HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", defined $client ? "X-Forwarded-For: $client\r\n" : '', "\r\n";
    my $answer = join '', <$socket>;
    alarm 0;
    my ($status) = $answer =~ /\AHTTP\S* (\d+)/ or return 0;
    my ($worker) = $answer =~ /^X-Worker: (\d+)/m;
    return ($status, $worker // 0, $answer);
}

# A refusal with a body, and the next answer of the same connection; after a 503 Apache ends it.
sub problem {
    my ($at, $path, $status, $kind) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => $at);
    my $post = "POST $path HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n";
    print $socket "$post\r\nhello${post}Connection: close\r\n\r\nhello";
    my $answer = join '', <$socket>;
    my $one = qr{HTTP/1.1 $status .*?^Content-Type: application/problem\+json\r.*?^\r\n(\{"type": "[^"]+#$kind", [^\n]*"status": $status[^\n]*?\})}ms;
    like($answer, $status == 503 ? qr/\A$one\z/ : qr/\A$one$one\z/, "mod_perl: a problem, $kind");
    return $answer;
}

# Is gone when some of the answer is there.
sub hang_up {
    my ($at, $path) = @_;
    my $socket = $at =~ m{^/} ? IO::Socket::UNIX->new(Peer => $at) : IO::Socket::INET->new(PeerAddr => $at);
    print $socket "GET $path HTTP/1.1\r\nHost: localhost\r\n\r\n";
    sysread $socket, my $some, 4096;
    close $socket;
    return;
}

# By eight at once: [status, worker] of each. The function tells the client of one, by a number.
sub ask {
    my ($at, $path, $count, $client_of) = @_;
    $client_of //= sub { undef };
    my (@pipes, @answers);
    for my $client (0 .. 7) {
        my $pid = open(my $pipe, '-|') // die "fork: $!";
        if (!$pid) {
            my $mine = int(($count + $client) / 8);
            print join(' ', (get($at, $path, $client_of->($client * $count + $_)))[0, 1]), "\n" for 1 .. $mine;
            close STDOUT;
            POSIX::_exit(0);
        }
        push @pipes, $pipe;
    }
    for my $pipe (@pipes) {
        push @answers, map { [split] } <$pipe>;
        close $pipe;
    }
    return @answers;
}

sub ended { my $pid = shift; open my $file, '<', "/proc/$pid/stat" or return 1; return (<$file> // ') Z ') =~ /\) Z / }

sub workers {
    my ($at, $path) = @_;
    my %seen;
    wait_for('four workers', sub {
        $seen{ $_->[1] } = 1 for ask($at, $path, 8);
        delete @seen{ grep { !$_ || ended($_) } keys %seen };
        return keys %seen >= 4;
    });
    return keys %seen;
}

sub slay { my $pid = shift; kill 'KILL', $pid; wait_for("the end of $pid", sub { ended($pid) }); return }

sub exactly_fifty {
    my ($what, $at) = @_;
    my @first = ask($at, '/native', 30);
    slay((workers($at, '/'))[0]);
    my @rest = ask($at, '/native', 370);
    my %status;
    $status{ $_->[0] }++ for @first, @rest;
    is_deeply(\%status, { 200 => 50, 429 => 350 }, "$what: exactly 50 of 400, one of four workers killed");
    return;
}

sub comes_back {
    my ($what, $at) = @_;
    my @holders = map { [get($at, '/hold')] } 1 .. 4;
    is_deeply([map { $_->[0] } @holders], [(200) x 4], "$what: four are held");
    is((get($at, '/hold'))[0], 429, "$what: and no more");
    slay($_) for keys %{ { map { $_->[1] => 1 } @holders } };
    wait_for('what was held', sub { (get($at, '/hold'))[0] == 200 });
    pass("$what: what the killed ones held comes back");
    return;
}

sub statuses { my %status; $status{ $_->[0] }++ for @_; return \%status }

# 50 wrong guesses, 1,000 right ones, one whose worker is killed before it could answer, and 1,000 of one network.
sub failures_alone_count {
    my ($what, $at, $web) = @_;
    my ($login, $reached) = ($web->rule('login'), $web->counters('reached'));
    is_deeply(statuses(ask($at, '/login/wrong', 50, sub { '192.0.2.1' })), { 401 => 5, 429 => 45 }, "$what: of 50 wrong guesses 5");
    is_deeply(statuses(ask($at, '/login/right', 1000, sub { '192.0.2.2' })), { 200 => 1000 }, "$what: right ones pass");
    wait_for("$what: what is given back", sub { $login->peek('192.0.2.2')->used == 0 });    # of mod_perl, after the answer
    is_deeply([map { $login->peek($_)->used } '192.0.2.1', '192.0.2.2'], [5, 0], "$what: and leave nothing");
    is_deeply([map { $reached->get($_)->{value} } '/wrong', '/right'], [5, 1000], "$what: the application has seen as many");
    is((get($at, '/login/killed', '192.0.2.2'))[0], 0, "$what: a worker is killed");
    is($login->peek('192.0.2.2')->used, 1, "$what: its request counts");
    my $network = sub { sprintf '2001:db8:0:7::%x', shift };
    is_deeply(statuses(ask($at, '/login/wrong', 1000, $network)), { 401 => 5, 429 => 995 }, "$what: a /64 is one client");
    is($login->peek('2001:db8:0:7::')->used, 5, "$what: of one key");
    return;
}

# As much as answers have cost, over one that dies, a worker that is killed and a client that hangs up.
sub what_is_used_is_what_it_has_cost {
    my ($what, $at, $web, $key, $is_noticed) = @_;
    my ($tokens, $parts) = ($web->rule('tokens'), $web->counters('parts'));
    my $used = sub { $tokens->peek($key)->used };
    my $all = 0;
    for (['less', 15], ['more', 100], ['unknown', 40], ['thrown', 40], ['killed', 40]) {
        my ($does, $cost) = @$_;
        get($at, "/spend/$does");
        $all += $cost;
        wait_for("$what: $all after $does", sub { $used->() == $all });
    }
    hang_up($at, '/spend/long');
    wait_for("$what: the parts of an answer", sub { $used->() == $all + $parts->get('all')->{value} });
    my $sent = $parts->get('all')->{value};
    ok($is_noticed ? $sent > 0 && $sent < 300 : $sent == 300, "$what: what is used is what it has cost");
    1 while (get($at, '/spend/more'))[0] == 200;
    cmp_ok($used->(), '>', 2960, "$what: until there is no room for the estimate");
    return;
}

for my $preload (0, 1) {
    my ($what, $dir, $name) = ($preload ? 'Starman, preloaded' : 'Starman', tempdir(CLEANUP => 1), "perl-$$-$preload");
    $ENV{RL_SEGMENT} = $name;
    my @command = ('starman', '--workers', 4, '--listen', "$dir/socket", '--env', 'none', ('--preload-app') x $preload, "$here/app.psgi");
    my $pid = start("$dir/log", @command);
    wait_for("$what answers", sub { (get("$dir/socket", '/'))[0] });
    exactly_fifty($what, "$dir/socket");
    comes_back($what, "$dir/socket");
    like((get("$dir/socket", '/native'))[2], qr/^RateLimit-Policy: "native";q=50\r/m, "$what: fields");
    my $web = RL->open($name);
    failures_alone_count($what, "$dir/socket", $web) if $preload;
    what_is_used_is_what_it_has_cost($what, "$dir/socket", $web, 'one', 0) if $preload;
    $web->ban('one', rule => $web->rule('native'));
    is((get("$dir/socket", '/native'))[0], 403, "$what: a ban");
    stop($name);
}

SKIP: {
    my ($apache) = grep { -x } '/usr/sbin/apache2';
    my $module = '/usr/lib/apache2/modules/mod_perl.so';
    skip('there is no mod_perl', 1) unless $apache && -e $module;
    my ($dir, $name) = (tempdir(CLEANUP => 1), "perl-$$-apache");
    $ENV{RL_SEGMENT} = $name;
    my $free = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1');
    my $at = '127.0.0.1:' . $free->sockport;
    close $free;
    chmod 0755, $dir;
    open my $conf, '>', "$dir/conf" or die;
    my @paths = map { s{^(?!/)}{$ENV{PWD}/}r } grep { -d } split /:/, $ENV{PERL5LIB} // '';
    my $modules = '/usr/lib/apache2/modules';
    print $conf <<"END";
ServerName localhost
Listen $at
PidFile $dir/pid
ErrorLog $dir/log
@{[$> == 0 ? 'User www-data' : '']}
DocumentRoot $dir
LoadModule mpm_prefork_module $modules/mod_mpm_prefork.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule perl_module $module
LoadModule remoteip_module $modules/mod_remoteip.so
RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy 127.0.0.1
StartServers 4
MinSpareServers 4
MaxSpareServers 4
ServerLimit 4
MaxRequestWorkers 4
@{[map { "PerlSwitches -I$_\n" } @paths]}
PerlPassEnv RL_HERE
PerlSetEnv RL_SEGMENT $name
PerlRequire $here/handler.pl
PerlSetVar RLSegment $name
PerlSetVar RLLimit 1000000/min
PerlSetVar RLRule all
<Location />
  SetHandler modperl
  PerlAccessHandler Apache2::RL
  PerlResponseHandler RL::Test
</Location>
<Location /native>
  PerlSetVar RLRule native
  PerlSetVar RLLimit 50/day
</Location>
<Location /login>
  PerlSetVar RLRule login
  PerlSetVar RLLimit 5/day
  PerlSetVar RLCountStatus 401
  PerlResponseHandler RL::Test::Login
</Location>
<Location /spend>
  PerlSetVar RLRule tokens
  PerlSetVar RLLimit 3000/day
  PerlSetVar RLCost 40
  PerlResponseHandler RL::Test::Spend
</Location>
<LocationMatch ^/(visits|whole)>
  PerlResponseHandler RL::Test::Visits
</LocationMatch>
<Location /visits>
  PerlSetVar RLRule visits
  PerlSetVar RLLimit 2/day
  ErrorDocument 429 /visits/busy
</Location>
<Location /hold>
  PerlResponseHandler RL::Test::Hold
</Location>
<Location /problem>
  PerlSetVar RLProblem on
  PerlSetVar RLRule problem
  PerlSetVar RLLimit 1/day
</Location>
<Location /problem/closed>
  PerlSetVar RLRule "not a name"
</Location>
<Location /wrong>
  PerlSetVar RLCountStatus 6xx
</Location>
<Location /closed>
  PerlSetVar RLRule "not a name"
</Location>
<Location /open>
  PerlSetVar RLRule "not a name"
  PerlSetVar RLOnError allow
</Location>
END
    close $conf;
    my $pid = start("$dir/log", $apache, '-D', 'FOREGROUND', '-f', "$dir/conf");
    eval { wait_for('Apache answers', sub { (get($at, '/'))[0] }); 1 } or do { system cat => "$dir/log"; die $@ };
    exactly_fifty('mod_perl', $at);
    comes_back('mod_perl', $at);
    like((get($at, '/native'))[2], qr/^RateLimit-Policy: "native";q=50;w=86400\r/m, 'mod_perl: fields of a denial');
    like((get($at, '/'))[2], qr/^RateLimit: "all";r=\d+;t=\d+\r/m, 'mod_perl: fields of an answer');
    is((get($at, '/closed'))[0], 503, 'mod_perl: what cannot be decided is refused');
    is((get($at, '/wrong'))[0], 503, 'mod_perl: a status that is none is told');
    is((get($at, '/open'))[0], 200, 'mod_perl: or let through');
    like((get($at, '/whole'))[2], qr/^200 200\n/m, 'mod_perl: a request of several parts');
    like((get($at, '/visits/whole'))[2], qr/^200 200\n/m, 'mod_perl: is one');
    like((get($at, '/visits/one'))[2], qr/\AHTTP\S* 429 .*^X-Worker/ms, 'mod_perl: and so is a refusal with its document');
    like((get($at, '/whole'))[2], qr/^429 429\n/m, 'mod_perl: each part is refused');
    is((get($at, '/problem'))[0], 200, 'mod_perl: one is allowed');
    like(problem($at, '/problem', 429, 'quota-exceeded'), qr/"violated-policies": \["problem"\]/, 'mod_perl: by which rule');
    problem($at, '/problem/closed', 503, 'temporary-reduced-capacity');
    my $segment = RL->open($name, existing => 1, any_owner => 1);
    $segment->ban('127.0.0.0/8', match => 'network');
    is((get($at, '/'))[0], 403, 'mod_perl: a ban');
    problem($at, '/problem', 403, 'abnormal-usage-detected');
    $segment->unban('127.0.0.0/8', match => 'network');
    $segment->rule(@$_) for ['login', '5/day'], ['tokens', '3000/day'];    # as the children do with their first request
    failures_alone_count('mod_perl', $at, $segment);
    what_is_used_is_what_it_has_cost('mod_perl', $at, $segment, '127.0.0.1', 1);
    stop($name);
}
done_testing();
