# What the tests of the watermark ask. All times are whole microseconds since 1970.
package Watermark;

use strict;
use warnings;

use Exporter qw(import);
use Ledger;
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

our @EXPORT = qw($WATERMARK $FLAKE $SNO server_with_tables standby_of in_micros before_watermark
  watermark_in watermark_of clock_in insertion_of insert_into generate_from prepare_in held_in
  passes clock_passes is_held begin_in ended_in is_blocked);

# A server that preloads flakeid, with these settings, and with the tables of all ID types.
sub server_with_tables {
	my ($name, $settings, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%init);
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = 'flakeid'\nlog_statement = none\n" . ($settings // ''));
	$node->start;
	create_tables($node);
	return $node;
}

sub standby_of {
	my ($server, $name) = @_;
	$server->backup($name);
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($server, $name, has_streaming => 1);
	$standby->start;
	return $standby;
}

sub in_micros {
	my ($timestamptz) = @_;
	return "(extract(epoch FROM $timestamptz) * 1000000)::bigint";
}

our ($FLAKE, $SNO) = map {
	my $name = $_;
	grep { $_->{name} eq $name } @ID_TYPES
} 'flake', 'sno';

# SQL expressions: the watermark, and the server's clock.
our $WATERMARK = in_micros('flakeid_watermark()');
my $clock = in_micros('clock_timestamp()');

# The condition that an ID of an ID type is below the watermark, or that of a stream. That of guid
# is one range of an index.
sub before_watermark {
	my ($id_type, $id, $stream) = @_;
	$id //= 'id';
	my $watermark = _call($stream);
	return "guid_within($id, tstzrange(NULL, $watermark))" if $id_type->{name} eq 'guid';
	return $id_type->{type} =~ /^(?:bigint|uuid)$/
	  ? "$id_type->{name}_before($id, $watermark)"
	  : "$id < $watermark";
}

# The call for the watermark of a stream, or for that of all IDs.
sub _call {
	my ($stream) = @_;
	return defined $stream ? "flakeid_watermark('$stream')" : 'flakeid_watermark()';
}

sub watermark_of { my ($stream) = @_; return in_micros(_call($stream)) }

sub watermark_in {
	my ($session, $stream) = @_;
	return $session->query_safe('SELECT ' . watermark_of($stream));
}
sub clock_in { my ($session) = @_; return $session->query_safe("SELECT $clock") }

# A statement that inserts a row with a new ID, and returns the ID's time.
sub insertion_of {
	my ($id_type) = @_;
	return "INSERT INTO $id_type->{name}s DEFAULT VALUES RETURNING "
	  . in_micros("$id_type->{name}_timestamp(id)");
}

# Inserts such a row in a session, and returns the ID's time.
sub insert_into {
	my ($session, $id_type) = @_;
	return $session->query_safe(insertion_of($id_type));
}

# Inserts such a row in a session, in a transaction that it prepares. Returns the time of the row's
# ID.
sub prepare_in {
	my ($session, $gid, $id_type) = @_;
	return $session->query_safe(
		'BEGIN; ' . insertion_of($id_type // $FLAKE) . "; PREPARE TRANSACTION '$gid'");
}

# The prepared transactions that the view has, and where each of them holds the watermark.
sub held_in {
	my ($session) = @_;
	return $session->query_safe('SELECT gid, '
		  . in_micros('watermark')
		  . ' FROM pg_stat_flakeid_watermark WHERE gid IS NOT NULL ORDER BY gid');
}

# Generates an ID in a session, and returns its time.
sub generate_from {
	my ($session, $id_type) = @_;
	return $session->query_safe(
		'SELECT ' . in_micros("$id_type->{name}_timestamp($id_type->{next})"));
}

# Waits until the value of an expression in a session is past a time. Returns whether that came. A
# clock that goes on needs as long as it has left, and the watermark a millisecond more, since it is
# in whole ones. But what holds the watermark can end at any moment.
sub _wait_until_past {
	my ($session, $expression, $time) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (time() < $until) {
		my $left = $session->query_safe("SELECT ($time) - $expression");
		return 1 if $left < 0;
		sleep max(0.005, min(0.25, ($left + 1000) / 1_000_000));
	}
	return 0;
}

# Tests that the watermark, or that of a stream, passes a time, at some moment.
sub passes {
	my ($session, $time, $test, $stream) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(_wait_until_past($session, watermark_of($stream), $time), $test);
}

# Waits until the server's clock is so far past a time that the watermark would be past it, if
# nothing held it back. Each call reads the clock. A watermark that nothing holds is that reading
# less 4 ms, the longest tick of all ID types, cut to whole milliseconds. So 10 ms after the time
# each later call returns more than the time and 5 ms, on a slow machine, too.
sub clock_passes {
	my ($session, $time) = @_;
	_wait_until_past($session, $clock, $time + 10_000) or die 'the clock does not go on';
	return;
}

# Tests that the watermark in a session, or that of a stream, is held at a time or before it,
# although the clock has passed it.
sub is_held {
	my ($session, $time, $test, $stream) = @_;
	clock_passes($session, $time);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return cmp_ok(watermark_in($session, $stream), '<=', $time, $test);
}

# Begins a statement in a session, and does not wait for its end.
my $begun = 0;

sub begin_in {
	my ($session, $sql) = @_;
	$begun++;
	$session->query_until(qr/has begun $begun\n/, "\\echo 'has begun $begun'\n$sql;\n");
	return;
}

sub ended_in {
	my ($session) = @_;
	return $session->query_safe('');
}

# Waits until so many sessions wait for advisory locks.
sub is_blocked {
	my ($session, $sessions) = @_;
	my $waiting = q{(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)};
	_wait_until_past($session, $waiting, ($sessions // 1) - 1)
	  or die 'no session waits for the lock';
	return;
}

1;
