# SPDX-License-Identifier: BSD-2-Clause
# What the table does not ask: errors, keys, what is held, segments that are closed or replaced, the middleware.
use strict;
use warnings;
use utf8;
use Config;
use Encode qw(decode encode);
use Plack::Builder;
use RL;
use Storable qw(dclone);
use Test::More;

my $name = "perl-native-$$";
my $main = $$;
my $web  = RL->open($name, keys => 1000);
END { eval { RL::unlink($name) } if $$ == $main }

sub fails {
    my ($code, $want, $call) = @_;
    my @got = eval { $call->() };
    my $error = $@;
    return fail("$want: it did not die") unless ref $error;
    is($error->code, $code, "$want: code");
    like($error->message, $want, "$want: message");
    like("$error", qr/ at \S*native\.t line \d+\.$/, "$want: the caller's line");
    return;
}

my $rule = $web->rule('login', '3/hour');
is($rule->name, 'login', 'a name');
ok($rule->allow('alice'), 'one');
my $result = $rule->check('alice', 2);
ok($result->is_allowed && !$result->is_denied && $result->passes, 'of three');
is($result->remaining, 0, 'none is left');
$result = $rule->check('alice');
ok($result->is_denied, 'over');
cmp_ok($result->retry_after, '>', 3000, 'seconds');
is($rule->stats->{denied}, 1, 'counted');
is($rule->refund('alice'), 1, 'by key');
ok($rule->allow('alice'), 'again');
ok($rule->reset('alice'), 'reset');
is($rule->peek('alice')->remaining, 3, 'anew');

# Keys.
my $kept = $rule->check("\x{e9}", 1, keep => 1);
ok($rule->peek(encode('UTF-8', "\x{e9}"))->remaining == 3, 'a byte is not what it is as text');
my $text = decode('UTF-8', "\xc3\xa9");
$rule->allow($text);
is($rule->peek("\xc3\xa9")->remaining, 2, 'text that is decoded counts as its UTF-8');
is($rule->peek('é')->remaining, 2, 'as in a source that is');
$rule->allow('x' x 5000);
is($rule->peek(RL::key_digest('x' x 5000))->remaining, 2, 'a long key counts as its digest');
fails('EINVAL', qr/^key: a string is needed, not undef/, sub { $rule->check(undef) });
fails('EINVAL', qr/^key: a string is needed, not ARRAY/, sub { $rule->check([]) });
is($rule->check('')->verdict, 'allowed', 'librl does not limit an empty key');
is($rule->check('')->error, 'RL_EEMPTY', 'and why');
fails('RL_EEMPTY', qr/^rule login: /, sub { $rule->allow('') });

# Arguments.
fails('EINVAL', qr/^cost: -1; 0 to/, sub { $rule->check('a', -1) });
fails('EINVAL', qr/^cost: 1.5; 0 to/, sub { $rule->check('a', 1.5) });
fails('EINVAL', qr/^keeep: this call has no such option/, sub { $rule->check('a', 1, keeep => 1) });
fails('EINVAL', qr/^options: a name has no value/, sub { $rule->check('a', 1, 'keep') });
fails('EINVAL', qr/^max_wait: soon is no duration/, sub { $rule->reserve('a', 1, max_wait => 'soon') });
fails('EINVAL', qr/^match: there is no star/, sub { $web->ban('a', match => 'star') });
fails('EINVAL', qr/^limit: expected a rate such as .*, got often$/, sub { $web->rule('r', 'often') });
fails('EINVAL', qr/^capacities: a limit has no such field/, sub { $web->rule('r', capacities => 5) });
fails('ENOENT', qr/^rule none: /, sub { $web->rule('none') });
fails('EINVAL', qr/^name: it has a byte of 0/, sub { $web->rule("a\0b", '1/s') });
fails('EINVAL', qr/^limits: a hash is needed/, sub { $web->rule('r', limits => ['1/s']) });
fails('EINVAL', qr/^keys: expected an integer from 0 to \d+, got many$/, sub { RL->open($name, keys => 'many') });
fails('EINVAL', qr/^group: expected the name .*, got no such group$/, sub { RL->open($name, group => 'no such group') });
fails('RL_ELESS', qr/^segment $name: .*keys/s, sub { RL->open($name, keys => 1_000_000, at_least => 1) });
fails('ENOENT', qr/^segment nobody: /, sub { RL->open('nobody', existing => 1) });
fails('EINVAL', qr/is no RL::Segment$/, sub { RL::Segment::look('RL') });
fails('EINVAL', qr/is no RL::Segment$/, sub { RL::Segment::look($rule) });
fails('EINVAL', qr/is of another segment/, sub { RL->open(undef, private => 1)->check_many([[$rule, 'a']]) });
fails('EINVAL', qr/^items: an array is needed/, sub { $web->check_all(['a']) });
fails('EINVAL', qr/^items: 0; 1 to/, sub { $web->check_all([]) });
fails('EINVAL', qr/kept no charges/, sub { $rule->check('a')->refund });
fails('EINVAL', qr/is no network/, sub { RL::Proxies->new(['nonsense']) });

# What is held comes back when nobody has it any more, but not by a child's copy.
my $jobs = $web->rule('jobs', algorithm => 'in_flight', capacity => 1);
{
    my $hold = $jobs->hold('report');
    ok($hold, 'held');
    is($jobs->hold('report'), undef, 'no more');
    my $pid = fork // die;
    exit 0 if !$pid;
    waitpid $pid, 0;
    is($jobs->peek('report')->remaining, 0, 'a child has ended, and its parent still holds');
}
is($jobs->peek('report')->remaining, 1, 'given back');
eval { my $hold = $jobs->hold('report'); die "in the midst\n" };
is($jobs->peek('report')->remaining, 1, 'also by an exception');
ok($kept->refund,  'refund');
ok(!$kept->refund, 'once');

# What a request has cost is said once.
my $tokens = $web->rule('tokens', '100/hour');
my ($less, $more) = map { $tokens->check('a', $_, keep => 1) } 40, 10;
ok($less->settle(15), 'less');
is($tokens->peek('a')->used, 25, 'comes back');
ok($more->settle(110), 'more');
is($tokens->peek('a')->used,      125, 'is charged');
is($tokens->peek('a')->remaining, 0,   'nothing is left');
fails('RL_ESETTLED', qr/settle/, sub { $less->settle(15) });
fails('EINVAL', qr/actual/, sub { $tokens->check('b', 1, keep => 1)->settle(-1) });
fails('EINVAL', qr/what has it cost/, sub { $tokens->check('b', 1, keep => 1)->settle });

# What a function spends, and what was taken of a stream.
my $llm = $web->rule('llm', limits => [{ limit => '100/hour' }, { algorithm => 'in_flight', capacity => 1, counts => 'requests' }]);
my $spent = sub { my (undef, @each) = $llm->check_limits('a', 0); return join ' ', map { $_->used } @each };
is_deeply([$llm->spend('a', 40, sub {
    is($spent->(), '40 1', 'spend: is charged');
    my $denied = !eval { $llm->spend('a', 1, sub { fail('it ran') }); 1 } && $@;
    ok(ref $denied && $denied->isa('RL::Denied') && $denied->isa('RL::Error') && $denied->result->is_denied, 'spend: denied');
    like($denied, qr/^llm: denied at .*native\.t line \d+/, 'spend: by the line that asked');
    $_[0]->settle(10);
    return (7, 8);
})], [7, 8], 'spend: what the function returns');
is($spent->(), '10 0', 'spend: is settled');
is(eval { $llm->spend('a', 20, sub { die "in the midst\n" }) } // $@, "in the midst\n", 'spend: what dies');
is($spent->(), '30 0', 'spend: leaves its estimate');
sub stream { my @chunks = @_; return $llm->check('a', 20, keep => 1)->stream(sub { shift @chunks }, sub { length shift }) }
my ($stream, @taken) = stream('one', 'three');
while (defined(my $chunk = $stream->getline)) { push @taken, $chunk }
$stream->close;
is_deeply([\@taken, $spent->()], [['one', 'three'], '38 0'], 'stream: all of it');
($stream = stream('one', 'three'))->getline;
undef $stream;
is($spent->(), '41 0', 'stream: what was taken before it was dropped');
stream('one')->close;
is($spent->(), '61 0', 'stream: what was not begun costs its estimate');

# Several.
my $mails = $web->rule('mails', limits => [{ limit => '2/s' }, { limit => '5/day' }]);
my $all = $web->check_all([[$rule, 'bob'], [$mails, 'bob', 3]]);
is($all->{verdict}, 'never', 'two of a second are the most');
is($all->{decided}, 1, 'that has decided');
is($rule->peek('bob')->remaining, 3, 'nothing was charged');
is(scalar($web->check_many([map { [$rule, "m$_"] } 1 .. 100])), 100, 'many');
my ($answer, @each) = $mails->check_limits('bob');
is_deeply([map { $_->limit } @each], [2, 5], 'of each limit');

# Bans.
$web->ban('198.51.100.0/24', match => 'network', for => '1h');
is($rule->check('198.51.100.7')->reason, 'ban', 'a network');
ok($web->unban('198.51.100.0/24', match => 'network'), 'lifted');
ok(!$web->unban('198.51.100.0/24', match => 'network'), 'once');

# Counters.
my $failed = $web->counters('failed');
is($failed->add('alice', 2, 600)->{value}, 2, 'add');
is($failed->add('alice', -1, 600)->{value}, 1, 'take off');
is($failed->get('bob')->{done}, 0, 'none');
fails('EINVAL', qr/^lifetime: never ever is no duration/, sub { $failed->add('alice', 1, 'never ever') });

# A warning that closes the segment, and a key that does.
{
    package Closing;
    use overload '""' => sub { ${ $_[0] }->close; 'alice' };
}
my $other = RL->open(undef, private => 1);
my $there = $other->rule('r', '1/s');
fails('EBADF', qr/^the segment is closed/, sub { $there->check(bless \(my $s = $other), 'Closing') });
fails('EBADF', qr/^the segment is closed/, sub { $there->check('a') });
fails('EBADF', qr/^the segment is closed/, sub { $other->rule('r') });

# A word of before.
{
    my @said;
    local $SIG{__WARN__} = sub { push @said, @_ };
    ok(RL->open(undef, private => 1, on_full => 'evict', cells => 64), 'is taken, as one that has cells');
    is(scalar @said, 1, 'with one warning');
    like($said[0], qr/"evict" is gone, taken as "reserve"/, 'which names it');
}

# The name gets another segment: rules are defined there anew.
RL::unlink($name);
my $new = RL->open($name, keys => 2000);
ok($web->look, 'it is another one');
ok($rule->allow('alice'), 'and limits');
is($new->rule('login')->peek('alice')->remaining, 2, 'there');

if ($Config{useithreads}) {
    require threads;
    is(threads->create(sub { return ref \$rule eq 'REF' && eval { $rule->check('a'); 1 } ? 1 : 0 })->join, 0, 'a thread has no copy');
    is($rule->peek('alice')->remaining, 2, 'and takes nothing with it');
}

for my $one ($web, $rule, $web->counters('failed'), RL::Proxies->new(['unix:']), $rule->check('alice', 0, keep => 1)) {
    ok(!eval { dclone($one); 1 } && $@ =~ /there is no copy of it/, 'no copy of ' . ref $one);
}

# The middleware.
sub app {
    my %options = @_;
    return builder { enable 'RL', segment => $web, %options; sub { [200, ['X-Here' => 1], ['hello']] } };
}
sub call {
    my ($app, %env) = @_;
    my ($status, $fields, $body) = @{ $app->({ REMOTE_ADDR => '203.0.113.7', 'psgi.errors' => RL::Test::Errors->new, %env }) };
    return ($status, {@$fields}, join '', @$body);
}
{
    package RL::Test::Errors;
    our $text = '';
    sub new   { return bless {}, shift }
    sub print { $text .= $_[1]; return 1 }
}
my $app = app(rule => 'page', limit => '2/min', trusted => ['10.0.0.0/8']);
my ($status, $fields, $body) = call($app);
is($status, 200, 'middleware: allowed');
is($fields->{'RateLimit-Policy'}, '"page";q=2;w=60', 'middleware: its policy');
ok($fields->{'X-Here'} && !exists $fields->{'X-RateLimit-Limit'}, 'middleware: and its answer');
call($app);
($status, $fields, $body) = call($app);
is($status, 429, 'middleware: over');
is($fields->{'Content-Type'}, 'application/problem+json', 'middleware: a body for programs');
like($body, qr/#quota-exceeded".*"status": 429.*"violated-policies": \["page"\]/, 'middleware: of that kind');
cmp_ok($fields->{'Retry-After'}, '>', 0, 'middleware: until when');
is((call($app, REMOTE_ADDR => '10.0.0.1', HTTP_X_FORWARDED_FOR => '6.6.6.6, 203.0.113.7'))[0], 429, 'middleware: behind a proxy');
is((call($app, REMOTE_ADDR => '2001:db8::1'))[0], 200, 'middleware: IPv6');
call($app, REMOTE_ADDR => '2001:db8::2');
is((call($app, REMOTE_ADDR => '2001:db8::3'))[0], 429, 'middleware: by its /64');
is((call(app(rule => 'page', key => sub { undef })))[0], 200, 'middleware: nobody');
($status, $fields) = call(app(rule => 'page', headers => 'x'));
ok(exists $fields->{'X-RateLimit-Limit'} && !exists $fields->{RateLimit}, 'middleware: older fields');
($status, $fields) = call(app(rule => 'page', headers => 'ietf-7'));
is($fields->{'RateLimit-Policy'}, '2;w=60', 'middleware: by an older version of the draft');
like($fields->{RateLimit}, qr/^limit=2, remaining=0, reset=\d+$/, 'middleware: what is left, by it');
($status, $fields, $body) = call(app(rule => 'page', key => sub { '' }));
is($status, 503, 'middleware: undecided');
like($body, qr/#temporary-reduced-capacity"/, 'middleware: and its body');
is((call(app(rule => 'page', key => sub { '' }, on_error => 'allow')))[0], 200, 'middleware: let through');
is($RL::Test::Errors::text, "rl: rule page: RL_EEMPTY: refused\nrl: rule page: RL_EEMPTY: let through\n", 'middleware: both are told');

# Which answers count.
sub used_after {
    my ($counted, $answer) = @_;
    my $app = builder { enable 'RL', segment => $web, rule => 'answers', limit => '9/day', count_status => $counted; $answer };
    my $before = $web->rule('answers')->peek('203.0.113.9')->used;
    eval { call($app, REMOTE_ADDR => '203.0.113.9'); 1 };
    return $web->rule('answers')->peek('203.0.113.9')->used - $before;
}
sub answering { my $status = shift; return sub { [$status, [], ['told']] } }
my @counts = (
    [[401], 401, 1], [[401], 200, 0], [401, 401, 1], ['4XX', 404, 1], [['4xx', 503], 500, 0], [['4xx', 503], 503, 1], [undef, 200, 1],
    [sub { $_[0] == 404 && $_[1]{REMOTE_ADDR} }, 404, 1], [sub { $_[0] == 404 }, 405, 0],
);
is(used_after($_->[0], answering($_->[1])), $_->[2], "middleware: whether $_->[1] counts") for @counts;
is(used_after([401], sub { die }), 0, 'middleware: a death is no 401');
is(used_after(['5xx'], sub { die }), 1, 'middleware: but a 500');
$RL::Test::Errors::text = '';
is(used_after(sub { die "no idea\n" }, answering(200)), 1, 'middleware: what cannot be told counts');
is($RL::Test::Errors::text, "rl: rule answers: an answer counts that may not: no idea\n", 'middleware: and is told');
for my $wrong ([], ['6xx'], 99) {
    ok(!eval { app(rule => 'answers', count_status => $wrong); 1 }, 'middleware: no status');
}
my $both = app(rule => 'both', limit => { limits => [{ limit => '9/day' }, { algorithm => 'in_flight', capacity => 1 }] }, count_status => [401]);
my %env = (REMOTE_ADDR => '203.0.113.7', 'psgi.errors' => RL::Test::Errors->new);
is($both->(\%env)->[0], 200, 'middleware: a unit in flight');
is((call($both))[0], 429, 'middleware: stays, though the answer does not count');
%env = ();
is((call($both))[0], 200, 'middleware: until the request has ended');
for (['2001:db8:0:7::', undef], ['2001:db8::', 56], ['2001:db8:0:7::1', 128]) {
    my ($key, $bits) = @$_;
    my $rule = 'bits' . ($bits // '');
    my $app = app(rule => $rule, limit => '9/day', client_v6 => $bits);
    call($app, REMOTE_ADDR => $_) for '2001:db8:0:7::1', '192.0.2.1', '::ffff:192.0.2.1';
    is_deeply([map { $web->rule($rule)->peek($_)->used } $key, '192.0.2.1'], [1, 2], "middleware: an IPv6 client is $key");
}

my $held = app(rule => 'flight', limit => { algorithm => 'in_flight', capacity => 1 });
is((call($held))[0], 200, 'middleware: in flight');
is((call($held))[0], 200, 'middleware: until the request has ended');
eval { app(rule => 'page', on_error => 'maybe') };
like($@, qr/^on_error: maybe is neither/, 'middleware: its options');
done_testing();
