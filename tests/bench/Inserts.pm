# Inserts, a million rows in one statement and rows one by one, into a table that is empty and into
# one that is larger than the server's buffers.
#
# The first round, whose times do not count, counts instead: it writes no full-page images, so that
# its WAL is that of the records alone, and its INSERT runs under EXPLAIN (ANALYZE, BUFFERS, WAL).
# In the rounds that are timed a checkpoint comes right before, so that every page's first change
# writes its image into the WAL; of rows that go everywhere in an index that is nearly all of it.
package Inserts;
use strict;
use warnings;
use Exporter 'import';
use Contenders;
use Plot;
use Report;
use Rounds;
use Server;

our @EXPORT = qw(insert_into_empty_table insert_into_grown_table insert_million);

# As many as take about a second.
my $single = quick() ? 500 : 20_000;

sub insert_into_empty_table {
	my ($rounds) = @_;
	my @columns = columns();
	my $results = measure(
		'insert', $rounds,
		sub {
			my ($i, $insert) = @_;
			my (undef, $type, $default) = @{ $columns[$i] };
			my @fill;
			for (\&insert_single, $insert) {
				psql('bench',
					"CREATE TABLE filled (id $type $default PRIMARY KEY, payload integer);");
				push @fill, $_->('bench');
				psql('bench', 'DROP TABLE filled;');
			}
			return @fill;
		});
	heading('Inserts into an empty table');
	report('insert', 'an empty table', $results);
}

# Every round needs the same grown table, with an index that inserts have made and not a sort: so
# that is made once, in a database of its own, and copied file by file each time.
sub insert_into_grown_table {
	my ($rounds) = @_;
	my $grown_rows = 5 * million();
	my @columns = columns();
	for my $i (0 .. $#columns) {
		my ($name, $type, $default) = @{ $columns[$i] };
		progress("grown: $grown_rows rows of $name");
		psql(
			'postgres',
			"DROP DATABASE IF EXISTS bench_grown_$i;",
			"CREATE DATABASE bench_grown_$i;");
		psql("bench_grown_$i", <<"END");
CREATE EXTENSION flakeid;
CREATE TABLE filled (id $type $default PRIMARY KEY, payload integer);
INSERT INTO filled (payload) SELECT generate_series(1, $grown_rows);
VACUUM ANALYZE filled;
END
	}
	my $results = measure(
		'grown', $rounds,
		sub {
			my ($i, $insert) = @_;
			psql(
				'postgres',
				'DROP DATABASE IF EXISTS bench_copy;',
				"CREATE DATABASE bench_copy TEMPLATE bench_grown_$i STRATEGY file_copy;");
			my @fill = (insert_single('bench_copy'), $insert->('bench_copy'));
			psql('postgres', 'DROP DATABASE bench_copy;');
			return @fill;
		});
	psql('postgres', map { "DROP DATABASE bench_grown_$_;" } 0 .. $#columns);
	heading('Inserts into a table of 5 million rows');
	text(   'Its shared_buffers are '
		  . psql('bench', 'SHOW shared_buffers')
		  . ". The index is that of all 6 million.\n");
	report('grown', 'a table of 5 million rows', $results);
}

# Calls back with a column's number and the way to insert a million, for what that and single rows
# took; returns, for each column, what was measured in the rounds and counted in the first.
sub measure {
	my ($section, $rounds, $fill) = @_;
	my @columns = columns();
	my %results;
	rounds(
		$section, $rounds,
		scalar @columns,
		sub {
			my ($counts, @order) = @_;
			my %now;
			setting('full_page_writes', $counts ? undef : 'off') if $counts < 2;
			for my $i (@order) {
				my ($single, $bulk) = $fill->($i, $counts ? \&insert_million : \&explain_million);
				$now{ $columns[$i][0] } = { %$single, %$bulk };
			}
			for my $name (keys %now) {
				my %of = %{ $now{$name} };
				if ($counts) {
					$of{to_bigserial} = $of{seconds} / $now{bigserial}{seconds};
					$of{to_uuid} = $of{seconds} / $now{$uuid}{seconds};
					$of{uuid_to_this} = 1 / $of{to_uuid};
					$of{single_to_bigserial} = $of{microseconds} / $now{bigserial}{microseconds};
				}
				$of{wal_to_bigserial} = $of{wal} / $now{bigserial}{wal};
				push @{ $results{$name}{ $counts ? $_ : "counted_$_" } }, $of{$_} for keys %of;
			}
		});
	return \%results;
}

# Into the table `filled` with an index `filled_pkey`, commit and all.
sub insert_million {
	my ($database) = @_;
	my ($seconds, $wal, $index, $indexes) = split /\|/, psql($database, <<"END");
CHECKPOINT;
SELECT clock_timestamp() AS began, pg_current_wal_insert_lsn() AS lsn \\gset
INSERT INTO filled (payload) SELECT generate_series(1, @{[million()]});
SELECT extract(epoch FROM clock_timestamp() - :'began'),
       (pg_current_wal_insert_lsn() - :'lsn') / 1e6,
       pg_relation_size('filled_pkey') / 1e6, pg_indexes_size('filled') / 1e6;
END
	return { seconds => $seconds, wal => $wal, index => $index, indexes => $indexes };
}

sub explain_million {
	my ($database) = @_;
	# The first of its nodes has done what they all did.
	my $plan = join "\n", psql($database, 'CHECKPOINT;', <<"END");
EXPLAIN (ANALYZE, BUFFERS, WAL, TIMING OFF, FORMAT JSON)
    INSERT INTO filled (payload) SELECT generate_series(1, @{[million()]});
END
	my ($records) = $plan =~ /"WAL Records": (\d+)/;
	my ($bytes) = $plan =~ /"WAL Bytes": (\d+)/;
	my ($dirtied) = $plan =~ /"Shared Dirtied Blocks": (\d+)/;
	return { wal => $bytes / 1e6, records => $records / 1e3, dirtied => $dirtied / 1e3 };
}

# Row by row in one session, each a transaction that does not wait for the disk.
sub insert_single {
	my ($database) = @_;
	psql($database, 'CHECKPOINT;');
	my $lsn = psql($database, 'SELECT pg_current_wal_insert_lsn()');
	my $rate = pgbench_times($database, 'INSERT INTO filled (payload) VALUES (1);', $single);
	my $bytes = psql($database, "SELECT pg_current_wal_insert_lsn() - '$lsn'");
	return { microseconds => 1e6 / $rate, single_wal => $bytes / $single };
}

sub report {
	my ($section, $where, $results) = @_;
	my @names = map { $_->[0] } columns();
	text(<<"END");
A million rows: `INSERT INTO filled (payload) SELECT generate_series(1, @{[million()]})`, with its
commit, into `filled (id ... PRIMARY KEY DEFAULT ..., payload integer)`, right after a checkpoint.
WAL is all of it, with the images of pages that are changed for the first time since; "without
images" is that of another round without `full_page_writes`, whose records and dirtied buffers
EXPLAIN counted.
END
	table(
		[
			'ID',
			'seconds',
			'time, times bigserial',
			"time, times $uuid",
			'index, MB',
			'WAL, MB',
			'without images, MB',
			'records, thousand',
			'buffers dirtied, thousand'
		],
		map {
			my $of = $results->{$_};
			[
				$_,
				spread($of->{seconds}, '%.2f'),
				spread($of->{to_bigserial}, '%.2f'),
				spread($of->{to_uuid}, '%.2f'),
				spread($of->{index}, '%.1f'),
				spread($of->{wal}, '%.0f'),
				spread($of->{counted_wal}, '%.1f'),
				spread($of->{counted_records}, '%.0f'),
				spread($of->{counted_dirtied}, '%.1f')
			]
		} @names);
	text(<<"END");

Row by row: $single rows by pgbench in one session, each a statement and a transaction that does not
wait for the disk, right after a checkpoint.
END
	table(
		[ 'ID', 'us a row', 'time, times bigserial', 'WAL bytes a row', 'without images' ],
		map {
			my $of = $results->{$_};
			[
				$_,
				spread($of->{microseconds}, '%.1f'),
				spread($of->{single_to_bigserial}, '%.2f'),
				spread($of->{single_wal}, '%.0f'),
				spread($of->{counted_single_wal}, '%.0f')
			]
		} @names);
	my $values = sub {
		my ($key) = @_;
		return { map { $_ => $results->{$_}{$key} } @names };
	};
	bars(
		$section,
		"Inserts into $where",
		{ title => 'a million rows, seconds', format => '%.2f', values => $values->('seconds') },
		{ title => 'its WAL, MB', format => '%.0f', values => $values->('wal') },
		{
			title => 'one by one, microseconds a row',
			format => '%.1f',
			values => $values->('microseconds')
		});
	bars(
		'sizes',
		'What IDs take on disk: an index, and WAL',
		{ title => 'index of 6 million rows, MB', format => '%.0f', values => $values->('index') },
		{
			title => 'WAL of the last million rows, MB',
			format => '%.0f',
			values => $values->('wal')
		}) if $section eq 'grown';

	my $flake = $results->{'flake_next()'};
	my $million = "a million rows into $where";
	goal("$million, flake_next(): time, times bigserial", '<=', '1.05', $flake->{to_bigserial});
	goal("$million, flake_next(): times faster than $uuid", '>=', '4.00', $flake->{uuid_to_this})
	  if $section eq 'grown';
	for ([ 'flake_next()', '1.00' ], [ 'sno_next(0)', '1.05' ]) {
		my ($name, $goal) = @$_;
		goal("$million, $name: WAL, times bigserial",
			'<=', $goal, $results->{$name}{wal_to_bigserial});
		goal("$million, $name: WAL without images, times bigserial",
			'<=', $goal, $results->{$name}{counted_wal_to_bigserial});
	}
}

1;
