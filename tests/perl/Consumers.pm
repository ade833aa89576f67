# A server on which examples/consumers.sql is installed for a table "outbox". The topics of its rows
# are "t1", "t2" and so on.
package Consumers;

use strict;
use warnings;

use IPC::Run;
use Server;

sub new {
	my ($class) = @_;
	my $node = flakeid_server('consumers', <<~'END');
		restart_after_crash = on
		log_statement = none
		max_connections = 60
		END
	my $self = bless { node => $node }, $class;
	$self->sql(
		'CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next(), topic text, message text)'
	);
	$self->{messages} = $self->install;
	return $self;
}

sub node { my ($self) = @_; return $self->{node} }

# What psql printed when it installed the file for the outbox.
sub messages { my ($self) = @_; return $self->{messages} }

sub sql {
	my ($self, @statements) = @_;
	return $self->{node}->safe_psql('postgres', join '; ', @statements);
}

# Installs the file with these variables. Returns what psql prints.
sub install {
	my ($self, %variables) = @_;
	my $echo = delete $variables{echo} // 'errors';
	my @command = (qw(psql -Xq -f examples/consumers.sql -v ON_ERROR_STOP=1), '-v', "ECHO=$echo");
	push @command, map { ('-v', "$_=$variables{$_}") } sort keys %variables;
	my $printed = '';
	IPC::Run::run([ @command, '-d', $self->{node}->connstr('postgres') ],
		'<', '/dev/null', '>&', \$printed)
	  or die "the file is not installed: $printed";
	return $printed;
}

# Inserts rows with the topics of these numbers.
sub insert {
	my ($self, @numbers) = @_;
	return $self->sql(
		"INSERT INTO outbox (topic) SELECT 't' || unnest('{@{[ join ',', @numbers ]}}'::int[])");
}

# Waits until all rows of the table that a schema reads are below the watermark.
sub settle {
	my ($self, $schema, $table) = @_;
	$schema //= 'consumers';
	$table  //= 'outbox';
	$self->{node}->poll_query_until('postgres',
		"SELECT count(*) = (SELECT count(*) FROM $table) FROM $schema.settled")
	  or die "the watermark does not pass the rows of $table";
	return;
}

# The topics of at most three rows that a consumer of one part would get now.
sub next_topics {
	my ($self, $consumer) = @_;
	return $self->sql('BEGIN', <<~"SQL", 'ROLLBACK');
		SELECT string_agg((message).topic, ' ') FROM consumers.next_batch('$consumer', 0, 3)
		SQL
}

sub acknowledge {
	my ($self, $consumer) = @_;
	return $self->sql(<<~"SQL");
		SELECT consumers.acknowledge(turn) FROM consumers.cursors
		WHERE consumer = '$consumer' AND turn IS NOT NULL
		SQL
}

# Gets a batch in a session, with a long lease. Returns its turn and its topics.
sub take {
	my ($self, $session, $consumer) = @_;
	return split /\|/, $session->query_safe(<<~"SQL");
		SELECT turn, string_agg((message).topic, ' ')
		FROM consumers.next_batch('$consumer', 0, 3, '1 day') GROUP BY turn
		SQL
}

sub pass_leases {
	my ($self) = @_;
	return $self->sql('UPDATE consumers.cursors SET leased_until = clock_timestamp()');
}

1;
