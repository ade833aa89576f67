# Rows in the tables of Ledger.pm's create_tables, one for each ID type, and whether an ID repeats.
package HeldIds;

use strict;
use warnings;

use Exporter qw(import);
use Ledger;
use Server;

our @EXPORT = qw(insert_rows held of_each);

# Inserts a number of rows into each table. Returns the errors.
sub insert_rows {
	my ($node, $count) = @_;
	return join '',
	  map { error_of($node, "INSERT INTO $_->{name}s SELECT FROM generate_series(1, $count)") }
	  @ID_TYPES;
}

# Returns how many rows each table has, and how many IDs repeat there.
sub held {
	my ($node) = @_;
	return join ' ', map {
		$node->safe_psql('postgres',
			"SELECT count(*), count(*) - count(DISTINCT id) FROM $_->{name}s")
	} @ID_TYPES;
}

# Returns what `held` does if each table has this number of rows.
sub of_each { my ($count) = @_; return join ' ', ("$count|0") x @ID_TYPES }

1;
