# What the tests of flake's epoch do: servers with and without the line in their configuration, and
# the refusals where the epoch in force is not that of existing flakes.
package FlakeEpoch;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

our @EXPORT = qw(@READS $LATER $UNSET epoch_server set_epoch remove_epoch recorded refuses
  is_refused_at_reload across_a_reload);

our $LATER = qr/"flakeid\.epoch" is later than the epoch of existing flakes/;
our $UNSET = qr/"flakeid\.epoch" is not set, and existing flakes have a later epoch/;

# Every way in which a flake is read or written without an epoch as an argument.
our @READS = (
	'flake_timestamp(1)',
	'flake_decode(1)',
	"flake_min('2026-01-01')",
	"flake_max('2026-01-01')",
	"flake_range_min('[2026-01-01,2026-01-02)')",
	"flake_range_max('[2026-01-01,2026-01-02)')",
	"flake_encode('2026-01-01', 0, 0, 0)",
	"flake_at('2026-01-01')",
	"flake_before(1, '2026-01-01')",
	"flake_partition_bounds('2026-01-01', '2026-01-02', '1 day')");

# Starts a server with an epoch in its configuration, or with the default.
sub epoch_server {
	my ($name, $epoch, %how) = @_;
	my $lines = $how{configuration} // '';
	$lines .= "shared_preload_libraries = ''\n" if $how{not_preloaded};
	$lines .= "flakeid.epoch = '$epoch'\n" if $epoch;
	return flakeid_server($name, $lines);
}

# Puts the line into postgresql.conf and reloads. Returns when it is in force.
sub set_epoch {
	my ($node, $epoch) = @_;
	remove_epoch($node);
	$node->append_conf('postgresql.conf', "flakeid.epoch = '$epoch'");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('flakeid.epoch', true) = '$epoch'")
	  or die "flakeid.epoch did not become $epoch";
	return;
}

# Takes the line out of postgresql.conf.
sub remove_epoch {
	my ($node) = @_;
	return $node->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
}

# Returns the epoch in the state file; empty for none.
sub recorded {
	my ($node) = @_;
	return -e state_path($node) ? state_of($node)->{epochs}{flake} // '' : '';
}

# Tests that flakes are neither generated nor read, with this error, whose hint names the line; but
# they are with an epoch as an argument. A standby is not asked for new ones.
sub refuses {
	my ($node, $message, $value, $where, %but) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $line = qr/Write "flakeid\.epoch = '\Q$value\E'" into postgresql\.conf, and reload/;
	my $others = qr/ALTER SYSTEM \(postgresql\.auto\.conf\).*command line/;
	my $session = session($node);
	my %wrong;
	for my $ask (@READS, $but{standby} ? () : ('flake_next()', 'flake_next_batch(2)')) {
		my $error = error_in($session, "SELECT $ask");
		$wrong{$ask} = $error
		  unless $error =~ /ERROR:  55000: $message/ && $error =~ /HINT:  $line.*$others/;
	}
	is_deeply(\%wrong, {}, "$where flakes are refused at each use");
	my $good = "SELECT flake_timestamp(1, 'epoch'), flake_min(now(), '2020-01-01'),"
	  . ' sno_timestamp(sno_min(now()))';
	is(error_in($session, $good . ($but{standby} ? '' : ', sno_next()')),
		'', "$where flakes with an epoch as an argument, and other ID types, are not refused");
	$session->quit;
	return;
}

# Tests that a reload does not take the line, and says why in the log.
sub is_refused_at_reload {
	my ($node, $new, $in_force, $recorded, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $end_of_log = -s $node->logfile;
	$node->reload;
	my $invalid = qr/LOG:  invalid value for parameter "flakeid\.epoch": "\Q$new\E"/;
	my $detail = qr/DETAIL:  Flakes were generated with the epoch \Q$recorded\E/;
	$node->wait_for_log(qr/$invalid\n.*$detail.*\n.*HINT:  Write "flakeid\.epoch = /, $end_of_log);
	is($node->safe_psql('postgres', 'SHOW flakeid.epoch'), $in_force, $test);
	return;
}

# Lets a statement that began before a reload ask for a flake after it. Returns its error and its
# session.
sub across_a_reload {
	my ($node, $reload) = @_;
	$node->safe_psql('postgres', <<~'SQL');
		CREATE FUNCTION late() RETURNS bigint LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM pg_advisory_xact_lock(1);
			RETURN flake_next();
		END $$
		SQL
	my ($holder, $late) = map { session($node) } 1 .. 2;
	$late->query_safe("SET application_name = 'late'; SELECT sno_next()");
	$holder->query_safe('SELECT pg_advisory_lock(1)');
	$late->query_until(qr/^asks$/m, "\\echo asks\nSELECT late() AS late;\n");
	$node->poll_query_until('postgres', <<~'SQL') or die 'the statement does not wait';
		SELECT count(*) = 1 FROM pg_stat_activity
		WHERE application_name = 'late' AND wait_event_type = 'Lock'
		SQL
	$reload->();
	$holder->query_safe('SELECT pg_advisory_unlock(1)');
	my $error = error_in($late, 'SELECT 1');
	$holder->quit;
	return ($error, $late);
}

1;
