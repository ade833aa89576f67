# What the watermark costs: a call of it, and the first ID of a transaction, which enters a slot.
package Watermark;
use strict;
use warnings;
use Exporter 'import';
use Report;
use Rounds;
use Server;

our @EXPORT = qw(watermark_and_transactions);

my $statements = $ENV{BENCH_QUICK} ? 20_000 : 200_000;
my @calls = ('now()', 'flakeid_watermark()');
my @firsts = ('pg_backend_pid()', 'flake_next()', 'sno_next()');

# Each PERFORM is a statement with a snapshot of its own.
sub in_statements {
    my ($call, $more) = @_;
    return "DO \$\$ BEGIN FOR i IN 1..$statements LOOP PERFORM $call; $more END LOOP; END \$\$;";
}

sub seconds {
    my ($block) = @_;
    my ($began, $ended) = psql_without_disk('bench', 'SELECT extract(epoch FROM clock_timestamp());', $block,
        'SELECT extract(epoch FROM clock_timestamp());');
    return $ended - $began;
}

sub watermark_and_transactions {
    my ($rounds) = @_;
    my @contenders = ((map { [$_, in_statements($_, '')] } @calls), (map { ["first $_", in_statements($_, 'COMMIT;')] } @firsts),
        (map { ["first and second $_", in_statements("$_, $_", 'COMMIT;')] } @firsts));
    my %nanos;
    rounds('watermark', $rounds, scalar @contenders, sub {
        my ($counts, @order) = @_;
        my %now = map { $_->[0] => 1e9 * seconds($_->[1]) / $statements } @contenders[@order];
        return unless $counts;
        push @{ $nanos{'a call of flakeid_watermark()'} }, $now{'flakeid_watermark()'} - $now{'now()'};
        for my $next (@firsts[1 .. $#firsts]) {
            my $first = $now{"first $next"} - $now{"first $firsts[0]"};
            push @{ $nanos{"the first $next of a transaction"} }, $first;
            push @{ $nanos{"the second $next of a transaction"} },
                $now{"first and second $next"} - $now{"first and second $firsts[0]"} - $first;
        }
    });
    heading('The watermark');
    my ($connections) = psql('bench', 'SHOW max_connections;');
    text("Each call in a statement of its own, with max_connections = $connections; each first ID in a transaction of its own, with its COMMIT. Net of the same statements with a function that does nothing.\n");
    table(['what', 'net ns'], map { [$_, spread($nanos{$_}, '%.0f')] } sort keys %nanos);
    return;
}

1;
