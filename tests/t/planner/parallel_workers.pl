# A worker that is asked for an ID raises the error of nextval. IDs of a given time come from no
# shared state, and workers compute them.
use strict;
use warnings;
use lib 'tests/perl';

use ParallelQueries;
use Server;
use Test::More;

my ($node, $version, $forced) = parallel_server('parallel_workers');
sub sql { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

# Tests the error of a function that is PARALLEL SAFE, and calls another one.
sub is_refused {
	my ($query, $name, $hint, $claim) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $begin = "ERROR:  25000: cannot execute $name() during a parallel operation\n"
	  . ($hint ? "HINT:  $hint\n" : '');
	return like(error_of($node, "SET parallel_leader_participation = off; $query"),
		qr/\Q$begin\ECONTEXT:.*\nparallel worker\n/s, $claim);
}

my $restrict = 'Declare the function that calls it PARALLEL RESTRICTED';
my $update = 'or run ALTER EXTENSION flakeid UPDATE if the extension is older than the library.';
my @calls = (
	(   map {
			{ %$_, hint => "$restrict, $update" }
		} @GENERATORS),
	{
		function => 'flakeid_watermark',
		call => 'flakeid_watermark()',
		type => 'timestamptz',
		error => 'flakeid_watermark',
		hint => "$restrict."
	},
	{ function => 'nextval', call => "nextval('numbers')", type => 'bigint', error => 'nextval' });
sql(<<~"SQL") for @calls;
	CREATE FUNCTION of_$_->{function}() RETURNS $_->{type} LANGUAGE plpgsql PARALLEL SAFE
		AS \$\$BEGIN RETURN (SELECT $_->{call}); END\$\$
	SQL

for my $preload ($version >= 17 ? ('flakeid', '') : 'flakeid') {
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$preload'");
	$node->restart;
	my $how = $preload ? 'with preloading' : 'without preloading';
	for (@calls) {
		my ($function, $name, $hint) = @{$_}{ 'function', 'error', 'hint' };
		my $claim = "a worker that calls $function gets the error of nextval";
		is_refused("CREATE TABLE made AS SELECT of_$function() FROM source",
			$name, $hint, "$how: $claim");
		is_refused("SET $forced; SELECT of_$function()", $name, $hint, "$how, $forced: $claim");
	}

	my $session = session($node);
	$session->query_safe('SET parallel_leader_participation = off');
	like(error_in($session, 'SELECT count(of_flake_next()) FROM source'),
		qr/25000/, "$how: a session gets the error of a worker");
	my $generated = $session->query_safe(
		'SELECT count(DISTINCT id) FROM (SELECT flake_next() AS id FROM source) AS rows');
	is($generated, $ROWS, "$how: the session generates IDs after the error");
	$session->quit;

	for my $at (map { "${_}_at('2026-01-01', 5)" } qw(flake sno flake128 guid uniqueid)) {
		like(sql("SET $forced; EXPLAIN SELECT $at"), qr/\A *Gather/, "$how: a worker computes $at");
		is(sql("SET $forced; SELECT $at"),
			sql("SELECT $at"), "$how: $at in a worker is $at in the session");
	}
	# A uuidv7 also has random bits, and each worker has a generator of them.
	my $uuidv7 = "uuidv7_at('2026-01-01', 5)";
	like(
		sql("SET $forced; SELECT uuidv7_decode($uuidv7)"),
		qr/\A\("2026-01-01 00:00:00\+00",0,0,5,\d+\)\z/,
		"$how: a worker computes uuidv7_at");
	is(sql("SELECT count(*), count(DISTINCT $uuidv7) FROM source"),
		"$ROWS|$ROWS", "$how: workers compute different uuidv7s of one time and number");
}

$node->stop;
done_testing();
