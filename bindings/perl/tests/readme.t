# SPDX-License-Identifier: BSD-2-Clause
# Runs the examples of README.md in order: Perl, where `# => x` is what a line is to give, and shell. Its handler is that of
# the manual; each call is in the manual, which is well-formed; each file of its last table is there.
use strict;
use warnings;
use Pod::Checker;
use Test::More;

my ($here) = __FILE__ =~ m{(.*)/};
my $name = "perl-readme-$$";

sub slurp { my $path = shift; open my $file, '<', $path or die "$path: $!"; local $/; return scalar <$file> }

my $text = slurp("$here/../README.md");
my ($blocks, $checked) = (0, 0);
sub same { my ($want, $got) = @_; $checked++; is($got, $want, "=> $want"); return }

while ($text =~ /^```(perl|sh)\n(.*?)^```$/msg) {
    my ($language, $code) = ($1, $2);
    $blocks++;
    $code =~ s/'web'/'$name'/g;
    if ($language eq 'sh') {
        $code =~ s/--segment web/--segment $name/g;
        local $ENV{PATH} = ($ENV{RLCTL} =~ s{/[^/]*$}{}r) . ":$ENV{PATH}";
        is(system('sh', '-ec', "exec >/dev/null; $code"), 0, "in a shell: $code");
        next;
    }
    # A line that tells its value checks it.
    $code =~ s{^(\s*)(.*?);\s+\# => (.+)$}{$1main::same(q($3), scalar($2));}mg;
    eval "package Readme; use strict; use warnings; $code; 1" or fail("block $blocks: $@\n$code");
}
cmp_ok($blocks,  '>=', 4,  'blocks');
cmp_ok($checked, '>=', 13, 'values');
RL::unlink($name);

my %pod = map { $_ => slurp("$here/../lib/$_") } qw(RL.pm Plack/Middleware/RL.pm Apache2/RL.pm);
for my $file (sort keys %pod) {
    my $log = '';
    open my $to, '>', \$log;
    my $checker = Pod::Checker->new(-warnings => 1);
    $checker->parse_from_file("$here/../lib/$file", $to);
    is($checker->num_errors + $checker->num_warnings, 0, "$file: its manual $log");
}
my ($manual) = $pod{'RL.pm'} =~ /^__END__\n(.*)/ms;
for my $class (qw(RL RL::Segment RL::Rule RL::Named RL::Counters RL::Result RL::Proxies RL::Error)) {
    no strict 'refs';
    my @calls = grep { defined &{"${class}::$_"} && !/^_|_ns$|^[A-Z_]+$|^STORABLE_|^(import|bootstrap|throw|new|name|\()/ } sort keys %{"${class}::"};
    is(join(' ', grep { $manual !~ /\b\Q$_\E\b/ } @calls), '', "$class: each call is in the manual");
}
my ($handler) = $text =~ /^```apache\n(.*?)^```/ms;
my $indented = $handler =~ s/^/    /mgr;
like($pod{'Apache2/RL.pm'}, qr/\Q$indented\E/, 'the handler is that of the manual');
ok(-e "$here/../$_", $_) for $text =~ m{`(tests/\w+\.\w+)}g;
done_testing();
