# The ID types of the extension, with names that are qualified by its schema, or by the search path.
package InSchema;

use strict;
use warnings;

use Exporter qw(import);
use Test::More;

our @EXPORT = qw(@TYPES @NAMES type_in next_in lately looks_up $BY_INDEX);

our @TYPES = map {
	{
		name => $_,
		type => $_ eq 'flake' ? 'bigint' : $_ eq 'uuidv7' ? 'uuid' : $_,
		next => $_ eq 'sno' ? 'sno_next(7)' : "${_}_next()",
		within => /^(?:sno|flake128|uniqueid)$/ ? '<@' : "${_}_within"
	}
} qw(flake sno flake128 guid guid_local uniqueid uuidv7);
our @NAMES = map { $_->{name} } @TYPES;

# The type of a column, in this schema.
sub type_in {
	my ($type, $schema) = @_;
	return ($schema && $type->{type} !~ /^(?:bigint|uuid)$/ ? "$schema." : '') . $type->{type};
}

# The call that generates an ID.
sub next_in { my ($type, $schema) = @_; return ($schema ? "$schema." : '') . $type->{next} }

# The condition that an ID is of the last hour.
sub lately {
	my ($type, $schema) = @_;
	my $range = q{tstzrange(now() - interval '1 hour', now() + interval '1 hour')};
	my $prefix = $schema ? "$schema." : '';
	return "$prefix$type->{within}(id, $range)" if $type->{within} ne '<@';
	return $schema ? "id OPERATOR($prefix<@) $range" : "id <@ $range";
}

# The line of a plan with both ends of a range of an index.
our $BY_INDEX =
  qr/Index Cond: \(\(id (?:OPERATOR\([a-z]+\.)?>=.* AND \(id (?:OPERATOR\([a-z]+\.)?<=/;

# Returns what is wrong with a query, which must find this number of rows by such a range.
sub looks_up {
	my ($ask, $query, $rows) = @_;
	my $plan = $ask->("EXPLAIN (COSTS OFF) $query");
	my $found = $ask->($query);
	return ($plan =~ $BY_INDEX ? () : "$query: $plan",
		$found eq $rows ? () : "$query: $found rows");
}

1;
