# Without preloading the server's values are in force in a session whose own come later, in a
# parallel worker, and from the command line. A number out of bounds in the file keeps all from
# generating IDs, with preloading, too; with preloading PostgreSQL refuses a session that brings a
# value along.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $parallel = 'SET debug_parallel_query = on; ';
my $mine = qr/^(?:8|9|1[0-5])$/;
my $node = PostgreSQL::Test::Cluster->new('server_values');
$node->init;
$node->append_conf('postgresql.conf', <<~'CONF');
	flakeid.generator_ids = '8-15'
	flakeid.epoch = '2020-01-01'
	flakeid.cluster_id = 5
	log_statement = none
	CONF
not_preloaded() if $node->pg_version >= 17;
preloaded();
done_testing();

# Returns the generator ID of a flake that a session generates by a statement which calls no other
# function of the library, or the error.
sub generator_of {
	my ($sql) = @_;
	my ($out, $err) = ('', '');
	$node->psql('postgres', "\\set VERBOSITY verbose\n$sql", stdout => \$out, stderr => \$err);
	return $out =~ /^\d+$/ ? $node->safe_psql('postgres', "SELECT worker_of($out)") : $err;
}

sub not_preloaded {
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	# A parallel worker alone calls late(), and loads the library then.
	$node->safe_psql('postgres', <<~'SQL');
		CREATE FUNCTION late() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE
			AS $$BEGIN RETURN flake_at('2026-01-01'); END$$;
		CREATE FUNCTION late_with_a_setting() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE
			SET flakeid.generator_ids = '1' AS $$BEGIN RETURN flake_at('2026-01-01'); END$$;
		CREATE FUNCTION worker_of(id bigint) RETURNS integer LANGUAGE sql RETURN
			(flake_decode(id, '2020-01-01')).datacenter * 32
			+ (flake_decode(id, '2020-01-01')).worker;
		SQL
	my $unknown = qr/55P02: this session does not know the server's value of/;
	my $set = "SET flakeid.generator_ids = '1'; SET flakeid.cluster_id = 1; SELECT";
	for my $ask ("flake_at('2026-01-01')", 'late()', 'late_with_a_setting()') {
		like(generator_of("SELECT $ask"),
			$mine, "a session without settings of its own uses the server's values for $ask");
		like(generator_of("${parallel}SELECT $ask"),
			$mine, "a parallel worker uses the server's values for $ask");
		like(generator_of("$set $ask"),
			$mine, "after a SET a session uses the server's values for $ask");
		next if $ask =~ /^flake_at/;
		# The worker loads the library later than its leader, or alone. It is told what was SET, and
		# not what was there before.
		like(
			generator_of("$parallel$set $ask"),
			qr/$unknown "flakeid\.(?:generator_ids|cluster_id)"/,
			"after a SET a parallel worker that loads the library for $ask refuses");
	}
	like(generator_of("${parallel}SET flakeid.generator_ids = '1'; SELECT flake_at('2026-01-01')"),
		$mine, 'a parallel worker whose leader has loaded the library uses the server\'s values');
	is( $node->safe_psql('postgres', <<~'SQL'),
		BEGIN;
		SET LOCAL flakeid.generator_ids = '1';
		SELECT worker_of(flake_next()) BETWEEN 8 AND 15;
		ROLLBACK;
		SELECT worker_of(flake_next()) BETWEEN 8 AND 15
		SQL
		"t\nt",
		'in and after a transaction with SET LOCAL a session uses the server\'s values');

	# The command line stands above the file, and no reload tells a session of it.
	$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'0-7'");
	$node->stop;
	my $options = '--cluster-name=server_values -c flakeid.generator_ids=8-15';
	my @pg_ctl = ('pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-w');
	command_ok([ @pg_ctl, '-o', $options, 'start' ], 'a server starts with a value of its options');
	$node->_update_pid(1);
	like($node->safe_psql('postgres', 'SELECT worker_of(flake_next())'),
		$mine, 'a value of the command line is the server\'s');
	like(generator_of("${parallel}SELECT late()"),
		$mine, 'a parallel worker uses the value of the command line');
	my $good = session($node);
	my $session = do { local $ENV{PGOPTIONS} = '-c flakeid.generator_ids=8-15'; session($node) };
	like(error_in($session, 'SELECT flake_next()'),
		qr/55P02/, 'a session that brought a value along has no IDs');
	like($good->query_safe('SELECT worker_of(flake_next())'),
		$mine, 'another session uses the value of the command line');
	$node->append_conf('postgresql.conf', "flakeid.max_clock_wait = '5s'\n");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('flakeid.max_clock_wait') = '5s'")
	  or die 'no reload';

	for my $begin ('', $parallel) {
		my $where = $begin ? ' in parallel' : '';
		like(error_in($session, "${begin}SELECT $_"),
			qr/55P02/, "after a reload the session that brought a value along has no $_$where")
		  for 'flake_next()', 'sno_next()', 'late()';
		like($good->query_safe("${begin}SELECT worker_of(flake_at('2026-01-01'))"),
			$mine, "after a reload the other session continues by the command line$where");
	}
	$_->quit for $session, $good;

	$node->stop;
	$node->append_conf('postgresql.conf', "flakeid.cluster_id = 99\n");
	$node->start;
	like(
		error_of($node, 'SELECT uniqueid_next()'),
		qr/F0000: parameter "flakeid\.cluster_id" is invalid: "99"/,
		'without preloading a number out of bounds keeps sessions from generating IDs');
	like(
		error_of($node, "${parallel}SELECT late()"),
		qr/F0000: .*flakeid\.cluster_id/,
		'without preloading a number out of bounds keeps parallel workers from generating IDs');
	$node->stop;
	return;
}

sub preloaded {
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS flakeid');
	$node->append_conf('postgresql.conf', "flakeid.cluster_id = 99\n");
	$node->restart;
	like(
		error_of($node, 'SELECT uniqueid_next()'),
		qr/F0000: parameter "flakeid\.cluster_id" is invalid: "99"/,
		'with preloading a number out of bounds keeps sessions from generating IDs');
	my $stays = session($node);
	like(error_in($stays, 'SELECT flake_next()'),
		qr/F0000/, 'with preloading a session that stays has no IDs by a number out of bounds');
	reload_with($node, cluster_id => 6);
	my $cluster = 'SELECT (uniqueid_decode(uniqueid_next())).cluster_id';
	is($stays->query_safe($cluster), '6', 'after a correction the session that stays has IDs');
	$stays->quit;
	is($node->safe_psql('postgres', $cluster), '6', 'after a correction new sessions have IDs');

	# PostgreSQL knows the settings. It gets nothing to read, as a psql that is refused does not
	# read.
	local $ENV{PGOPTIONS} = '-c flakeid.generator_ids=8-15';
	my ($out, $err) = ('', '');
	IPC::Run::run(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SELECT flake_next()' ],
		'<', '/dev/null', '>', \$out, '2>', \$err);
	is($out, '', 'with preloading a session that brings a value along generates no ID');
	like(
		$err,
		qr/"flakeid\.generator_ids" cannot be changed now/,
		'with preloading PostgreSQL refuses a session that brings a value along');
	$node->stop;
	return;
}
