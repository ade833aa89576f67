# pg_upgrade leaves the state file behind. Without it the new cluster's IDs begin at the present
# time. If the file is copied by hand, the server generates no IDs until a superuser accepts the
# clock, and then IDs above its horizon. The old server's clock is an hour ahead.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use File::Path qw(remove_tree);
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use Server;
use StateFile;
use Successors;
use Test::More;

# Returns a server that is set up, and its clock.
sub server {
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', <<~'END');
		shared_preload_libraries = 'flakeid'
		flakeid.generator_ids = '3'
		flakeid.max_clock_wait = '100ms'
		END
	return ($node, FakedClock->of_node($node));
}

my ($old, $old_clock) = server('old');
$old_clock->step(3600);
$old_clock->start;
create_tables($old);
insert_rows($old, 2000);
$old->stop;

my ($new, $clock) = server('new');
# pg_upgrade must be alone in each database.
$_->append_conf('postgresql.auto.conf', <<'END') for $old, $new;
flakeid.notify_databases = 'postgres, template1'
flakeid.standby_watermark_interval = '50ms'
END
upgrade($old, $new, 'pg_upgrade succeeds with settings that want workers');
unlink map { $_->data_dir . '/postgresql.auto.conf' } $old, $new;
ok(!-e $new->data_dir . '/flakeid', 'pg_upgrade takes no state file along');

subtest 'the new server starts without the state file' => sub {
	$clock->start;
	for my $name (@TYPE_NAMES) {
		is($new->safe_psql('postgres', <<~"SQL"), 't', "$name IDs begin at the present time");
			SELECT at BETWEEN pg_postmaster_start_time() AND clock_timestamp()
			FROM (SELECT ${name}_timestamp(${name}_next()) AS at OFFSET 0) AS generated
			SQL
		is($new->safe_psql('postgres', "SELECT count(*), count(DISTINCT id) FROM ${name}s"),
			'2000|2000', "the old $name IDs are there");
	}
	$new->stop;
};

subtest 'the new server has the state file of the old one' => sub {
	my $directory = $new->data_dir . '/flakeid';
	remove_tree($directory);
	PostgreSQL::Test::RecursiveCopy::copypath($old->data_dir . '/flakeid', $directory);
	my $end_of_log = -s $new->logfile;
	$clock->start;
	my $foreign = qr/state file ".*" is from a different cluster/;
	for my $name (@TYPE_NAMES) {
		like(
			error_of($new, "INSERT INTO ${name}s DEFAULT VALUES"),
			qr/ERROR:  55000: $foreign(?s:.*)HINT:  .*flakeid_accept_clock\(\)/,
			"the server generates no $name IDs, and the error says what to do");
		is($new->safe_psql('postgres', "SELECT count(${name}_timestamp(id)) FROM ${name}s"),
			'2000', "the server reads $name IDs");
	}
	ok($new->wait_for_log(qr/LOG:  flakeid cannot generate IDs: $foreign/, $end_of_log),
		'the log has the reason from the start');
};

subtest 'a superuser accepts the clock' => sub {
	is(error_of($new, 'SELECT flakeid_accept_clock()'), '', 'flakeid_accept_clock() succeeds');
	for my $name (grep { $_ ne 'sno' } @TYPE_NAMES) {
		like(
			error_of($new, "INSERT INTO ${name}s SELECT FROM generate_series(1, 100)"),
			is_behind_last($name),
			"while the clock is behind the horizon, the server generates no $name IDs");
	}
	repeats_none($new, $clock, 'the new server repeats no ID', rows => 2000, past => 3602);
	for my $name (@TYPE_NAMES) {
		# sno may have continued in its other timeline at the moments of old IDs.
		my $ids =
		  $name eq 'sno' ? 'SELECT sno_next() AS id' : "SELECT id FROM ${name}s WHERE nr IS NULL";
		is($new->safe_psql('postgres', <<~"SQL"), 't', "$name IDs begin above the old ones");
			SELECT bool_and(new.id > old.id)
			FROM ($ids) AS new,
				(SELECT id FROM ${name}s WHERE nr > 0 ORDER BY id DESC LIMIT 1) AS old
			SQL
	}
	is( state_of($new)->{system_identifier},
		$new->safe_psql('postgres', 'SELECT system_identifier FROM pg_control_system()'),
		'the state file is that of the new cluster');
	$new->stop;
	$clock->start;
	is(error_of($new, "INSERT INTO ${_}s DEFAULT VALUES"),
		'', "after a restart the server generates $_ IDs")
	  for @TYPE_NAMES;
	$new->stop;
};

done_testing();
