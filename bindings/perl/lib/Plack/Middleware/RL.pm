# SPDX-License-Identifier: BSD-2-Clause
package Plack::Middleware::RL;

use strict;
use warnings;
use parent 'Plack::Middleware';
use Plack::Util;
use Plack::Util::Accessor qw(segment rule limit key cost trusted client_v6 headers on_error count_status);
use RL;

my $IETF = qr/^RateLimit/;
my %HEADERS = (ietf => $IETF, 'ietf-11' => $IETF, 'ietf-7' => $IETF, x => qr/^X-/, none => qr/^(?!)/);

sub prepare_app {
    my $self = shift;
    my ($segment, $rule, $limit) = ($self->segment // 'default', $self->rule, $self->limit);
    my ($headers, $on_error) = ($self->headers // 'ietf', $self->on_error // 'deny');
    die "rule: it is missing\n" unless defined $rule;
    die "headers: $headers is none of ietf, ietf-11, ietf-7, x, none\n" unless $HEADERS{$headers};
    die "on_error: $on_error is neither allow nor deny\n" unless $on_error =~ /^(allow|deny)$/;
    unless (ref $rule) {
        $segment = RL->open($segment) unless ref $segment;
        $rule = $segment->rule($rule, ref $limit ? %$limit : $limit // ());
    }
    $self->{of}      = $rule;
    $self->{shown}   = $HEADERS{$headers};
    $self->{set}     = $headers =~ /^ietf/ ? $headers : undef;
    $self->{passing} = $on_error eq 'allow';
    $self->{proxies} = RL::Proxies->new($self->trusted // [], prefix_v6 => $self->client_v6 // 64);
    $self->{counts}  = RL::_counting($self->count_status);
    return;
}

sub call {
    my ($self, $env) = @_;
    my $key = $self->key ? $self->key->($env) : $self->_client($env);
    return $self->app->($env) unless defined $key;

    # It holds its units in flight for as long as the request has its environment.
    my $result = $env->{'rl.result'} = $self->{of}->check($key, ref $self->cost ? $self->cost->($env) : $self->cost // 1, keep => 1);
    if ($result->error) {
        my $what = $self->{passing} ? 'let through' : 'refused';
        $env->{'psgi.errors'}->print('rl: rule ' . $self->{of}->name . ': ' . $result->error . ": $what\n");
        return $self->{passing} ? $self->app->($env) : _answer($result, 503);
    }
    my %fields = $result->headers(set => $self->{set});
    my @shown = map { ($_ => $fields{$_}) } grep { /$self->{shown}/ } sort keys %fields;
    push @shown, 'Retry-After' => $fields{'Retry-After'} if exists $fields{'Retry-After'};
    return _answer($result, 403, @shown) if $result->reason eq 'ban' && !$result->is_allowed;
    return _answer($result, 429, @shown) unless $result->is_allowed;
    my $answer = eval { $self->app->($env) } or do {
        my $error = $@;
        $self->_judge($env, 500);
        die $error;
    };
    return $self->response_cb($answer, sub { $self->_judge($env, $_[0][0]); push @{ $_[0][1] }, @shown });
}

# What does not count is given back; units in flight are held for as long as the environment is there.
sub _judge {
    my ($self, $env, $status) = @_;
    my $counts = $self->{counts} // return;
    return if eval { $counts->($status, $env) or $env->{'rl.result'}->refund(holds => 0); 1 };
    return $env->{'psgi.errors'}->print('rl: rule ' . $self->{of}->name . ": an answer counts that may not: $@");
}

sub _client {
    my ($self, $env) = @_;
    return ($self->{proxies}->find($env->{REMOTE_ADDR}, $env->{HTTP_X_FORWARDED_FOR}))[0];
}

sub _answer {
    my ($result, $status, @fields) = @_;
    return [$status, ['Content-Type' => 'application/problem+json', @fields], [$result->problem($status)]];
}

1;

__END__

=head1 NAME

Plack::Middleware::RL - one rate limit for all worker processes

=head1 SYNOPSIS

    use Plack::Builder;

    builder {
        enable 'RL', segment => 'web', rule => 'page', limit => '100/min', trusted => ['10.0.0.0/8'];
        $app;
    };

=head1 DESCRIPTION

Who is over the limit gets 429 with C<Retry-After>, who is banned 403; everybody is told where they are by C<RateLimit>
and C<RateLimit-Policy>. Units of a concurrency limit are held until the request has ended.

=over

=item segment

A name, or an open L<RL> segment. C<default>.

=item rule

The name of a rule, or an open rule. It is found, and with C<limit> defined.

=item limit

A rate such as C<100/min>, or a hash of a rule's fields: see L<RL/rule>.

=item key

Gets the environment of a request, and returns for whom it counts; undef: for nobody. By default that is the client's
address, of IPv6 its /64.

=item cost

What a request is charged: 1, or a function of the environment. An application that knows better afterwards settles it.

=item trusted

Networks of proxies whose C<X-Forwarded-For> is believed. None.

=item client_v6

How many leading bits of an IPv6 address are one client: 64. 128 counts single addresses.

=item count_status

Which answers count: a status, a list such as C<[401, '5xx']>, or a function of the status and the environment. A request is
charged before it is served, so that no number of them at once passes, and given back before its answer is sent if that does
not count. An application that dies has answered 500. What ends without an answer counts.

=item headers

C<ietf> for C<RateLimit> (the default), C<ietf-7> as version 7 of the draft has it, C<x> for C<X-RateLimit-Limit> and its like, or C<none>.

=item on_error

What happens to a request that cannot be decided: C<deny> it with 503 (the default), or C<allow> it. Both are written to
C<psgi.errors>.

=back

C<< $env->{'rl.result'} >> has the L<RL/check> of the request. An application that calls C<refund> on it gives back what it
was charged; C<settle> says what it has cost, and C<stream> is a body that costs what was sent, also to a client that has gone.

=head1 SEE ALSO

L<RL>

=cut
