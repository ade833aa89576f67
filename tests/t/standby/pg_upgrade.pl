# pg_upgrade leaves the state file behind. Without it the new cluster's IDs begin after its clock's present;
# with it, copied over by hand, there are no IDs until a superuser takes it over, and then above its horizon.
use strict;
use warnings;
use lib 'tests/perl';

use FakedNode;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my @id_types = map { $_->{name} } @ID_TYPES;
chomp(my $bindir = `pg_config --bindir`);
-x "$bindir/pg_upgrade" or die "there is no $bindir/pg_upgrade\n";
my @no_sync = `$bindir/pg_upgrade --help` =~ /--no-sync/ ? ('--no-sync') : ();

# A server that is set up alike.
sub server {
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '3'
flakeid.max_clock_wait = '100ms'
END
	return ($node, FakedNode->new($node));
}

# The old server's clock is ahead by an hour.
my ($old, $old_clock) = server('old');
$old_clock->step(3600);
$old_clock->start;
create_tables($old);
$old->safe_psql('postgres', "INSERT INTO ${_}s (nr) SELECT generate_series(1, 2000)") for @id_types;
$old->stop;

my ($new, $new_clock) = server('new');
# pg_upgrade must be alone in each database.
my $workers =
  "flakeid.notify_databases = 'postgres, template1'\nflakeid.standby_watermark_interval = '50ms'\n";
$_->append_conf('postgresql.auto.conf', $workers) for $old, $new;
{
	# It leaves files where it is called.
	my $here = PostgreSQL::Test::Utils::tempdir('upgrade');
	command_ok(
		[
			'sh', '-c', 'cd "$0" && exec "$@"', $here,
			'pg_upgrade', '-b', $bindir, '-B',
			$bindir, '-d', $old->data_dir, '-D',
			$new->data_dir, '-p', $old->port, '-P',
			$new->port, '-s', $new->host, @no_sync
		],
		'pg_upgrade beside settings that want workers');
	unlink map { $_->data_dir . '/postgresql.auto.conf' } $old, $new;
}
ok(!-e $new->data_dir . '/flakeid', '... takes no state file along');

# without the state file -----------------------------------------------------------------------------------

$new_clock->start;
for my $id_type (@id_types) {
	is( $new->safe_psql(
			'postgres',
			"SELECT ${id_type}_timestamp(${id_type}_next()) BETWEEN pg_postmaster_start_time() AND clock_timestamp()"
		),
		't',
		"without it $id_type IDs begin after the clock's present");
}
is($new->safe_psql('postgres', "SELECT count(*), count(DISTINCT id) FROM ${_}s"),
	'2000|2000', "the old $_ IDs are there")
  for @id_types;
$new->stop;

# with it ----------------------------------------------------------------------------------------------------

system('rm', '-r', $new->data_dir . '/flakeid') == 0 or die 'could not remove the state file';
PostgreSQL::Test::RecursiveCopy::copypath($old->data_dir . '/flakeid', $new->data_dir . '/flakeid');
my $log = -s $new->logfile;
$new_clock->start;
for my $id_type (@id_types) {
	my $error = error_of($new, "INSERT INTO ${id_type}s DEFAULT VALUES");
	like(
		$error,
		qr/ERROR:  55000: state file ".*" is from a different cluster/,
		"with the old one's state file there are no $id_type IDs");
	like($error, qr/HINT:  .*flakeid_accept_clock\(\)/, '... and the error says what to do');
}
$new->wait_for_log(
	qr/LOG:  flakeid cannot generate IDs: state file ".*" is from a different cluster/, $log);
pass('... so does the log, from the start');
is($new->safe_psql('postgres', "SELECT count(${_}_timestamp(id)) FROM ${_}s"),
	'2000', "... while $_ IDs are read")
  for @id_types;
is($new->safe_psql('postgres', 'SELECT flakeid_accept_clock()'), '', 'a superuser takes it over');
# IDs are keys here, so that one that came again would be an error of another kind. sno may go on in the
# other of its timelines.
for my $id_type (@id_types) {
	for my $moment (
		undef,
		$new->safe_psql(
			'postgres', "SELECT extract(epoch FROM max(${id_type}_timestamp(id))) FROM ${id_type}s")
	  )
	{
		defined $moment ? $new_clock->stand_still($moment) : $new_clock->step(0);
		my $error = error_of($new,
			"SET statement_timeout TO '${PostgreSQL::Test::Utils::timeout_default}s'; INSERT INTO ${id_type}s SELECT FROM generate_series(1, 100)"
		);
		next if $id_type eq 'sno' && $error eq '';
		like(
			$error,
			qr/ERROR:  58000: the clock is [\d.]+ (?:ms|s|min) behind the last $id_type ID/,
			"while the clock is behind its horizon there are no $id_type IDs"
			  . (
				defined $moment ? ', not even at the moment when the old server made its last' : '')
		);
	}
}
$new_clock->step(3602);
for my $id_type (@id_types) {
	is( $new->safe_psql(
			'postgres',
			"WITH made AS (INSERT INTO ${id_type}s SELECT FROM generate_series(1, 100) RETURNING id)"
			  . " SELECT bool_and(made.id > last.id) FROM made, (SELECT id FROM ${id_type}s ORDER BY id DESC LIMIT 1) AS last"
		),
		't',
		"$id_type IDs begin above it");
}
is( state_of($new)->{system_identifier},
	$new->safe_psql('postgres', 'SELECT system_identifier FROM pg_control_system()'),
	'the state file is the new cluster\'s own');
$new->stop;
$new_clock->start;
is(error_of($new, "INSERT INTO ${_}s DEFAULT VALUES"),
	'', "after a restart there are $_ IDs without further ado")
  for @id_types;

$new->stop;
done_testing();
