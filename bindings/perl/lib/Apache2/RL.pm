# SPDX-License-Identifier: BSD-2-Clause
package Apache2::RL;

use strict;
use warnings;
use Apache2::Connection  ();
use Apache2::Const -compile => qw(OK DONE FORBIDDEN HTTP_SERVICE_UNAVAILABLE);
use Apache2::Filter      ();
use Apache2::Log         ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::Response    ();
use APR::Brigade         ();
use APR::Bucket          ();
use APR::Table           ();
use RL;

use constant TOO_MANY_REQUESTS => 429;

# Of this process: opened at its first request, so that none is older than a fork.
my (%rules, $process);
my $address = RL::Proxies->new([]);

sub _rule {
    my ($segment, $name, $limit) = @_;
    (%rules, $process) = () if ($process // 0) != $$;
    $process = $$;
    return $rules{"$segment $name"} //= RL->open($segment)->rule($name, $limit // ());
}

sub CLONE { %rules = (); $address = undef; return }

# A client's request is decided once under a rule, whatever the server makes of it: a directory's index, includes, internal
# redirects, the document of a refusal.
sub handler {
    my $r   = shift;
    my $top = $r;
    while (my $from = $top->main // $top->prev) { $top = $from }
    my $visit = $top->pnotes('rl.visit') // {};
    $top->pnotes('rl.visit' => $visit);
    my $rule   = join ' ', map { $r->dir_config("RL$_") // '' } qw(Segment Rule);
    my $is_new = !$visit->{$rule};
    my ($status, $result) = @{ $visit->{$rule} //= [_decide($r, $top)] };
    $r->pnotes(rl => $result) if $result;    # and what it holds until the request has ended
    return $is_new || $r->main ? $status : Apache2::Const::OK;
}

# What to answer, and what the limit said, if it could.
sub _decide {
    my ($r, $top) = @_;
    my ($segment, $name, $limit, $on_error, $cost, $status) =
        map { scalar $r->dir_config("RL$_") } qw(Segment Rule Limit OnError Cost CountStatus);
    my $counts;
    my $result = eval {
        die "RLRule: it is not set\n" unless defined $name;
        $counts = RL::_counting(defined $status ? [split ' ', $status] : undef);
        $address //= RL::Proxies->new([]);
        _rule($segment // 'default', $name, $limit)->check(($address->find($r->useragent_ip))[0], $cost // 1, keep => 1);
    };
    if (my $error = $result ? $result->error : $@) {
        $r->log_error('rl: rule ' . ($name // '') . ": $error");
        return Apache2::Const::OK if ($on_error // 'deny') eq 'allow';
        return _refuse($r, Apache2::Const::HTTP_SERVICE_UNAVAILABLE, $result);
    }
    my %fields = $result->headers;
    $r->err_headers_out->set($_ => $fields{$_}) for grep { !/^X-/ } keys %fields;
    $top->push_handlers(PerlLogHandler => sub { _judge($counts, $result, @_) }) if $counts && $result->is_allowed;
    return Apache2::Const::OK, $result if $result->is_allowed;
    return _refuse($r, $result->reason eq 'ban' ? Apache2::Const::FORBIDDEN : TOO_MANY_REQUESTS, $result), $result;
}

# By the status alone; or with a body that says what kind of refusal it is. The response phase, which has print, does not come then.
sub _refuse {
    my ($r, $status, $result) = @_;
    return $status if lc($r->dir_config('RLProblem') // 'off') ne 'on' || $r->main;
    my $body   = $result ? $result->problem($status) : RL::problem($status);
    my $bucket = APR::Bucket->new($r->connection->bucket_alloc, $body);
    my $all    = APR::Brigade->new($r->pool, $r->connection->bucket_alloc);
    $r->status($status);    # before the request's own body is read: no 100 Continue
    $r->discard_request_body;
    $r->content_type('application/problem+json');
    $r->set_content_length(length $body);
    $all->insert_tail($bucket);
    $r->output_filters->pass_brigade($all);
    return Apache2::Const::DONE;
}

# What does not count is given back, when the answer is sent and logged.
sub _judge {
    my ($counts, $result, $r) = @_;
    while (my $next = $r->next) { $r = $next }    # by internal redirects
    $result->refund(holds => 0) unless $counts->($r->status);
    return Apache2::Const::OK;
}

1;

__END__

=head1 NAME

Apache2::RL - an access handler of mod_perl: one rate limit for all children of Apache

=head1 SYNOPSIS

    <Location /login>
      PerlAccessHandler Apache2::RL
      PerlSetVar RLSegment web
      PerlSetVar RLRule login
      PerlSetVar RLLimit 5/min
    </Location>

=head1 DESCRIPTION

Counts requests by the client's address, of IPv6 by its /64; once under a rule, with all that the server makes of a request: a
directory's index, includes, internal redirects, error documents. Who is over the limit gets 429 with C<Retry-After>, who is
banned 403. Behind proxies mod_remoteip tells who the client is.

=over

=item RLSegment

The segment's name. C<default>.

=item RLRule

The rule's name. It has to be set.

=item RLLimit

Defines the rule, as in C<100/min>. Without it the rule is one that somebody else has defined or configured.

=item RLCost

What a request is charged, 1. A handler that knows better afterwards settles it.

=item RLCountStatus

Which answers count: statuses and classes such as C<401 5xx>. A request is charged before it is served, so that no number of them at
once passes, and given back when it is logged, if its answer does not count. What is killed counts.

=item RLProblem

C<on>: who is refused gets a body of C<application/problem+json> in place of Apache's page and of C<ErrorDocument>; its type tells a
used quota, a ban and a limit that cannot be decided apart. C<off> without.

=item RLOnError

What happens to a request that cannot be decided: C<deny> it with 503 (the default), or C<allow> it. Both are logged.

=back

C<< $r->pnotes('rl') >> has the L<RL/check> of the request. Its C<refund> gives back what it was charged;
C<settle> says what it has cost, and C<stream> makes chunks of it that cost what was sent, also to a client that has gone.

Where there is no other use for mod_perl, mod_rl of this project costs less, and does more.

=head1 SEE ALSO

L<RL>

=cut
