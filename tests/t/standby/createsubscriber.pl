# pg_createsubscriber makes a subscriber of a standby, with a new system identifier, as
# docs/fleet.md has it. The server generates no IDs until a superuser accepts the clock. Then it has
# an identity of its own, and its IDs are above all that it had replayed.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.interface = '02:00:00:00:00:01'
END
# The clock of the publisher is so far ahead that no slow machine makes up for it.
my $seconds = 3600;
my $ahead = FakedClock->of_node($publisher);
$ahead->step($seconds);
$ahead->start;
my ($version) = $publisher->safe_psql('postgres', 'SHOW server_version_num') =~ /^(\d+)\d{4}$/;
if ($version < 17) {
	$publisher->stop;
	plan skip_all => "PostgreSQL $version has no pg_createsubscriber";
}
$publisher->safe_psql('postgres', <<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE ids (
	flake bigint PRIMARY KEY DEFAULT flake_next(), sno sno DEFAULT sno_next(),
	flake128 flake128 DEFAULT flake128_next(), guid guid DEFAULT guid_next(),
	uniqueid uniqueid DEFAULT uniqueid_next());
INSERT INTO ids SELECT FROM generate_series(1, 100);
SQL
$publisher->backup('backup');
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init_from_backup($publisher, 'backup', has_streaming => 1);
my $clock = FakedClock->of_node($subscriber);
$clock->start;
$publisher->safe_psql('postgres', 'INSERT INTO ids SELECT FROM generate_series(1, 100)');
$publisher->wait_for_catchup($subscriber);
$subscriber->stop;

$subscriber->append_conf('postgresql.conf', <<'END');
flakeid.generator_ids = '8-15'
flakeid.guid_node = '8'
flakeid.interface = '02:00:00:00:00:08'
END
{
	local %ENV = (%ENV, $clock->environment);
	$subscriber->command_ok(
		[
			'pg_createsubscriber', '-D', $subscriber->data_dir, '-d',
			'postgres', '-P', $publisher->connstr('postgres'), '-p',
			$subscriber->port, '-s', $subscriber->host
		],
		'pg_createsubscriber makes a subscriber of a standby');
}
$clock->start;
is($subscriber->safe_psql('postgres', 'SELECT pg_is_in_recovery()'),
	'f', 'the subscriber is no standby');
like(
	error_of($subscriber, "SELECT $_"),
	qr/ERROR:  55000: state file "flakeid\/state" is from a different cluster\n/,
	"before the clock is accepted, $_ is an error") for 'flake_next()', 'flakeid_watermark()';
$subscriber->safe_psql('postgres', 'SELECT flakeid_accept_clock()');
like(
	error_of($subscriber, 'SELECT flake_next()'),
	qr/ERROR:  58000: the clock is \S+ \S+ behind the last flake ID\n/,
	'after that its IDs wait for the time of those that it had replayed');
$clock->step($seconds + 120);
is( $subscriber->safe_psql('postgres',
		<<'SQL'), 't|t|t|t|t', 'its first IDs are above all that it had replayed');
SELECT flake_next() > max(flake), sno_next() > max(sno), flake128_next() > max(flake128),
	guid_timestamp(guid_next()) > max(guid_timestamp(guid)), uniqueid_next() > max(uniqueid)
FROM ids
SQL
is( $subscriber->safe_psql('postgres',
		<<'SQL'), '1|8|02:00:00:00:00:08|1', 'its IDs have the identity that was set before');
SELECT (flake_decode(flake_next())).generator_id / 8, (guid_decode(guid_next())).node,
	(flake128_decode(flake128_next())).worker, (sno_decode(sno_next())).partition / 8
SQL

my $rows = 'SELECT count(*) FROM ids';
$publisher->safe_psql('postgres', 'INSERT INTO ids SELECT FROM generate_series(1, 100)');
$subscriber->poll_query_until('postgres', "SELECT count(*) = 300 FROM ids")
  or die 'rows do not arrive';
$subscriber->safe_psql('postgres', 'INSERT INTO ids SELECT FROM generate_series(1, 100)');
is($subscriber->safe_psql('postgres', $rows),
	'400', 'its table has rows of the publisher and its own ones');
$_->stop for $subscriber, $publisher;

done_testing();
