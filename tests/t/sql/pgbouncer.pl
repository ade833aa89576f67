# Many clients share two sessions of the server through pgbouncer, a transaction at a time. No ID
# repeats, and IDs rise within a transaction and within a session of the server. A client's next
# transaction may be in the other session: its IDs are not of an earlier tick, but may be below.
use strict;
use warnings;
use lib 'tests/perl';

use Pooler;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = start_pooler('pgbouncer');
sub sql { return $node->safe_psql('postgres', @_) }
my @columns = sort keys %COLUMNS;
my @rising = grep { $_ ne 'spread' } @columns;

# Tests that the IDs of a run rise, in the order of the rows of each client, session or transaction.
# In the condition ID is an ID and TIME its time; BEFORE(x) is x of the row before.
sub rises {
	my ($run, $of, $condition, $test) = @_;
	my (@counts, @steps);
	for my $column (@rising) {
		my $time = "$COLUMNS{$column}{id_type}_timestamp($column)";
		my $step = $condition =~ s/\bID\b/$column/gr =~ s/\bTIME\b/$time/gr =~
		  s/BEFORE\((.*)\)/lag($1) OVER before/r;
		push @steps, "$step AS $column";
		push @counts, "count(*) FILTER (WHERE NOT $column)";
	}
	my ($counts, $steps) = map { join ', ', @$_ } \@counts, \@steps;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(sql(<<~"SQL"), join('|', (0) x @rising), "$run: $test");
		SELECT $counts FROM (
			SELECT $steps FROM ids WHERE run = '$run'
			WINDOW before AS (PARTITION BY $of ORDER BY nr)) AS steps
		SQL
}

for my $run ('simple', 'extended', prepares() ? 'prepared' : ()) {
	# The pooler's choice of a session is chance. Clients come again until one was in both.
	my $times = 0;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $in_both = <<~"SQL";
		SELECT count(*) FROM (
			SELECT FROM ids WHERE run = '$run' GROUP BY client HAVING count(DISTINCT session) = 2
		) AS clients
		SQL
	do {
		inserts_rows($run, $run);
		$times++;
	} until sql($in_both) || time() > $until;
	my $distinct = join ', ', map { "count(DISTINCT $_)" } @columns;
	is( sql("SELECT count(*), $distinct FROM ids WHERE run = '$run'"),
		join('|', ($times * 20 * 15 * 15) x (1 + @columns)),
		"$run: no ID of a default repeats");
	is(sql("SELECT count(DISTINCT session) FROM ids WHERE run = '$run'"),
		'2', "$run: the pooler uses two sessions");
	is(sql(<<~"SQL"), 't|' . $times * 15, "$run: a client uses both sessions");
		SELECT bool_or(sessions = 2), max(transactions) FROM (
			SELECT count(DISTINCT session) AS sessions, count(DISTINCT transaction) AS transactions
			FROM ids WHERE run = '$run' GROUP BY client) AS clients
		SQL
	rises($run, 'transaction', 'ID > BEFORE(ID)', 'IDs rise within a transaction');
	rises($run, 'session', 'ID > BEFORE(ID)', 'IDs rise within a session, over all clients');
	rises(
		$run, 'client',
		'TIME >= BEFORE(TIME)',
		'the tick does not go back from one transaction of a client to the next');
}

stop_pooler();
done_testing();
