# Any user can declare an operator with flakeid's estimators, of any two types. The planner gets an
# estimate for it, and does not crash the server.
use strict;
use warnings;
use lib 'tests/perl';

use PlannerServer;
use Server;
use Test::More;

my ($node, $session) = planner_server('operators', 'restart_after_crash = off');

# Types that could be taken for one another: by reference and by value, of the same length,
# polymorphic, of a domain.
my %value = (
	flake128 => "flake128_at('2026-11-02')",
	sno => "sno_at('2026-11-02', 3)",
	guid => "guid_at('2026-11-02')",
	guid_local => "guid_local_at('2026-11-02')",
	uniqueid => "uniqueid_at('2026-11-02')",
	bigint => '4096::bigint',
	bytea => q('\\x00'::bytea),
	text => "'a'::text",
	uuid => "'00000000-0000-0000-0000-000000000001'::uuid",
	timetz => "timetz '10:00+01'",
	timestamptz => "timestamptz '2026-11-02'",
	interval => "interval '1 h'",
	name => "'a'::name",
	float8 => '0.5::float8',
	sno_domain => "sno_at('2026-11-02', 3)::sno_domain");
my @id_types = qw(flake128 sno guid guid_local uniqueid);
my @types = sort keys %value;
my $columns = join ', ', map { "of_$_ $_" } @types;
my $values = join ', ', map { $value{$_} } @types;
$session->query_safe(<<~"SQL");
	CREATE DOMAIN sno_domain AS sno;
	CREATE ROLE ordinary;
	CREATE TABLE every ($columns);
	GRANT SELECT ON every TO ordinary;
	INSERT INTO every SELECT $values FROM generate_series(1, 300);
	SQL
# A histogram needs values that differ.
$session->query_safe(<<~"SQL") for @id_types;
	INSERT INTO every (of_$_) SELECT ${_}_at(timestamptz '2026-11-01' + nr * interval '1 min')
		FROM generate_series(1, 3000) AS nr
	SQL
$session->query_safe('INSERT INTO every (of_sno_domain) SELECT of_sno FROM every; ANALYZE every');

# Each pair has an operator without a commutator, and one with a commutator that does not exist.
my @asked;
for my $left (@types, 'anyelement') {
	for my $right (@types, 'anyelement') {
		next unless grep { $left eq $_ || $right eq $_ } @id_types, 'sno_domain', 'anyelement';
		next if ($left eq 'anyelement') != ($right eq 'anyelement');
		my $operator = "LEFTARG = $left, RIGHTARG = $right, FUNCTION = odd_${left}_$right";
		$session->query_safe(<<~"SQL");
			CREATE FUNCTION odd_${left}_$right($left, $right) RETURNS boolean IMMUTABLE
				LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
			CREATE OPERATOR <<< ($operator, RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel);
			CREATE OPERATOR >>> ($operator, COMMUTATOR = <-<,
				RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel);
			SQL
		my ($l, $r) = map { $_ eq 'anyelement' ? 'flake128' : $_ } $left, $right;
		for ('<<<', '>>>') {
			push @asked, "SELECT FROM every WHERE of_$l $_ $value{$r}",
			  "SELECT FROM every WHERE $value{$l} $_ of_$r",
			  "SELECT FROM every WHERE of_$l $_ of_$r",
			  "SELECT FROM every AS a JOIN every AS b"
			  . " ON a.of_$l $_ b.of_$r AND a.of_sno > b.of_sno";
		}
	}
}

note scalar @asked, ' queries';
my $started = $session->query_safe('SELECT pg_postmaster_start_time()');
$session->query_safe('SET ROLE ordinary');
my @failed;
while (my @some = splice @asked, 0, 200) {
	my ($printed, $good) = ask_together($session, map { "EXPLAIN $_" } @some);
	my $plans = () = $printed =~ /^\S.*\(cost=/mg;
	next if $good && $plans == @some;
	# These are sent one by one, to find those without a plan.
	for (@some) {
		my $error = error_in($session, "EXPLAIN $_");
		push @failed, "$_: $error" if $error;
	}
	push @failed, "$plans plans for " . @some . ' queries' unless @failed;
}
is(join("\n", @failed), '', "an operator of any two types with flakeid's estimators gets a plan");
$session->query_safe('RESET ROLE');
is($session->query_safe('SELECT pg_postmaster_start_time()'),
	$started, 'the server survives these operators');

# Beside all that flakeid's own operators have their estimates.
my ($rows) =
  $session->query_safe("EXPLAIN SELECT FROM every WHERE of_sno < $value{sno}") =~ /rows=(\d+)/;
cmp_ok($rows, '>', 1000, "an operator of flakeid's own keeps its estimate");
cmp_ok($rows, '<', 2000, "an operator of flakeid's own has not the estimate of an unknown operand");

$session->quit;
stop_without_leaks($node);
done_testing();
