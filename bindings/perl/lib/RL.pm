# SPDX-License-Identifier: BSD-2-Clause
package RL;

use strict;
use warnings;

our $VERSION = '0.9.0';

require XSLoader;
XSLoader::load('RL', $VERSION);

use constant NEVER_NS => ~0;

# Options by name, none of which the call does not have.
sub _options {
    my ($given, @names) = @_;
    return {} unless @$given;
    RL::Error->throw(EINVAL => 22, 'options: a name has no value') if @$given % 2;
    my %options = @$given;
    my %known = map { $_ => 1 } @names;
    for my $name (sort keys %options) {
        RL::Error->throw(EINVAL => 22, "$name: this call has no such option") unless $known{$name};
    }
    return \%options;
}

# Which answers count, of handlers: what is called with a status and the request; undef: all of them.
sub _counting {
    my $given = shift;
    return $given if !defined $given || ref $given eq 'CODE';
    my %all   = map { lc $_ => 1 } ref $given ? @$given : $given;
    my @wrong = grep { !/^[1-5](xx|\d\d)$/ } keys %all;
    die "count_status: @wrong: [401, '4xx'] or a function is needed\n" if @wrong || !%all;
    return sub { my $status = shift; return $all{$status} || $all{ int($status / 100) . 'xx' } };
}

sub open { return RL::Segment->open(@_[1 .. $#_]) }

package RL::Error;

use overload '""' => sub { $_[0]{text} }, fallback => 1;

sub throw {
    my ($class, $code, $errno, $message, %more) = @_;
    my (undef, $file, $line) = caller(my $depth = 0);
    (undef, $file, $line) = caller(++$depth) while defined $file && $file eq __FILE__;
    die bless { code => $code, errno => $errno, message => $message, text => "$message at $file line $line.\n", %more }, $class;
}

sub code    { return $_[0]{code} }
sub errno   { return $_[0]{errno} }
sub message { return $_[0]{message} }

# What spend() dies with for a request that may not pass.
package RL::Denied;
our @ISA = 'RL::Error';

sub result { return $_[0]{result} }

package RL::Segment;

# As RL.xs numbers them.
use constant { ALL => 0, PEEK => 1, RESERVE => 2, MANY => 3, LIMITS => 4, ALONE => 5 };

sub open {
    my ($class, $name, @options) = @_;
    RL::Error->throw(EINVAL => 22, 'options: a name has no value') if @options % 2;
    my %options = @options;
    my $is_private = delete $options{private};
    return _open($name, \%options, !!$is_private);
}

# rule(name): one that is there. rule(name, "5/min", fields) or rule(name, fields): define it.
sub rule {
    my ($self, $name, @fields) = @_;
    unshift @fields, 'limit' if @fields % 2;
    my %base = @fields;
    my $is_first = delete $base{keep};
    my $limits = @fields ? delete($base{limits}) // [{}] : undef;
    return $self->_named($name, 'RL::Rule', 0, $limits, \%base, !!$is_first);
}

sub counters {
    my ($self, $name, %options) = @_;
    return $self->_named($name, 'RL::Counters', $options{existing} ? 0 : 1, undef, {}, 0);
}

sub check_all {
    my ($self, $items, @options) = @_;
    my $how = RL::_options(\@options, qw(now_ns keep max_wait));
    my ($verdict, $decided, @results) = $self->_decide(exists $how->{max_wait} ? RESERVE : ALL, $how, $items);
    return { verdict => $verdict, decided => $decided, results => \@results };
}

sub check_many {
    my ($self, $items, @options) = @_;
    my (undef, undef, @results) = $self->_decide(MANY, RL::_options(\@options, qw(now_ns)), $items);
    return @results;
}

sub _set {
    my ($self, $what, $key, @options) = @_;
    my $how = RL::_options(\@options, qw(match rule for until_ns));
    return $self->_except($what, $how->{rule}, $how->{match} // 'key', $key, @$how{qw(until_ns for)});
}

sub ban   { my $self = shift; $self->_set(0, @_); return 1 }
sub allow { my $self = shift; $self->_set(1, @_); return 1 }

sub unban {
    my ($self, $key, @options) = @_;
    my $how = RL::_options(\@options, qw(match rule));
    return $self->_except(2, $how->{rule}, $how->{match} // 'key', $key, undef, undef);
}

# Without a key, all of them.
sub reset_matching {
    my ($self, $key, @options) = @_;
    my $how = RL::_options(\@options, qw(match rule));
    return $self->_reset_matching($how->{rule}, $how->{match} // 'key', $key);
}

package RL::Rule;
our @ISA = 'RL::Named';

my @TIER = qw(capacity burst undelayed now_ns);

sub _ask {
    my ($self, $how, $names, $key, $cost, @options) = @_;
    my $given = RL::_options(\@options, @$names);
    return RL::Segment::_decide($self, $how, $given, [[$self, $key, $cost, $given]]);
}

sub check   { my $self = shift; return ($self->_ask(RL::Segment::ALONE, [@TIER, 'keep'], @_))[2] }
sub reserve {
    my ($self, $key, $cost, @options) = @_;
    return ($self->_ask(RL::Segment::RESERVE, [@TIER, 'max_wait', 'keep'], $key, $cost, @options, keep => 1))[2];
}

sub allow   { my $self = shift; return $self->check(@_)->passes }

sub peek {
    my ($self, $key, @options) = @_;
    return ($self->_ask(RL::Segment::PEEK, ['now_ns'], $key, 1, @options))[2];
}

sub check_limits {
    my $self = shift;
    my (undef, undef, @results) = $self->_ask(RL::Segment::LIMITS, [@TIER], @_);
    return @results;
}

# Units of a concurrency limit, for as long as what this returns is kept; undef if there are none.
sub hold {
    my ($self, $key, $units) = @_;
    my $result = $self->check($key, $units // 1, keep => 1);
    return $result->passes ? $result : undef;
}

# Charges an estimate, and calls with the result, which is to be settled. What is not settled stays.
sub spend {
    my ($self, $key, $estimate, $do) = @_;
    my $spent = $self->check($key, $estimate, keep => 1);
    RL::Denied->throw(EAGAIN => 11, $self->name . ": $spent->{verdict}", result => $spent) unless $spent->passes;
    return $do->($spent);
}

sub refund {
    my ($self, $key, $cost, @options) = @_;
    my $given = RL::_options(\@options, @TIER);
    return $self->_refund($given, [$self, $key, $cost, $given]);
}

package RL::Counters;
our @ISA = 'RL::Named';

# How many values stand behind the key.
my %VALUES = (add => 2, get => 0, set => 2, set_new => 2, touch => 1, drop => 0);
for my $step (keys %VALUES) {
    no strict 'refs';
    *$step = sub {
        my ($self, $key, @rest) = @_;
        my @values = splice @rest, 0, $VALUES{$step};
        unshift @values, undef if $step eq 'touch';
        return $self->_apply($step, $key, @values[0, 1], RL::_options(\@rest, 'now_ns')->{now_ns});
    };
}

package RL::Result;

for my $name ('rule', RL::_fields()) {
    no strict 'refs';
    *$name = sub { return $_[0]{$name} };
    my $seconds = $name =~ s/_ns$//r;
    *$seconds = sub { my $ns = $_[0]{$name}; return $ns == RL::NEVER_NS ? 9**9**9 : $ns / 1e9 } if $seconds ne $name;
}

sub is_allowed { return $_[0]{verdict} eq 'allowed' }
sub is_denied  { return $_[0]{verdict} eq 'denied' || $_[0]{verdict} eq 'never' }

# Nothing passes in silence: what could not be decided dies.
sub passes {
    my $self = shift;
    RL::Error->throw($self->{error}, $self->{errno}, 'rule ' . $self->{rule}->name . ": $self->{trouble}") if $self->{error};
    return $self->is_allowed;
}

sub headers {
    my ($self, @options) = @_;
    my $given = RL::_options(\@options, qw(reset set));
    return $self->{rule}->_headers(@$self{qw(raw now_ns)}, $given->{reset}, $given->{set} // 'ietf');
}

sub problem {
    my ($self, $status) = @_;
    return $self->{rule}->_problem($self->{raw}, $status);
}

sub _kept {
    my $self = shift;
    return $self->{kept} // RL::Error->throw(EINVAL => 22, 'this request kept no charges: ask with keep => 1');
}

sub release { my $self = shift; return $self->_kept->release }

sub refund {
    my ($self, @options) = @_;
    my $given = RL::_options(\@options, qw(now_ns holds));
    return $self->_kept->refund($given->{now_ns}, $given->{holds} // 1);
}

sub settle {
    my ($self, $actual, @options) = @_;
    my $given = RL::_options(\@options, 'now_ns');
    return $self->_kept->settle($actual // RL::Error->throw(EINVAL => 22, 'settle: what has it cost?'), $given->{now_ns});
}

# A body of PSGI that costs what was taken of it: the next chunk of a function, and what it costs.
sub stream {
    my ($self, $next, $count) = @_;
    return bless { result => $self, next => $next, count => $count, spent => 0 }, 'RL::Stream';
}

package RL::Stream;

sub getline {
    my $self  = shift;
    my $chunk = $self->{next}->() // return undef;
    $self->{spent} += $self->{count}->($chunk);
    $self->{is_begun} = 1;
    return $chunk;
}

# Once, at its end. What nobody has begun costs its estimate.
sub close {
    my $self = shift;
    my $result = delete $self->{result} // return;
    $result->settle($self->{spent}) if $self->{is_begun};
    return $result->release;
}

# A server that has lost its client only drops it.
sub DESTROY { my $self = shift; local $@; eval { $self->close; 1 } or warn $@; return }

package RL::Proxies;

sub new {
    my ($class, $networks, @options) = @_;
    return _new($networks, RL::_options(\@options, qw(field prefix_v4 prefix_v6)));
}

# An object is one process's memory: threads get none, each opens its own, and Storable no copy.
for my $class (qw(RL::Segment RL::Named RL::Kept RL::Stream RL::Proxies)) {
    no strict 'refs';
    *{"${class}::CLONE_SKIP"}      = sub { return 1 };
    *{"${class}::STORABLE_freeze"} = sub { RL::Error->throw(EINVAL => 22, ref(shift) . ': there is no copy of it') };
}

1;

__END__

=head1 NAME

RL - one rate limit for all worker processes of a host

=head1 SYNOPSIS

    use RL;

    my $web   = RL->open('web');
    my $login = $web->rule('login', '5/min');
    my $result = $login->check($address);
    return [429, [$result->headers], []] if $result->is_denied;

=head1 DESCRIPTION

Worker processes count in shared memory: those of Starman and mod_perl, jobs, and programs in other languages. There is
no server to ask and no lock to wait for. A worker that is killed leaves nothing to clean up, and what it held comes back.

Options are names and values behind all other arguments. Durations are seconds, or text such as C<1h30m>. Names that end
with C<_ns> are nanoseconds, as whole numbers; C<now_ns> and C<until_ns> count from 1970. C<RL::NEVER_NS> is never.

A key is a string. Text that Perl has decoded counts as its UTF-8 bytes, and other strings as the bytes they are: so
C<decode('UTF-8', $bytes)> and C<$bytes> are one key, as in all languages. One above 4096 bytes counts as its digest.

=head2 open

    RL->open($name, %options)

Opens the segment, C<default> without a name; makes it if it is not there. Open it before the workers fork or in each of
them: both count together. Options are those of rl_open(3): C<keys>, C<ring> (64), C<key_bytes>, C<rules>, C<overrides>,
C<bans>, C<holders>, C<cells>, C<reserves>, C<events>, C<changes>, C<mode>, C<on_full> (C<reserve>, C<deny>, C<allow>),
C<buffer>, C<group>; and true or false: C<readonly>, C<existing>, C<any_owner>, C<huge_pages>, C<populate>, C<at_least>,
and C<private>: memory of this process alone.

=head2 rule

    $segment->rule($name)
    $segment->rule($name, '5/min', %fields)
    $segment->rule($name, %fields)
    $segment->rule($name, limits => [\%fields, ...], keep => 1)

Without a limit, a rule that somebody else has defined or configured. Fields are those of rl.json(5): C<limit>,
C<capacity>, C<window>, C<algorithm>, C<burst>, C<prefix_v4>, C<prefix_v6> and the others. With C<keep> a rule that is
defined already otherwise is refused. What the administrator configures stands above what programs define.

=head2 check

    $rule->check($key, $cost, capacity => ..., burst => ..., undelayed => ..., now_ns => ..., keep => 1)

Charges the cost (1) if the rule has room for it, and returns a result: C<verdict> (C<allowed>, C<denied>, C<never>,
C<undecided>), C<is_allowed>, C<is_denied>, C<reason> (C<limit>, C<ban>, C<exemption>, C<reserve>,
C<share>), C<limit>,
C<remaining>, C<used>, C<index>, C<is_shadow_denied>, C<rule>; C<retry_after>, C<reset_after>, C<delay>, C<window> in
seconds, and each with C<_ns>; C<error>, a name if it could not be decided. C<headers> are the fields of an HTTP answer,
names and values; with C<< reset => 'unix' >> C<X-RateLimit-Reset> is a time, and with C<< set => 'ietf-7' >> they are
as that version of the draft has them. C<passes> is whether it is allowed, and dies
if that could not be decided.

C<problem($status)> is the body of a refusal, as RFC 9457 has it (C<application/problem+json>).

With C<keep> the result has what was charged: C<refund> gives it back (C<< holds => 0 >>: but for units in flight), C<release> gives
back units in flight; C<settle($actual)> says what the request has cost, once that is known: less than was charged comes back, more is
charged from then on. Units come
back by themselves when the last reference to the result goes.

=head2 spend, stream

    my $answer = $rule->spend($key, 800, sub { my $spent = shift; my $answer = ask(); $spent->settle($answer->{tokens}); $answer })
    return [200, [], $result->stream(sub { $upstream->read }, sub { my $chunk = shift; length $chunk })];

C<spend> charges an estimate, and calls with the result, which is to be settled: what is not settled stays, also if the function
dies. Who may not pass is an RL::Denied, an RL::Error with a C<result>. C<stream> is a body of PSGI, by C<getline> and C<close>: of a
function that returns the next chunk or undef. It settles to the sum of what the second one says of chunks that were taken,
however it ends: also if it is dropped, for the client has gone.

=head2 allow, peek, reserve, hold, check_limits

    $rule->allow($key, $cost, %options)             # as check(...)->passes
    $rule->peek($key)                               # what check would say; charges nothing
    $rule->reserve($key, $cost, max_wait => 5)      # books ahead: wait for result->delay
    my $hold = $jobs->hold($key, $units) or return; # units of a concurrency limit, while $hold lives
    my ($result, @each) = $rule->check_limits($key) # and one of each limit

=head2 refund, reset, stats

    $rule->refund($key, $cost)   # by key, without a result
    $rule->reset($key)           # forget what the key has used
    $rule->stats->{denied}       # over all processes

=head2 check_all, check_many

    $segment->check_all([[$rule, $key, $cost, \%tier], ...], keep => 1, max_wait => 5)
    $segment->check_many([[$rule, $key], ...])

All of several rules or none of them: a hash of C<verdict>, C<decided> (the number of the one that denied), C<results>.
Or each by itself: a list of results.

=head2 ban, allow, unban, reset_matching, forget

    $segment->ban('198.51.100.0/24', match => 'network', for => '1h', rule => $login)
    $segment->allow('monitor', until_ns => ...)     # exempt from limits
    $segment->unban('198.51.100.0/24', match => 'network', rule => $login)
    my ($forgotten, $unknown) = $segment->reset_matching('user:', match => 'prefix')
    $segment->forget('login')                       # the rule

C<match> is C<key>, C<prefix> or C<network>. Without a rule: under every rule.

=head2 counters

    my $failed = $segment->counters('failed-logins');
    $failed->add($key, 1, 600)->{value};

Counters by key, each with a lifetime; none lives for ever. C<add>, C<get>, C<set>, C<set_new>, C<touch> and C<drop> return
a hash of C<done>, C<value>, C<expires_after_ns>, C<is_new>; C<reset> forgets one.

=head2 close, look

    $segment->close
    $segment->look

Another segment that has the name now is found within a second of calls. C<look> finds it now, and is true if there is one.

=head2 RL::Proxies

    my $proxies = RL::Proxies->new(['10.0.0.0/8'], field => 'x-forwarded-for', prefix_v6 => 64);
    my ($address, $how, $hops) = $proxies->find($peer, @lines);

The client behind proxies that are trusted: see rl_http.h.

=head2 RL::rate, RL::key_digest, RL::unlink, RL::problem

    my ($capacity, $window_ns) = RL::rate('100/min');
    RL::key_digest($key);   # what stands for a long key
    RL::unlink('web');      # remove the segment
    RL::problem(503);       # the body of a refusal where there is no result: nothing could be decided

=head1 ERRORS

Calls die with an object of RL::Error: C<code> is a name (C<EINVAL>, C<ENOSPC>, C<RL_EFOREIGN>), C<errno> its number,
C<message> a sentence; as a string it has the caller's line, too. C<check> does not die for what a segment cannot decide:
its result has an C<error>. C<allow>, C<hold> and C<passes> do. If a segment that was replaced cannot be opened, the old
one goes on to limit, with a warning.

=head1 FORKS AND THREADS

A child of fork counts in the same segment, and does not give back what its parent holds. A thread of Perl gets no
objects: it opens the segment itself. Storable refuses to copy one, and a result, which has its rule.

=head1 SEE ALSO

L<Plack::Middleware::RL>, L<Apache2::RL>, rl(7), rl.json(5), rlctl(1)

=cut
