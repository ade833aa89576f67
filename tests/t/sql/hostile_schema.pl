# The extension is trusted: a user who may create objects in a database can install it, and its
# scripts run as superuser. A user fills the extension's schema with traps first. No trap is ever
# called, and nothing of the extension depends on one: after a fresh install, one of 0.6.0, and an
# update.
use strict;
use warnings;
use lib 'tests/perl';

use Test::More;
use Traps;

my $node = set_traps('hostile');
install('fresh', '');
is_clean('fresh', 'a fresh install');
install('older', "VERSION '0.6.0'");
is_clean('older', '0.6.0');

# Once the types are there, traps can have them as arguments, too.
succeeds_as_owner('older', traps_of_types(), 'setting traps for the types of 0.6.0');
succeeds_as_owner('older', 'ALTER EXTENSION flakeid UPDATE', 'an update of 0.6.0');
is_clean('older', '0.6.0 after its update');

# functions of 0.6.0 that took traps ---------------------------------------------------------------

# Returns the functions of a released 0.6.0 that could take functions of users for PostgreSQL's.
sub released {
	my ($type) = @_;
	my $sql = '';
	for (
		[ 'lt', '<', '(NULL, "time")' ],
		[ 'le', '<=', q{(NULL, "time", '(]')} ],
		[ 'ge', '>=', '("time", NULL)' ],
		[ 'gt', '>', '("time", NULL)' ])
	{
		my ($name, $operator, $arguments) = @$_;
		$sql .= <<~"SQL";
			CREATE OR REPLACE FUNCTION ${type}_${name}_time(id $type, "time" timestamptz)
				RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
				RETURN ${type}_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange$arguments END)
					AND flakeid_recheck(${type}_timestamp(id) $operator "time");
			SQL
	}
	my $bounds = join ",\n", map {
		my ($time, $lower) = @$_;
		my $range = "${type}_range_min(tstzrange(NULL, times.$lower), drift, true)";
		"CASE WHEN inverse THEN $range ELSE ${type}_min(times.$time, drift) END"
	}[ 'starts', 'ends' ], [ 'ends', 'starts' ];
	return $sql . <<~"SQL";
		CREATE OR REPLACE FUNCTION ${type}_within(id $type, times tstzrange,
				drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false)
			RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
			RETURN id >= ${type}_range_min(times, drift, inverse)
				AND id <= ${type}_range_max(times, drift, inverse)
				AND flakeid_recheck(${type}_timestamp(id, inverse) <@ times);
		CREATE OR REPLACE FUNCTION ${type}_in_times(id $type, times tstzrange)
			RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
			RETURN ${type}_near(id, times) AND flakeid_recheck(${type}_timestamp(id) <@ times);
		CREATE OR REPLACE FUNCTION ${type}_partition_bounds("from" timestamptz, "to" timestamptz,
				step interval, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false)
			RETURNS TABLE (
				name text, starts timestamptz, ends timestamptz, lower $type, upper $type
			)
			LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
			BEGIN ATOMIC
				SELECT times.name, times.starts, times.ends, $bounds
				FROM flakeid_partition_times("from", "to", step) AS times;
			END;
		SQL
}

install('taken', "VERSION '0.6.0'");
# As a script of the extension ran: as superuser, with the schema as its path.
$node->safe_psql('taken',
	'SET search_path = ids, pg_temp;' . released('guid') . released('guid_local'));
my %taken = map { s/ -> .*//r => 1 } split /\n/, $node->safe_psql('taken', $FOREIGN);
is(scalar(keys %taken), 14, '14 functions of 0.6.0 depend on traps');
$node->psql('taken', <<~'SQL', stderr => \my $error);
	SET search_path = pg_catalog;
	SELECT ids.guid_in_times(ids.guid_min(timestamptz '2026-01-02', interval '1 day'),
		tstzrange '[2026-01-01,2026-02-01)')
	SQL
like(
	$error,
	qr/trap timestamp with time zone <@ tstzrange, called by/,
	'a function of 0.6.0 calls a trap');
$node->safe_psql('taken', 'DELETE FROM traps.sprung; ALTER ROLE eve NOSUPERUSER');
succeeds_as_owner('taken', 'ALTER EXTENSION flakeid UPDATE', 'an update that removes traps');
is_clean('taken', '0.6.0 without its traps');

$node->stop;
done_testing();
