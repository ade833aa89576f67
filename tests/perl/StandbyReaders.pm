# Readers in ID order on standbys, and sessions that write on their primary until they are told to
# stop: they commit late, roll back, prepare, use subtransactions and commit asynchronously.
package StandbyReaders;

use strict;
use warnings;

use Crowd;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);
use Watermark;

our $TABLES = <<'SQL';
CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next(), writer text);
CREATE TABLE other (x int);
CREATE TABLE stop ();
SQL

# What each writer executes in a transaction. The last one has a transaction ID and no ID.
my $insert = 'INSERT INTO outbox (writer) VALUES (me);';
my %work = (
	late => "INSERT INTO outbox (writer) SELECT me FROM generate_series(1, 3);"
	  . " PERFORM pg_sleep(random() / 50);",
	fast => "$insert PERFORM pg_sleep(random() / 500);",
	rollback =>
	  "$insert PERFORM pg_sleep(random() / 100); IF random() < 0.5 THEN ROLLBACK; END IF;",
	nested => <<~"SQL",
		FOR i IN 1 .. 70 LOOP
			BEGIN
				$insert
				IF i % 10 = 0 THEN RAISE 'no'; END IF;
			EXCEPTION WHEN raise_exception THEN
			END;
		END LOOP;
		PERFORM pg_sleep(random() / 10);
		SQL
	other => 'INSERT INTO other VALUES (1); PERFORM pg_sleep(random() / 20);');

sub new {
	my ($class, @standbys) = @_;
	my %ways = (
		statement => \&_by_statement,
		snapshot => \&_by_old_snapshot,
		cursor => \&_by_cursor,
		wait => \&_by_wait);
	my @readers;
	for my $standby (@standbys) {
		push @readers, map {
			{
				name => "$_ on the " . $standby->name,
				server => $standby,
				read => $ways{$_},
				ids => [],
				last => -1
			}
		} sort keys %ways;
	}
	my $self = bless { readers => \@readers }, $class;
	$self->connect($_) for @standbys;
	return $self;
}

sub connect {
	my ($self, $standby) = @_;
	$_->{session} = session($standby) for grep { $_->{server} == $standby } @{ $self->{readers} };
	return;
}

sub quit {
	my ($self) = @_;
	$_->{session}->quit for @{ $self->{readers} };
	return;
}

sub start_writers {
	my ($self, $server) = @_;
	$self->{writers} = [];
	for my $name (sort keys %work) {
		my $session = session($server);
		$session->query_safe('SET synchronous_commit = off') if $name eq 'fast';
		begin_in($session, <<~"SQL");
			DO \$\$
			DECLARE
				me text := '$name';
			BEGIN
				WHILE NOT EXISTS (SELECT FROM stop) LOOP
					$work{$name}
					COMMIT;
				END LOOP;
			END \$\$
			SQL
		push @{ $self->{writers} }, $session;
	}
	return;
}

sub stop_writers {
	my ($self, $server) = @_;
	$server->safe_psql('postgres', 'INSERT INTO stop DEFAULT VALUES');
	ended_in($_), $_->quit for @{ $self->{writers} };
	$server->safe_psql('postgres', 'TRUNCATE stop');
	return;
}

# Leaves the writers of a server that has crashed to themselves: they have ended, or read that their
# connection is lost.
sub drop_writers {
	my ($self) = @_;
	for my $session (@{ $self->{writers} }) {
		local $SIG{PIPE} = 'IGNORE';
		eval { $session->quit; 1 } or note "a writer has ended: $@";
	}
	return;
}

sub _rows {
	my ($reader, $sql) = @_;
	return grep { /^\d/ } split /\n/, $reader->{session}->query_safe($sql);
}

sub _select {
	my ($reader) = @_;
	return
	  "SELECT id FROM outbox WHERE id > $reader->{last} AND id < flakeid_watermark() ORDER BY id";
}

sub _by_statement { my ($reader) = @_; return _rows($reader, _select($reader)) }

# Reads by a snapshot that was taken before the standby has replayed more, watermarks among it.
sub _by_old_snapshot {
	my ($reader) = @_;
	my $replayed = 'SELECT pg_last_wal_replay_lsn()';
	my $before = $reader->{session}
	  ->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM outbox LIMIT 1; $replayed");
	for (1 .. 3) {
		my ($now, $until) = ($before, time() + 0.2);
		$now = $reader->{session}->query_safe($replayed) while $now eq $before && time() < $until;
		$before = $now;
	}
	my @ids = _by_statement($reader);
	$reader->{session}->query_safe('COMMIT');
	return @ids;
}

sub _by_cursor {
	my ($reader) = @_;
	$reader->{session}->query_safe('BEGIN; DECLARE c CURSOR FOR ' . _select($reader));
	my @ids = map { _rows($reader, "FETCH $_ FROM c") } 2, 'ALL';
	$reader->{session}->query_safe('COMMIT');
	return @ids;
}

sub _by_wait {
	my ($reader) = @_;
	error_in($reader->{session}, "CALL flakeid_wait(clock_timestamp(), '50 ms')");
	return _by_statement($reader);
}

sub _read {
	my ($reader) = @_;
	my @ids = $reader->{read}->($reader);
	push @{ $reader->{ids} }, @ids;
	$reader->{last} = $ids[-1] if @ids;
	return;
}

# Reads until each reader has read this number of rows more. Prepares transactions on the primary in
# the meantime.
sub read_rows {
	my ($self, $rows, $primary) = @_;
	my %until = map { $_->{name} => @{ $_->{ids} } + $rows } @{ $self->{readers} };
	my $session = session($primary);
	my ($number, @prepared) = (0);
	while (grep { @{ $_->{ids} } < $until{ $_->{name} } } @{ $self->{readers} }) {
		_read($_) for @{ $self->{readers} };
		my $gid = 'prepared ' . $number++;
		$session->query_safe(
			"BEGIN; INSERT INTO outbox (writer) VALUES ('prepared'); PREPARE TRANSACTION '$gid'");
		push @prepared, $gid;
		next if @prepared <= 2;
		my $end = rand() < 0.7 ? 'COMMIT' : 'ROLLBACK';
		$session->query_safe("$end PREPARED '" . shift(@prepared) . q{'});
	}
	$session->query_safe("COMMIT PREPARED '$_'") for @prepared;
	$session->quit;
	return;
}

# Tests that all readers read to the end, and have read the rows of the primary.
sub have_all {
	my ($self, $primary, $when) = @_;
	my @rows = split /\n/, $primary->safe_psql('postgres', 'SELECT id FROM outbox ORDER BY id');
	for my $reader (@{ $self->{readers} }) {
		my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
		_read($reader) while $reader->{last} < $rows[-1] && time() < $until;
		my $read = $reader->{ids};
		is( "@$read" eq "@rows" ? '' : first_difference($read, \@rows),
			'',
			"$when the reader by $reader->{name} has read each row once, in order");
	}
	return;
}

1;
