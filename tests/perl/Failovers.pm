# Rounds of what makes a cluster under Patroni change its leader, under writers that write down
# every ID they were told; and a report of how long each took. A round begins with a whole cluster,
# and ends when it is whole again.
package Failovers;

use strict;
use warnings;

use Etcd;
use JSON::PP;
use Patroni;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server qw(wait_until);
use Test::More;
use Time::HiRes qw(time sleep);
use Writers;

# How many rows writers are told before and after each event.
my $rows = 200;

# What can happen to a leader. Each is done to it, and returns when it has been done; `back` is done
# once another leads and gives IDs. Where `two` is so, both may take writes at the same time.
my %event = (
	kill => {
		says => 'kill -9 of the postmaster and the agent',
		begin => \&_kill,
		back => \&_start_again
	},
	stop => {
		says => 'SIGSTOP of all processes for longer than both leases',
		begin => \&_stop,
		back => \&_continue,
		two => 1
	},
	cut => { says => 'no network to etcd', begin => \&_cut, back => \&_heal, two => 1 },
	switchover => { says => 'patronictl switchover', begin => \&_switchover },
	agent => {
		says => 'SIGSTOP of the agent alone',
		begin => \&_stop_agent,
		back => \&_continue_agent,
		two => 1
	},);
my @order = ('kill', 'stop', 'cut', 'switchover', 'agent');

# Patroni's configuration in etcd, as docs/fleet.md shows it for `patronictl edit-config`.
sub documented_configuration {
	my ($yaml) = slurp_file('docs/fleet.md') =~ /^\*\*Patroni\*\*:.*?^```yaml\n(.*?)^```$/ms
	  or die 'docs/fleet.md has no configuration for Patroni';
	return $yaml;
}

sub new {
	my ($class, $name, %how) = @_;
	my $etcd = Etcd->new($name);
	my $cluster = Patroni->new($name, etcd => $etcd, shared => $how{shared});
	return bless {
		etcd => $etcd,
		cluster => $cluster,
		writers => Writers->new($cluster),
		namespace => $how{namespace},
		name => $name,
		rounds => [],
		kept => [],
		tails => [],
	}, $class;
}

# As many rounds as ROUNDS says, by default ten.
sub run {
	my ($self) = @_;
	my ($cluster, $writers) = @$self{ 'cluster', 'writers' };
	$cluster->start;
	my (undef, $error) =
	  $cluster->ask($cluster->leader, 'CREATE EXTENSION flakeid; ' . Writers::table_definition());
	die $error if $error;
	$writers->start;
	for my $number (1 .. $ENV{ROUNDS} || 10) {
		my $kind = $order[ ($number - 1) % @order ];
		push @{ $self->{rounds} }, $self->_round($number, $kind);
	}
	$self->{errors} = { $writers->errors };
	$writers->stop;
	my $leader = $cluster->wait_until_whole;
	my ($at) = $cluster->ask($leader, 'SELECT pg_current_wal_lsn()');
	for my $member ($cluster->members) {
		wait_until(
			"$member->{name} replays what the leader has",
			sub {
				my $replayed = "pg_last_wal_replay_lsn() >= '$at'";
				my $sql = "SELECT CASE WHEN pg_is_in_recovery() THEN $replayed ELSE true END";
				return ($cluster->ask($member, $sql))[0] eq 't';
			});
		push @{ $self->{kept} }, $cluster->rows_of($member, $Writers::table);
	}
	$cluster->stop;
	$self->{node} = $writers->compare(kept => $self->{kept}, tails => $self->{tails});
	return;
}

# One round, as the report has it.
sub _round {
	my ($self, $number, $kind) = @_;
	my ($cluster, $writers) = @$self{ 'cluster', 'writers' };
	my $event = $event{$kind};
	my $old = $cluster->wait_until_whole;
	my @others = grep { $_ != $old } $cluster->members;
	$writers->wait_until_told($rows, $old);

	my $round = { number => $number, kind => $kind, from => time() };
	my $begun = $event->{begin}->($self, $old);
	my $new = $cluster->wait_for_leader(@others);
	$round->{leader} = time() - $begun;
	my %errors;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (my $error = $writers->probe($new)) {
		die "IDs do not flow: $error" if time() > $until;
		$errors{ ($error =~ /(\w+:  .*)/)[0] // $error }++;
		sleep 0.05;
		$new = $cluster->wait_for_leader(@others);
	}
	$round->{ids} = time() - $begun;
	$writers->wait_until_told($rows, $new);
	$event->{back}->($self, $old, $new) if $event->{back};
	$cluster->wait_until_whole;
	$round->{until} = time();
	pass("round $number: $event->{says}: $new->{name} leads after $old->{name}, and gives IDs");
	$self->say(
		sprintf '%2d  %-10s  %s -> %s  leader after %5.1f s, IDs after %5.1f s,'
		  . ' whole again after %5.1f s',
		$number, $kind, $old->{name}, $new->{name}, $round->{leader}, $round->{ids},
		$round->{until} - $begun);
	$self->say("    the new leader said before: $_ ($errors{$_} times)") for sort keys %errors;
	return $round;
}

# Prints a line of the report.
sub say {
	my ($self, $line) = @_;
	return diag("$self->{name}: $line");
}

# What the standbys don't have yet when the leader is killed is lost, but for its clients.
sub _kill {
	my ($self, $old) = @_;
	$self->{cluster}->stop_walsenders($old);
	$self->{writers}->wait_until_told($rows, $old);
	my $begun = time();
	$self->{cluster}->kill9($old);
	push @{ $self->{tails} }, $self->{cluster}->rows_of_dead($old, $Writers::table);
	return $begun;
}

sub _start_again { my ($self, $old) = @_; return $self->{cluster}->start_agent($old) }

sub _stop {
	my ($self, $old) = @_;
	my $begun = time();
	$self->{cluster}->stop_all($old);
	push @{ $self->{tails} }, $self->{cluster}->rows_of_dead($old, $Writers::table);
	return $begun;
}

# Patroni's lease is over when another leads; flakeid's when the claims of the one that is stopped
# are gone.
sub _continue {
	my ($self, $old, $new) = @_;
	wait_until(
		'the lease of generator IDs ends',
		sub {
			!grep { $_->{port} == $old->{port} } $self->claims;
		});
	$self->{cluster}->continue($old);
	return;
}

# The claims of generator IDs.
sub claims {
	my ($self) = @_;
	return unless $self->{namespace};
	my %all = $self->{etcd}->all($self->{namespace} =~ s{^flakeid/}{}r . 'pool/');
	return map { JSON::PP->new->decode($_) } values %all;
}

sub _cut { my ($self, $old) = @_; my $begun = time(); $old->{wire}->cut; return $begun }
sub _heal { my ($self, $old) = @_; return $old->{wire}->heal }

sub _switchover {
	my ($self, $old) = @_;
	my $begun = time();
	my ($candidate) = grep { $_ != $old } $self->{cluster}->members;
	$self->{cluster}
	  ->ctl('switchover', '--leader', $old->{name}, '--candidate', $candidate->{name}, '--force',
		$self->{cluster}{name});
	return $begun;
}

sub _stop_agent {
	my ($self, $old) = @_;
	my $begun = time();
	$self->{cluster}->stop_agent($old);
	return $begun;
}

# Until here both give IDs.
sub _continue_agent {
	my ($self, $old, $new) = @_;
	$self->{writers}->wait_until_told($rows, $old, $new);
	push @{ $self->{tails} }, $self->{cluster}->rows_of($old, $Writers::table);
	$self->{cluster}->continue($old);
	return;
}

sub median {
	my @sorted = sort { $a <=> $b } @_;
	return @sorted % 2
	  ? $sorted[ @sorted / 2 ]
	  : ($sorted[ @sorted / 2 - 1 ] + $sorted[ @sorted / 2 ]) / 2;
}

# How many IDs and events there were, the medians of each kind, and what clients saw.
sub report {
	my ($self) = @_;
	my $rounds = $self->{rounds};
	my ($told, $others, $lost) = split /\|/,
	  $self->{node}->safe_psql('postgres',
			'SELECT (SELECT count(*) FROM told),'
		  . ' (SELECT count(*) FROM (TABLE ids EXCEPT TABLE told) AS others),'
		  . ' (SELECT count(*) FROM (TABLE tails EXCEPT TABLE kept) AS lost)');
	$self->say(
		sprintf '%d rounds; clients were told %d IDs; tables have %d besides;'
		  . ' old leaders alone had %d rows',
		scalar @$rounds,
		3 * $told, 3 * $others, $lost);
	cmp_ok($lost, '>', 0, 'rows that only old leaders had committed were compared, too');
	for my $kind (@order) {
		my @these = grep { $_->{kind} eq $kind } @$rounds or next;
		$self->say(
			sprintf '%-52s  %d times, medians: leader after %5.1f s, IDs after %5.1f s',
			$event{$kind}{says},
			scalar @these,
			map {
				my $what = $_;
				median(map { $_->{$what} } @these)
			} 'leader',
			'ids');
	}
	my %errors = %{ $self->{errors} };
	my @most = (sort { $errors{$b} <=> $errors{$a} || $a cmp $b } keys %errors)[ 0 .. 9 ];
	$self->say("clients saw $errors{$_} times: $_") for grep { defined } @most;
	return;
}

# The rounds in which two members could take writes at the same time, and the others.
sub rounds_of_two {
	my ($self) = @_;
	return grep { $event{ $_->{kind} }{two} } @{ $self->{rounds} };
}

sub rounds_of_one {
	my ($self) = @_;
	return grep { !$event{ $_->{kind} }{two} } @{ $self->{rounds} };
}

# How many of the IDs that repeat have a time in this round.
sub twice_in {
	my ($self, $round) = @_;
	return $self->{node}->safe_psql(
		'postgres',
		sprintf
		  'SELECT count(*) FROM twice WHERE at BETWEEN to_timestamp(%.3f) AND to_timestamp(%.3f)',
		$round->{from},
		$round->{until});
}

# Whether the comparison finds an ID that repeats: one is planted among those that clients were
# told.
sub finds_what_is_planted {
	my ($self) = @_;
	my %before = $self->{writers}->twice;
	$self->{node}->safe_psql('postgres', <<'SQL');
INSERT INTO told SELECT 'planted', member, flake, uniqueid, sno FROM told
WHERE flake NOT IN (SELECT id::bigint FROM twice WHERE type = 'flake') LIMIT 1
SQL
	my %after = $self->{writers}->twice;
	return
	  join(' ', map { $after{$_} - $before{$_} } @Writers::columns) eq
	  join(' ', (1) x @Writers::columns);
}

1;
