# SPDX-License-Identifier: BSD-2-Clause
# What Apache's children answer: which of them it was.
use strict;
use warnings;
use Apache2::RL;
use Apache2::RequestIO ();

sub RL::Test::handler {
    my $r = shift;
    $r->headers_out->set('X-Worker' => $$);
    $r->print("$$\n");
    return Apache2::Const::OK;
}

1;
