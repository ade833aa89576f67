# What a query did: its plan as EXPLAIN gives it for programs to read, with the rows that each node
# gave.
package Plan;

use strict;
use warnings;

use Exporter qw(import);
use JSON::PP;

our @EXPORT = qw(plan_of nodes_of table_of scans_of entries_of bounds_of filters_of summary_of);

# Runs a statement in a session and returns the topmost node of its plan.
sub plan_of {
	my ($session, $sql) = @_;
	my $json = $session->query_safe("EXPLAIN (ANALYZE, TIMING off, FORMAT json) $sql");
	# A column of type flake is shown with the type that PostgreSQL takes it for.
	$json =~ s/\((\w+(?:\.\w+)?)\)::bigint\b/$1/g;
	return JSON::PP->new->decode($json)->[0]{Plan};
}

sub nodes_of {
	my ($node) = @_;
	return ($node, map { nodes_of($_) } @{ $node->{Plans} || [] });
}

# The name of what a node reads: a table, or an index whose name begins with its table's; empty for
# the others.
sub table_of {
	my ($node) = @_;
	return $node->{'Relation Name'} // $node->{'Index Name'} // '';
}

# The nodes that read a table or an index. A bitmap's table is read by what lies below it.
sub scans_of {
	my ($plan) = @_;
	return
	  grep { $_->{'Node Type'} =~ /^(?:Seq|Index|Index Only|Bitmap Index|Tid|Tid Range) Scan$/ }
	  nodes_of($plan);
}

# How many rows or entries of an index these scans looked at.
sub entries_of {
	my (@scans) = @_;
	my $entries = 0;
	for my $scan (@scans) {
		my $each = $scan->{'Actual Rows'};
		$each    += $scan->{$_} || 0 for 'Rows Removed by Filter', 'Rows Removed by Index Recheck';
		$entries += $each * $scan->{'Actual Loops'};
	}
	return $entries;
}

# Which ends of a range of IDs a scan's index condition has: "lower", "upper", "both" or "none".
sub bounds_of {
	my ($scan) = @_;
	my $condition = $scan->{'Index Cond'} || '';
	my $lower = $condition =~ /\bid >=? /;
	my $upper = $condition =~ /\bid <=? /;
	return $lower && $upper ? 'both' : $lower ? 'lower' : $upper ? 'upper' : 'none';
}

# What is asked of rows beyond an index: the conditions that some node looks at row by row.
sub filters_of {
	my ($plan) = @_;
	return map { ($_->{Filter} // (), $_->{'Join Filter'} // ()) } nodes_of($plan);
}

# A plan in a few lines, for the message of a test that fails.
sub summary_of {
	my ($node, $depth) = @_;
	$depth //= 0;
	my $what = join ' ', grep { defined } @{$node}{ 'Node Type', 'Relation Name', 'Index Name' };
	my $line = sprintf '%s%s: %s x %s', '  ' x $depth, $what,
	  @{$node}{ 'Actual Rows', 'Actual Loops' };
	for
	  my $key ('Index Cond', 'Filter', 'Join Filter', 'Rows Removed by Filter', 'Subplans Removed')
	{
		next unless defined $node->{$key};
		my $value =
		  length $node->{$key} > 150 ? substr($node->{$key}, 0, 150) . '...' : $node->{$key};
		$line .= sprintf "\n%s  %s: %s", '  ' x $depth, $key, $value;
	}
	return join "\n", $line, map { summary_of($_, $depth + 1) } @{ $node->{Plans} || [] };
}

1;
