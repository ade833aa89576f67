# An old primary that pg_rewind makes a standby of the new one takes over its horizon: promoted again, with
# its clock behind, it makes none of the new one's IDs again.
use strict;
use warnings;
use lib 'tests/perl';

use FakedNode;
use Ledger;
use File::Copy qw(copy);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my @id_types = map { $_->{name} } @ID_TYPES;
chomp(my $bindir = `pg_config --bindir`);
-x "$bindir/pg_rewind" or die "there is no $bindir/pg_rewind\n";

sub make {
	my ($node) = @_;
	$node->safe_psql('postgres', "INSERT INTO ${_}s (nr) SELECT generate_series(1, 2000)")
	  for @id_types;
	return;
}

my $old = PostgreSQL::Test::Cluster->new('old');
$old->init(allows_streaming => 1);
$old->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '3'
flakeid.max_clock_wait = '100ms'
wal_keep_size = '1GB'
autovacuum = off
END
my $old_clock = FakedNode->new($old);
$old_clock->start;
create_tables($old);
make($old);

# The new primary's clock is ahead by an hour.
$old->backup('backup');
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init_from_backup($old, 'backup', has_streaming => 1);
my $new_clock = FakedNode->new($new);
$new_clock->step(3600);
$new_clock->start;
make($old);
$old->wait_for_catchup($new);
$new->promote;
make($old);
$old->stop;
make($new);
$new->safe_psql('postgres', 'CHECKPOINT');

my $conf = PostgreSQL::Test::Utils::tempdir('conf') . '/postgresql.conf';
copy($old->data_dir . '/postgresql.conf', $conf) or die "could not copy postgresql.conf: $!";
command_ok(
	[
		'pg_rewind', '--no-sync',
		'--target-pgdata', $old->data_dir,
		'--source-server', $new->connstr('postgres')
	],
	'the old primary is rewound onto the new one');
my ($last) =
  $new->safe_psql('postgres', 'SELECT extract(epoch FROM flake_timestamp(max(id))) FROM flakes');
cmp_ok(until_of(state_of($old)), '>', $last * 1_000_000_000, '... and has its horizon');

copy($conf, $old->data_dir . '/postgresql.conf') or die "could not copy postgresql.conf: $!";
$old->enable_streaming($new);
$old_clock->start;
like(
	error_of($old, 'SELECT flake_next()'),
	qr/ERROR:  25006: /,
	'... as its standby it makes no IDs');
make($new);
$new->wait_for_catchup($old);
$new->stop;
$old->promote;

for my $id_type (@id_types) {
	my $asked = "INSERT INTO ${id_type}s SELECT FROM generate_series(1, 100)";
	like(
		error_of($old, $asked),
		qr/ERROR:  58000: the clock is (?:[345]\d|60) min behind the last $id_type ID/,
		"promoted again, with its clock behind, it makes no $id_type IDs");
	my @moments = split /\|/, $old->safe_psql('postgres', <<"SQL");
SELECT extract(epoch FROM min(${id_type}_timestamp(id))), extract(epoch FROM max(${id_type}_timestamp(id)))
FROM ${id_type}s WHERE ${id_type}_timestamp(id) > now() + interval '10 min'
SQL
	for my $moment (@moments) {
		$old_clock->stand_still($moment);
		like(
			error_of($old, $asked),
			qr/ERROR:  58000: the clock is [\d.]+ (?:ms|s|min) behind/,
			'... nor at the very moment when the new one made its');
	}
	$old_clock->step(0);
}
$old_clock->step(3602);
for my $id_type (@id_types) {
	is(error_of($old, "INSERT INTO ${id_type}s SELECT FROM generate_series(1, 100)"),
		'', "when its clock has caught up $id_type IDs go on");
}

$old->stop;
done_testing();
