# SPDX-License-Identifier: BSD-2-Clause
# What Apache's children answer: which of them it was; for /hold they take a unit in flight, and keep it.
use strict;
use warnings;
use Apache2::RL;
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use Apache2::SubRequest ();

my $app = do "$ENV{RL_HERE}/spends.pl" || die $@;

# What it is told is a status, or is paid afterwards.
sub RL::Test::Login::handler {
    my $r = shift;
    $app->{login}->(my $what = $r->uri =~ s{.*/}{}r);
    $r->status($what eq 'right' ? 200 : 401);
    return Apache2::Const::OK;
}

sub RL::Test::Spend::handler {
    my $r = shift;
    my $body = $app->{spend}->($r->pnotes('rl'), $r->uri =~ s{.*/}{}r) // return Apache2::Const::OK;
    while (defined(my $chunk = $body->getline)) { $r->print($chunk) }
    return Apache2::Const::OK;
}

sub RL::Test::handler {
    my $r = shift;
    $r->headers_out->set('X-Worker' => $$);
    $r->print("$$\n");
    return Apache2::Const::OK;
}

# Two parts, whose statuses it prints, and then a redirect within the server.
sub RL::Test::Visits::handler {
    my $r = shift;
    return RL::Test::handler($r) if $r->uri !~ /whole/;
    my @parts = map { $r->lookup_uri('/visits/one') } 1, 2;
    $r->print(join(' ', map { $_->status } @parts), "\n");
    $r->internal_redirect('/visits/last');
    return Apache2::Const::OK;
}

my @held;

sub RL::Test::Hold::handler {
    my $r = shift;
    my $web = RL->open($r->dir_config('RLSegment'), existing => 1);
    push @held, $web->rule('jobs', algorithm => 'in_flight', capacity => 4)->hold('one');
    $r->status(429) unless $held[-1];
    return RL::Test::handler($r);
}

1;
