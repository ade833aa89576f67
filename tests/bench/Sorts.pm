# Sorting, indexing, joining, and text: a million of each type against bigint and uuid.
package Sorts;
use strict;
use warnings;
use Exporter 'import';
use Contenders;
use Plot;
use Report;
use Rounds;
use Server;

our @EXPORT = qw(sort_index_join_text);

# All in memory: what is compared is the types, not the disk.
my $in_memory =
  "SET work_mem = '512MB'; SET maintenance_work_mem = '512MB'; SET hash_mem_multiplier = 1;";
my $join = "$in_memory SET enable_mergejoin = off; SET enable_nestloop = off;";

my $alone = "$in_memory SET max_parallel_maintenance_workers = 0;";

# Spread over a month, and made within one second (uniqueid within two, as its format has 512 a
# millisecond for eight generator IDs).
my %every = (month => '2592 milliseconds', second => '1 microsecond');

# A type of the report, its SQL type, and the i-th value of a month and of a second, where %s is its
# time. What is random is the same in both.
sub types {
	my @types = (
		[ 'bigint', 'bigint', 'i', 'i' ],
		[ 'uuid v4', 'uuid', 'gen_random_uuid()', undef ],
		[ 'flake', 'bigint', ('flake_at(%s, i)') x 2 ],
		[ 'sno', 'sno', ('sno_at(%s, 0, i)') x 2 ],
		[ 'flake128', 'flake128', ('flake128_at(%s, i)') x 2 ],
		[ 'guid', 'guid', ('guid_at(%s, i)') x 2 ],
		[ 'guid_local', 'guid_local', ('guid_local_at(%s, i)') x 2 ],
		[
			'uniqueid', 'uniqueid',
			'uniqueid_at(%s, i)', 'uniqueid_at(%s + i * interval \'1 microsecond\', i)'
		],);
	# Its second is the one, or nearly, in which they are made.
	splice @types, 2, 0, [ 'uuid v7', 'uuid', "uuidv7(i * interval '$every{month}')", 'uuidv7()' ]
	  if uuidv7();
	return @types;
}

sub make_types {
	my $rows = million();
	for my $type (types()) {
		my ($name, $sql_type, %value) =
		  ($type->[0], $type->[1], month => $type->[2], second => $type->[3]);
		progress("a million of $name");
		for my $spread (grep { defined $value{$_} } 'month', 'second') {
			my $table = table_of($name, $spread);
			my $time = "(timestamptz '2026-06-01 00:00+00' + i * interval '$every{$spread}')";
			my $id = $value{$spread} =~ s/%s/$time/r;
			# Materialized, or the sort would come before the IDs are made.
			psql('bench', <<"END");
CREATE UNLOGGED TABLE $table AS
    WITH made AS MATERIALIZED (SELECT $id AS id FROM generate_series(0::bigint, $rows - 1) AS i)
    SELECT id FROM made ORDER BY random();
VACUUM (FREEZE, ANALYZE) $table;
END
		}
		my $table = table_of($name, 'month');
		psql('bench', <<"END");
CREATE UNLOGGED TABLE ${table}_joined AS SELECT id FROM $table ORDER BY random();
CREATE UNLOGGED TABLE ${table}_text AS SELECT id::text AS id FROM $table;
VACUUM (FREEZE, ANALYZE) ${table}_joined, ${table}_text;
END
	}
}

sub table_of {
	my ($name, $spread) = @_;
	return 'ids_' . $name =~ s/ /_/r . "_$spread";
}

# What is measured of a type: its name, statements before it, what is timed, a statement after it.
sub measures {
	my ($name, $sql_type, $spreads) = @_;
	my $rows = million();
	my @measures;
	for my $spread (@$spreads) {
		my $table = table_of($name, $spread);
		push @measures,
		  [ "sort, $spread", $in_memory, "SELECT id FROM $table ORDER BY id OFFSET $rows", '' ],
		  [ "index, $spread", $alone, "CREATE INDEX sorted ON $table (id)", 'DROP INDEX sorted;' ];
		push @measures,
		  [
			"sort by comparison, $spread",
			"$in_memory ALTER OPERATOR FAMILY sno_ops USING btree DROP FUNCTION 2 (sno, sno);",
			"SELECT id FROM $table ORDER BY id OFFSET $rows",
			'ALTER OPERATOR FAMILY sno_ops USING btree'
			  . ' ADD FUNCTION 2 (sno, sno) sno_sortsupport(internal);'
		  ]
		  if $name eq 'sno';
	}
	my $table = table_of($name, 'month');
	return (
		@measures,
		[ 'join', $join, "SELECT count(*) FROM $table JOIN ${table}_joined USING (id)", '' ],
		[ 'scan', '', "SELECT count(id) FROM $table", '' ],
		[ 'text out', '', "SELECT count(id::text) FROM $table", '' ],
		[ 'scan of text', '', "SELECT count(id) FROM ${table}_text", '' ],
		[ 'text in', '', "SELECT count(id::$sql_type) FROM ${table}_text", '' ],);
}

sub sort_index_join_text {
	my ($rounds) = @_;
	my $rows = million();
	my @types = types();
	make_types();
	# Of a type, a measure: milliseconds, or for text nanoseconds a value.
	my (%taken, %ratio, %by_keys);
	rounds(
		'sort', $rounds,
		scalar @types,
		sub {
			my ($counts, @order) = @_;
			my %now;
			for (@types[@order]) {
				my ($name, $sql_type, undef, $second) = @$_;
				for (
					measures($name, $sql_type, [ defined $second ? ('month', 'second') : 'month' ]))
				{
					my ($what, $before, $query, $after) = @$_;
					($now{$what}{$name}) =
					  psql('bench', grep { $_ } $before, timed($query), $after);
				}
				for ([ 'text out', 'scan' ], [ 'text in', 'scan of text' ]) {
					my ($what, $without) = @$_;
					$now{$what}{$name} = 1e6 / $rows * ($now{$what}{$name} - $now{$without}{$name});
				}
			}
			# What is random has no time.
			$now{"$_, second"}{'uuid v4'} = $now{"$_, month"}{'uuid v4'} for 'sort', 'index';
			return unless $counts;
			push @{ $by_keys{$_} }, $now{"sort by comparison, $_"}{sno} / $now{"sort, $_"}{sno}
			  for 'month', 'second';
			for my $what (keys %now) {
				for my $name (keys %{ $now{$what} }) {
					push @{ $taken{$what}{$name} }, $now{$what}{$name};
					for (grep { $now{$what}{$_} } 'uuid v4', 'uuid v7') {
						push @{ $ratio{$what}{$name}{$_} }, $now{$what}{$name} / $now{$what}{$_};
					}
				}
			}
		});
	write_report(\%taken, map { $_->[0] } @types);
	sort_goals(\%ratio, \%by_keys);
}

sub write_report {
	my ($taken, @names) = @_;
	heading('Sorting, indexing, joining, text');
	text(<<'END');
A million of each, shuffled, their times over a month or within one second (of uniqueids two; uuid
v4 has none, and bigint counts up). Milliseconds: `SELECT id FROM ids ORDER BY id OFFSET` all of
them, in memory; `CREATE INDEX` on a table that is not logged; a hash join with the same IDs in
another order. Nanoseconds a value: `id::text` and back, each without reading the table.
END
	my @measures = (
		[ 'sort, month', 'sort, ms: a month', '%.0f' ],
		[ 'sort, second', 'a second', '%.0f' ],
		[ 'index, month', 'index, ms: a month', '%.0f' ],
		[ 'index, second', 'a second', '%.0f' ],
		[ 'join', 'hash join, ms', '%.0f' ],
		[ 'text out', 'text out, ns', '%.0f' ],
		[ 'text in', 'text in, ns', '%.0f' ],);
	table(
		[ 'type', map { $_->[1] } @measures ],
		map {
			my $name = $_;
			[ $name, map { spread($taken->{ $_->[0] }{$name}, $_->[2]) } @measures ]
		} @names);
	my $panel = sub {
		my ($what, $title) = @_;
		return { title => $title, format => '%.0f', values => $taken->{$what} };
	};
	bars(
		'sort',
		'A million IDs sorted and indexed',
		$panel->('sort, month', 'sort, ms: IDs of a month'),
		$panel->('sort, second', 'of one second'),
		$panel->('index, month', 'index, ms: IDs of a month'),
		$panel->('index, second', 'of one second'));
	bars(
		'text',
		'IDs as text, and joined',
		$panel->('text out', 'text out, ns'),
		$panel->('text in', 'text in, ns'),
		$panel->('join', 'a million hash joined, ms'));
}

sub sort_goals {
	my ($ratio, $by_keys) = @_;
	goal('sort of a million sno over a month, times faster than by comparison alone',
		'>=', '1.80', $by_keys->{month});
	goal('sort of a million sno of one second, times faster than by comparison alone',
		'>=', '1.00', $by_keys->{second});
	goal('sort of a million sno over a month, times uuid v4',
		'<=', '1.00', $ratio->{'sort, month'}{sno}{'uuid v4'});
	goal(
		'sort of a million sno of one second, times uuid v7',
		'<=', '1.30',
		$ratio->{'sort, second'}{sno}{'uuid v7'},
		uuidv7() ? undef : 'from PostgreSQL 18 on');
	# Before PostgreSQL 18 there is no v7 to compare with.
	my $uuid = uuidv7() ? 'uuid v7' : 'uuid v4';
	goal("index on a million sno of one $_, times on $uuid",
		'<=', '1.00', $ratio->{"index, $_"}{sno}{$uuid})
	  for 'month', 'second';
	goal("$_ of sno, times uuid v4", '<=', '1.00', $ratio->{$_}{sno}{'uuid v4'})
	  for 'text out', 'text in';
}

1;
