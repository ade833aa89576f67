# What flakeid_readiness says of a server, and what sessions see there.
package Readiness;

use strict;
use warnings;

use Exporter qw(import);
use Ledger;
use Server;
use StateFile;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw($ALL_TYPES readiness all_are without_use is_as_sessions_see traces configure
  becomes_ready settings_errors);

my %next = map { $_->{name} => "$_->{name}_next()" } @ID_TYPES;
our $ALL_TYPES = join ' ', map { $_->{name} } @ID_TYPES;

# Returns the rows, as "flake ready unused", or with the SQLSTATE of an error in place of "ready".
sub readiness {
	my ($node) = @_;
	return $node->safe_psql('postgres', <<'SQL');
SET SESSION AUTHORIZATION watcher;
SELECT concat_ws(' ', id_type, CASE WHEN ready THEN 'ready' ELSE sqlstate END,
	CASE WHEN used THEN 'used' WHEN NOT used THEN 'unused' END)
FROM flakeid_readiness
SQL
}

# Returns what `readiness` does if all ID types are like this, such as "ready used", but for some.
sub all_are {
	my ($state, %others) = @_;
	return join "\n", map { "$_ " . ($others{$_} // $state) } split / /, $ALL_TYPES;
}

# Returns the rows without whether the ID types were used.
sub without_use {
	my ($node) = @_;
	return readiness($node) =~ s/ (?:un)?used//gr;
}

# Tests that the view has these ID types as ready. Sessions get IDs of these. For each other ID type
# they get the error that the view has.
sub is_as_sessions_see {
	my ($node, $expected, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %told = _told($node);
	is(join(' ', grep { $told{$_}[0] eq 't' } split / /, $ALL_TYPES), $expected, $test);
	my @wrong;
	for my $id_type (split / /, $ALL_TYPES) {
		my ($before, $difference) = ('', '');
		# The error of a session may be a new one, which the view has by now.
		until ($before eq "@{ $told{$id_type} }") {
			my ($is_ready, $told) = @{ $told{$id_type} };
			$before = "$is_ready $told";
			my $had = _timeless(error_of($node, "SELECT $next{$id_type}"));
			my $is_same = $is_ready eq 't' ? $had eq '' : index($had, $told) >= 0;
			$difference = $is_same ? '' : "$id_type: $told but $had";
			last if $is_same;
			%told = _told($node);
		}
		push @wrong, $difference || ();
	}
	is("@wrong", '', "sessions see the same: $test");
	return;
}

# Returns by each ID type what the view says: whether it is ready, and its error.
sub _told {
	my ($node) = @_;
	my $rows = $node->safe_psql('postgres', <<'SQL');
SELECT id_type, ready, concat('ERROR:  ', sqlstate, ': ', error), concat('DETAIL:  ' || detail),
	concat('HINT:  ' || hint)
FROM flakeid_readiness
SQL
	return map {
		my ($id_type, $is_ready, @error) = split /\|/, $_, -1;
		($id_type => [ $is_ready, _timeless(join "\n", grep { $_ ne '' } @error) ])
	} split /\n/, $rows;
}

# Returns a text without spans of time: the clock goes on between two of them.
sub _timeless { my ($text) = @_; return $text =~ s/\b\d+(?:\.\d+)? (?:ms|s|min)\b/some time/gr }

# Returns what IDs change, in memory and on disk.
sub traces {
	my ($node) = @_;
	my $counts = $node->safe_psql('postgres', <<'SQL');
SELECT count(*), sum(ids), sum(spills), sum(waits), sum(clock_steps_back), sum(tick_tocks)
FROM pg_stat_flakeid;
SELECT writes, failures FROM pg_stat_flakeid_horizon;
SQL
	return "$counts " . (-e state_path($node) ? slurp_file(state_path($node)) : 'no state');
}

sub configure {
	my ($node, $lines) = @_;
	$node->append_conf('postgresql.conf', $lines);
	$node->reload;
	return;
}

# Waits until all ID types are ready.
sub becomes_ready {
	my ($node) = @_;
	$node->poll_query_until('postgres', 'SELECT bool_and(ready) FROM flakeid_readiness')
	  or die 'the server is not ready';
	return;
}

# Returns these columns of flakeid_settings_errors, where `file` is the name of the file.
sub settings_errors {
	my ($node, $columns) = @_;
	return $node->safe_psql('postgres', <<"SQL");
SELECT $columns FROM flakeid_settings_errors,
	LATERAL (SELECT regexp_replace(sourcefile, '.*/', '') AS file) AS files ORDER BY name
SQL
}

1;
