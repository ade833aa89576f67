# The steps of failover.md, "Recover without waiting": a server whose clock was an hour ahead gets a
# new identity, and its state is moved away. It was promoted before, so it cannot know that the
# state was removed on purpose.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('corrected');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
my $clock = FakedClock->of_node($node);
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$node->stop;
$node->set_standby_mode;
$clock->step(3600);
$clock->start;
$node->promote;
# Nothing waits for the checkpoint that a promotion requests.
$node->safe_psql('postgres', 'CHECKPOINT');
is($node->safe_psql('postgres', 'SELECT timeline_id FROM pg_control_checkpoint()'),
	'2', 'the server was promoted');
$node->safe_psql('postgres', 'SELECT flake_next()');

$node->stop;
rename $node->data_dir . '/flakeid', $node->data_dir . '/flakeid.old' or die "could not move: $!";
$node->append_conf('postgresql.conf',
	"flakeid.generator_ids = '8-15'\nflakeid.epoch = '2010-01-01'\n");
$clock->step(0);
$clock->start;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/55000: flakeid's state does not cover .*or its directory "flakeid" was removed\.\nHINT/s,
	'without its state it generates no IDs, and the error names the cause');
$node->safe_psql('postgres', 'SELECT flakeid_accept_clock()');
my $is_now = "abs(extract(epoch FROM flake_timestamp(flake_next()) - clock_timestamp())) < 1800";
is($node->safe_psql('postgres', "SELECT $is_now"),
	't', 'when a superuser has accepted the clock, IDs begin at its time');
$node->stop;
done_testing();
