# A server on which transactions are prepared, and three sessions that stay as long as it runs: a
# writer, an observer, and another one. The server can end in several ways, and start again.
package Prepared;

use strict;
use warnings;

use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use Server;
use Watermark;

# Sets up a server with a table for each ID type, and starts it. The options go to init, except the
# settings.
sub new {
	my ($class, $name, %init) = @_;
	my $settings = delete $init{settings} // '';
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%init);
	# With a short lead the first ID after a crash waits for a short time.
	$node->append_conf('postgresql.conf', <<~"END");
		shared_preload_libraries = 'flakeid'
		log_statement = none
		max_prepared_transactions = 120
		flakeid.max_clock_wait = '100ms'
		flakeid.horizon_lead = '300ms'
		$settings
		END
	my $self = $class->start_node($node);
	create_tables($node);
	return $self;
}

# Starts a server that the test has set up, with these variables in its environment.
sub start_node {
	my ($class, $node, %environment) = @_;
	my $self = bless { node => $node, environment => \%environment }, $class;
	$self->start;
	return $self;
}

sub node     { my ($self) = @_; return $self->{node} }
sub writer   { my ($self) = @_; return $self->{writer} }
sub other    { my ($self) = @_; return $self->{other} }
sub observer { my ($self) = @_; return $self->{observer} }

sub start {
	my ($self) = @_;
	$self->{postmaster} = Postmaster->start($self->{node}, %{ $self->{environment} });
	@$self{ 'writer', 'other', 'observer' } = map { session($self->{node}) } 1 .. 3;
	return;
}

# Ends the server: "fast" and "immediate" stop it, "kill" kills its postmaster. The sessions end
# with it.
sub stop {
	my ($self, $how) = @_;
	my @sessions = @$self{ 'writer', 'other', 'observer' };
	if ($how eq 'fast') { $_->quit for @sessions }
	$how eq 'kill' ? $self->{postmaster}->kill9 : $self->{postmaster}->stop($how);
	if ($how ne 'fast') {
		eval { $_->{run}->finish } for @sessions;
	}
	return;
}

sub restart {
	my ($self, $how) = @_;
	$self->stop($how);
	$self->start;
	return;
}

sub prepare {
	my ($self, $gid, $id_type) = @_;
	return prepare_in($self->{writer}, $gid, $id_type);
}

# Ends a prepared transaction, by COMMIT or ROLLBACK, in a session that did not prepare it.
sub finish {
	my ($self, $gid, $end) = @_;
	$end //= 'COMMIT';
	$self->{observer}->query_safe("$end PREPARED '$gid'");
	return;
}

sub held_by {
	my ($self) = @_;
	return held_in($self->{observer});
}

# The file that says that a watermark was reported.
sub file {
	my ($self) = @_;
	return $self->{node}->data_dir . '/flakeid/watermark';
}

1;
