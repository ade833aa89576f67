# What a server says of its lease of generator IDs, and what it generates with them.
package Leases;

use strict;
use warnings;

use Exporter qw(import);
use JSON::PP;
use Ledger;
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

our @EXPORT = qw($FORGOTTEN $EVER wait_until settings set lease_of lease_becomes memory_of
  generator_ids want_more use_endpoints wait_for_lease wait_for_error
  wait_for_ids generate generates span_of refuses others_generate begin_crowd end_crowd count_ids
  processes_of);

# Where an ID has its generator ID.
my %generator =
  (flake => 'datacenter * 32 + worker', sno => '"partition"', uniqueid => 'generator_id');

# A moment after all IDs, in seconds since 1970.
our $EVER = 4_000_000_000;

# The error of a server that waits for the end of a grace period.
our $FORGOTTEN = qr/etcd has forgotten leases, so none is granted before they are over/;

# Returns lines of a configuration file with these settings.
sub settings {
	my (%settings) = @_;
	return join '', map { "flakeid.$_ = '$settings{$_}'\n" } sort keys %settings;
}

# Appends settings to the configuration of a server, without a reload.
sub set {
	my ($node, %settings) = @_;
	return $node->append_conf('postgresql.conf', settings(%settings));
}

# Returns the row of pg_stat_flakeid_lease; an empty hash without a row.
sub lease_of {
	my ($node) = @_;
	my $row = '(SELECT to_jsonb(l) FROM pg_stat_flakeid_lease AS l)';
	return JSON::PP->new->decode($node->safe_psql('postgres', "SELECT coalesce($row, '{}')"));
}

# Returns the document of the file flakeid/etcd.
sub memory_of {
	my ($node) = @_;
	my $file = $node->data_dir . '/flakeid/etcd';
	my ($document) = slurp_file($file) =~ /\A(\{.*\})\n+crc32 [0-9a-f]{8}\n\z/s
	  or die $node->name . ' remembers nothing';
	return JSON::PP->new->decode($document);
}

# Waits until this column of pg_stat_flakeid_lease is true, or has a text, and returns it. One
# session looks again and again, as leases take seconds, and a psql for each look costs more. A
# server that restarts ends it.
sub lease_becomes {
	my ($node, $column) = @_;
	my $query = "SELECT $column FROM pg_stat_flakeid_lease";
	my $looks = <<~"SQL";
		DO \$\$
		BEGIN
			FOR look IN 1 .. 100 LOOP
				EXIT WHEN coalesce(($query)::text, '') NOT IN ('', 'false');
				PERFORM pg_sleep(0.1);
			END LOOP;
		END
		\$\$;
		SQL
	my $found;
	wait_until(
		"$query on " . $node->name,
		sub {
			$found = eval { $node->safe_psql('postgres', "$looks $query") } // '';
			return $found ne '' && $found ne 'f';
		});
	return $found;
}

# Returns the generator IDs that a server holds, in one line.
sub generator_ids { my ($node) = @_; return join ' ', @{ lease_of($node)->{generator_ids} || [] } }

# Reloads a server with these endpoints.
sub use_endpoints {
	my ($node, $endpoints) = @_;
	set($node, etcd_endpoints => $endpoints);
	return $node->reload;
}

# Makes a server want one generator ID more, so that it lists what is in etcd.
sub want_more {
	my ($node) = @_;
	my ($wanted) = $node->safe_psql('postgres', 'SHOW flakeid.generator_ids') =~ /(\d+)/;
	set($node, generator_ids => 'etcd:' . ($wanted + 1));
	return $node->reload;
}

# Waits until a server holds this number of generator IDs, and returns them in one line.
sub wait_for_lease {
	my ($node, $number) = @_;
	my $is_complete = "state = 'held' AND cardinality(generator_ids) = $number";
	return lease_becomes($node,
		"CASE WHEN $is_complete THEN array_to_string(generator_ids, ' ') END");
}

# Waits until the last error of a server is like this, and returns it. On a slow machine there may
# be others before, such as an etcd that did not answer in time.
sub wait_for_error {
	my ($node, $reason) = @_;
	my $error;
	my $has_reason = sub { ($error = lease_of($node)->{last_error} // '') =~ $reason };
	eval { wait_until('', $has_reason, 0.3) } or die $node->name . " has another error: $error";
	return $error;
}

# Runs a statement on a server or in a session. Returns its answer and its error.
sub _query {
	my ($who, $sql) = @_;
	if ($who->can('query')) {
		my $answer = $who->query($sql);
		my $error = $who->{stderr};
		$who->{stderr} = '';
		return ($answer, $error);
	}
	my ($answer, $error);
	$sql = "\\set VERBOSITY verbose\n$sql";
	$who->psql('postgres', $sql, stdout => \$answer, stderr => \$error);
	return ($answer, $error);
}

# Returns the errors of the statements that generate an ID of each of these types.
sub _errors {
	my ($who, @id_types) = @_;
	return map { (_query($who, "SELECT $_->{next}"))[1] } @id_types;
}

# Waits until a server, or a session, generates IDs of all types that use generator IDs.
sub wait_for_ids {
	my ($who) = @_;
	my $all = 'SELECT ' . join ', ', map { $_->{next} } @WITH_GENERATOR_IDS;
	wait_until('IDs are generated', sub { (_query($who, $all))[1] eq '' });
	return;
}

# Generates 500 IDs of each type that uses generator IDs, on a server or in a session, and enters
# them. Returns the `error`, the `ids` by the type's name, and their `generators` in one line.
sub generate {
	my ($ledger, $who) = @_;
	my (%ids, %generators, @errors);
	for my $id_type (@WITH_GENERATOR_IDS) {
		my $name = $id_type->{name};
		my $batch = sprintf $id_type->{batch}, 500;
		my ($rows, $error) = _query($who,
			"SELECT '$name', id, $generator{$name} FROM $batch AS id, ${name}_decode(id)");
		push @errors, $error if $error ne '';
		my @rows = map { [ split /\|/ ] } split /\n/, $rows;
		$ledger->enter(join "\n", map { "$_->[0]\t$_->[1]" } @rows);
		$ids{$name} = [ map { $_->[1] } @rows ];
		$generators{ $_->[2] } = 1 for @rows;
	}
	my $generators = join ' ', sort { $a <=> $b } keys %generators;
	return { error => join('', @errors), ids => \%ids, generators => $generators };
}

# Tests that a server, or a session, generates IDs, and that these have no other generator IDs than
# those in this line. Returns what `generate` does.
sub generates {
	my ($ledger, $who, $test, $allowed) = @_;
	my $given = generate($ledger, $who);
	my %is_allowed = map { $_ => 1 } split / /, $allowed // $given->{generators};
	my @others = grep { !$is_allowed{$_} } split / /, $given->{generators};
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is("$given->{error}@others", '', $test);
	return $given;
}

# Returns the least end and the greatest beginning of the ticks of these IDs, in nanoseconds.
sub span_of {
	my ($node, $given) = @_;
	my (@ends, @begins);
	for my $id_type (@WITH_GENERATOR_IDS) {
		my ($from, $to) = times_of($node, $id_type, @{ $given->{ids}{ $id_type->{name} } });
		push @ends, $from + $id_type->{tick};
		push @begins, $to;
	}
	return (min(@ends), max(@begins));
}

# Tests that a server, or a session, refuses IDs of all types that use generator IDs, with this
# error.
sub refuses {
	my ($who, $error, $test) = @_;
	my @others = grep { !/$error/ } _errors($who, @WITH_GENERATOR_IDS);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join("\n", map { $_ || 'no error' } @others), '', $test);
}

# Tests that a server, or a session, generates IDs of the types that use no generator IDs.
sub others_generate {
	my ($who, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join('', _errors($who, @WITHOUT_GENERATOR_IDS)), '', $test);
}

# Begins sessions that generate IDs on each of these servers until the test ends them.
sub begin_crowd {
	my ($ledger, @nodes) = @_;
	$ledger->crowd($_, id_types => \@WITH_GENERATOR_IDS, ways => [ 'single', 'batch' ]) for @nodes;
	$ledger->wait_until_given(0.3);
	return;
}

# Ends them. Returns the lines of their errors.
sub end_crowd {
	my ($ledger, @nodes) = @_;
	my $of_crowd = "FROM pg_stat_activity WHERE application_name = 'crowd'";
	$_->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $of_crowd") for @nodes;
	return map { $_->{error} =~ /(ERROR: .*\n)/g } $ledger->dispersed;
}

# Counts the IDs of these sessions whose time is after a moment and not after another one. Both are
# in seconds since 1970.
sub count_ids {
	my ($node, $from, $to, @sessions) = @_;
	my $number = 0;
	for my $id_type (@WITH_GENERATOR_IDS) {
		my @files = map { $_->{out} } grep { $_->{id_type} == $id_type } @sessions;
		my ($after, $until) = map { sprintf 'to_timestamp(%.6f)', $_ } $from, $to;
		$number += $node->safe_psql(
			'postgres',
			join ' ',
			"CREATE TEMP TABLE ids (name text, id $id_type->{type});",
			(map { "COPY ids FROM '$_';" } @files),
			"SELECT count(*) FROM ids, $id_type->{name}_timestamp(id) AS at",
			"WHERE at > $after AND at <= $until");
	}
	return $number;
}

# Returns the processes of a server, its postmaster first.
sub processes_of {
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /\A(\d+)$/m;
	# A process that has ended by now has no file to read.
	my @stats =
	  map { my $file; open($file, '<', $_) ? <$file> // '' : '' } glob '/proc/[0-9]*/stat';
	return ($postmaster, map { /\A(\d+) .*\) \w \Q$postmaster\E / ? $1 : () } @stats);
}

1;
