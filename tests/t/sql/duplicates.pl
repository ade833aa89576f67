# docs/duplicates.md as it stands: a copy of a server is promoted beside its running primary, and
# both generate the same IDs, of every type. The page stops that, finds the rows, and gives them new
# IDs.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $page = slurp_file('docs/duplicates.md');
my @sql = $page =~ /^```sql\n(.*?)^```$/msg;
my @shell = $page =~ /^```sh\n(.*?)^```$/msg;
is(scalar(@sql) . ' ' . scalar(@shell), '5 1', 'the page has its blocks');
my ($identity, $settings, $suspects, $duplicates, $repair) = @sql;

# One generator ID, so that both servers generate the same IDs as soon as both have one millisecond.
my $keeps = flakeid_server('keeps', <<~'END', allows_streaming => 1);
	flakeid.generator_ids = '0'
	flakeid.interface = '02:00:00:00:00:01'
	END
$keeps->safe_psql('postgres', <<~'SQL');
	CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), note text, created_at date);
	CREATE TABLE items (
		id bigint PRIMARY KEY DEFAULT flake_next(),
		order_id bigint NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
		note text
	);
	INSERT INTO orders (note) SELECT 'before' FROM generate_series(1, 100);
	INSERT INTO items (order_id, note) SELECT id, 'before' FROM orders;
	SELECT guid_next();
	SQL
$keeps->backup('copy');
my $changes = PostgreSQL::Test::Cluster->new('changes');
$changes->init_from_backup($keeps, 'copy', has_streaming => 1);
$changes->start;
$changes->promote;
my $since = $changes->safe_psql('postgres',
	"SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') || '+00'");
# A promoted server knows its node when its worker has opened the state.
$changes->poll_query_until('postgres', "SELECT flakeid_identity() -> 'guid' ->> 'node' IS NOT NULL")
  or die 'the state is not opened';
is( $keeps->safe_psql('postgres', $identity),
	$changes->safe_psql('postgres', $identity),
	'the copy owns what the original owns');

# The application, at both. Which new IDs repeat depends on the clock. Those of one moment do for
# sure.
my $moment = "'$since'::timestamptz + interval '1 ms'";
for my $node ($keeps, $changes) {
	my $name = $node->name;
	$node->safe_psql('postgres', <<~"SQL");
		INSERT INTO orders SELECT flake_at($moment + nr % 7 * interval '1 ms', nr), '$name ' || nr
			FROM generate_series(0, 999) AS nr;
		INSERT INTO items (order_id, note) SELECT id, note FROM orders WHERE note LIKE '$name %';
		INSERT INTO orders (note) SELECT '$name later' FROM generate_series(1, 1000);
		SQL
}

# 1: another identity.
$changes->safe_psql('postgres', $settings);
$changes->poll_query_until('postgres', "SELECT current_setting('flakeid.generator_ids') = '56-63'")
  or die 'the settings do not come';
my @owned = map { [ split /\|/, $_->safe_psql('postgres', $identity) ] } $keeps, $changes;
isnt($owned[0][$_], $owned[1][$_],
	'the copy has another ' . ('list of generator IDs', 'node', 'worker')[$_])
  for 0 .. 2;

# 2: the rows, with the time and the servers of this test.
s/2026-11-23 00:00\+00/$since/g for $suspects, @shell;
like($changes->safe_psql('postgres', $suspects),
	qr/^0\|2000\|/, 'all rows since then are of the shared generator ID');
{
	local @ENV{ 'KEEPS', 'CHANGES' } = map { $_->connstr('postgres') } $keeps, $changes;
	my $dir = PostgreSQL::Test::Utils::tempdir('ids');
	is(system('sh', '-e', '-c', "cd '$dir'\n$shell[0]"),
		0, 'the IDs of the other server are copied');
}
my $found = $changes->safe_psql('postgres',
	"SELECT count(*) FROM (" . ($duplicates =~ s/;//r) . ') AS found');
cmp_ok($found, '>=', 1000, 'the duplicates are found');
sub changed { return $changes->safe_psql('postgres', @_) }
my $items =
  'SELECT count(*) FROM items JOIN orders ON orders.id = order_id WHERE items.note = orders.note';
is(changed($items), '1100', 'each item refers to its order before the repair');

# 3: new IDs.
is($changes->safe_psql('postgres', $repair), '0', 'after the repair there is no duplicate');
is(changed($items), '1100', 'each item refers to its order after the repair');
is(changed('SELECT count(*) FROM orders'), '2100', 'the repair loses no row');
is( changed(
		<<~'SQL'), "$found|t", 'each new ID has the time of the old one, and a new generator ID');
	SELECT count(*), bool_and(flake_timestamp(old_id) = flake_timestamp(new_id)
		AND (flake_decode(new_id)).generator_id BETWEEN 56 AND 63)
	FROM new_ids
	SQL
is(changed("SELECT count(*) FROM orders WHERE note = 'before'"),
	'100', 'rows from before the copy keep their IDs');
is(changed("SELECT condeferrable FROM pg_constraint WHERE conname = 'items_order_id_fkey'"),
	'f', 'the foreign key is as before');

# The other ID types, as the table has them.
my @rows = $page =~ /^\| (sno|uniqueid|guid|flake128) \| `([^`]*)` \| `([^`]*)` \|$/mg;
is(scalar(@rows), 12, 'the table has the other ID types');
while (my ($type, $which, $same) = splice @rows, 0, 3) {
	my $old = $keeps->safe_psql('postgres', "SELECT ${type}_next()");
	my $new = "(SELECT $same FROM (SELECT '$old'::$type AS id, 0 AS number) AS old)";
	is( $changes->safe_psql(
			'postgres',
			"SELECT ${type}_timestamp(id) = ${type}_timestamp('$old'), $which <> "
			  . ($which =~ s/\bid\b/'$old'/r)
			  . " FROM (SELECT $new AS id) AS new"),
		't|t',
		"$type: an ID of the same time, and of the new identity");
}
$_->stop for $keeps, $changes;
done_testing();
