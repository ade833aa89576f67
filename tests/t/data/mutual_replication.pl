# Two servers with generator IDs of their own replicate to each other while both write. No ID is
# generated twice, and both have all rows.
use strict;
use warnings;
use lib 'tests/perl';

use Kinds;
use IPC::Run;
use Test::More;

# What of an ID tells whose it is: of generator IDs each server has eight. A guid_local has no such
# part, since it is for one server. Nor has a uuidv7, which differs by its random bits.
my %owner = (
	flake => "(SELECT (datacenter * 32 + worker) / 8 FROM flake_decode(id, '2010-01-01 00:00+00'))",
	sno => '(sno_decode(id)).partition / 8',
	flake128 => '(flake128_decode(id)).worker',
	guid => '(guid_decode(id)).node',
	uniqueid => '(uniqueid_decode(id)).generator_id / 8',
	inverse => '(guid_decode(id, inverse => true)).node',
	spread => '(uniqueid_decode(id)).generator_id / 8',);
my @shared = grep { $owner{ $_->{name} } } @KINDS;

sub of_shared {
	my ($sql) = @_;
	return join '', map { of_kind($_, $sql) } @shared;
}

my %writer = (here => replicating_server('here', 0), there => replicating_server('there', 1));
my %other = (here => 'there', there => 'here');
my @names = sort keys %writer;
for my $name (@names) {
	$writer{$name}->safe_psql('postgres', 'CREATE DATABASE mutual');
	# Up to 15 a subscription gets what came from the subscriber itself, too. So each publishes its
	# own rows.
	my $published = join ', ', map { "TABLE $_->{name}_both WHERE (writer = '$name')" } @shared;
	$writer{$name}->safe_psql('mutual',
		'CREATE EXTENSION flakeid; CREATE TABLE stop ();'
		  . of_shared(<<~"SQL") . "CREATE PUBLICATION p FOR $published WITH (publish = 'insert')");
		CREATE TABLE KIND_both (
			id ID PRIMARY KEY DEFAULT NEXT, writer text DEFAULT '$name', nr integer
		);
		SQL
}
subscribe($writer{$_}, $writer{ $other{$_} }, 'mutual', "at_$_", 'p') for @names;
$writer{$_}->wait_for_subscription_sync($writer{ $other{$_} }, "at_$_", 'mutual') for @names;

# Both write until they are told to stop, which is when both have written much. A server that has
# written enough continues more slowly, since its rows are replicated, too.
my $inserts = of_shared('INSERT INTO KIND_both (nr) SELECT generate_series(1, 100); ');
my $write = <<"SQL";
DO \$\$
DECLARE
	round integer := 0;
BEGIN
	LOOP
		$inserts
		COMMIT;
		EXIT WHEN EXISTS (SELECT FROM stop);
		round := round + 1;
		IF round > 50 THEN
			PERFORM pg_sleep(0.02);
		END IF;
	END LOOP;
END \$\$
SQL
my %run = map {
	$_ => IPC::Run::start(
		[
			'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $writer{$_}->connstr('mutual'),
			'-c', $write
		])
} @names;
for my $name (@names) {
	$writer{$name}->poll_query_until('mutual',
		"SELECT count(*) >= 1000 FROM $shared[-1]{name}_both WHERE writer = '$name'")
	  or die "$name does not write";
}
$writer{$_}->safe_psql('mutual', 'INSERT INTO stop DEFAULT VALUES')   for @names;
ok($run{$_}->finish, "the server $_ writes until it is told to stop") for @names;
$writer{ $other{$_} }->wait_for_catchup("at_$_")                      for @names;

for my $kind (map { $_->{name} } @shared) {
	my $written = 0;
	$written +=
	  $writer{$_}->safe_psql('mutual', "SELECT count(*) FROM ${kind}_both WHERE writer = '$_'")
	  for @names;
	my $all = <<~"SQL";
		SELECT count(DISTINCT id), md5(string_agg(id::text || writer, ' ' ORDER BY id))
		FROM ${kind}_both
		SQL
	my $rows = $writer{here}->safe_psql('mutual', $all);
	like($rows, qr/^$written\|/,
		"$kind: two servers that write at the same time never generate the same ID");
	is($writer{there}->safe_psql('mutual', $all), $rows, "$kind: both servers have all rows");
	is($writer{here}->safe_psql('mutual', <<~"SQL"), '1|1', "$kind: each ID tells its server");
		SELECT min(writers), max(writers) FROM (
			SELECT $owner{$kind} AS owner, count(DISTINCT writer) AS writers
			FROM ${kind}_both GROUP BY 1) AS owners
		SQL
}
for my $name (@names) {
	is( $writer{$name}
		  ->safe_psql('mutual', 'SELECT sum(apply_error_count) FROM pg_stat_subscription_stats'),
		'0',
		"the server $name refuses no row");
}
$writer{$_}->safe_psql('mutual', "DROP SUBSCRIPTION at_$_") for @names;

$_->stop for values %writer;
done_testing();
