# COPY of a million rows from a file, into a table with a primary key and into one without an index:
# the time that passes, and the time that a processor works for it, which depends less on what else
# runs on the machine.
package Copies;
use strict;
use warnings;
use Exporter 'import';
use Contenders;
use Report;
use Rounds;
use Server;

our @EXPORT = qw(copy_million);

my $none = 'no default';
my %tables = ('with a primary key' => 'PRIMARY KEY', 'without an index' => '');

sub copy_million {
	my ($rounds) = @_;
	# Of a column without a default the file would have to have the values, which is another thing
	# to measure.
	my @columns = (
		columns(),
		[ 'guid_local_next()', 'guid_local', 'DEFAULT guid_local_next()' ],
		[ 'uniqueid_next()', 'uniqueid', 'DEFAULT uniqueid_next()' ],
		[ $none, 'bigint', '' ],);
	psql('bench', path(), "COPY (SELECT generate_series(1, @{[million()]})) TO :'path';");
	my %results;
	rounds(
		'copy', $rounds,
		scalar @columns,
		sub {
			my ($counts, @order) = @_;
			my %now;
			for my $table (sort keys %tables) {
				for my $i (@order) {
					my ($name, $type, $default) = @{ $columns[$i] };
					next if $name eq $none && $tables{$table};
					psql('bench',
						"CREATE TABLE copied (id $type $default $tables{$table}, payload integer);"
					);
					$now{$table}{$name} = measured();
					psql('bench', 'DROP TABLE copied;');
				}
			}
			return unless $counts;
			for my $table (keys %now) {
				my $bigserial = $now{$table}{bigserial};
				for my $name (keys %{ $now{$table} }) {
					my %of = %{ $now{$table}{$name} };
					$of{"${_}_to_bigserial"} = $of{$_} / $bigserial->{$_}
					  for qw(seconds processor wal);
					push @{ $results{$table}{$name}{$_} }, $of{$_} for keys %of;
				}
			}
		});
	psql('bench', path(), "COPY (SELECT) TO :'path';");

	heading('COPY');
	text(   "A million rows: `COPY copied (payload) FROM` a file, with its commit,\n"
		  . "right after a checkpoint.\n");
	for my $table (sort keys %tables) {
		my $of = $results{$table};
		text("\nInto a table $table:\n");
		table(
			[
				'default',
				'seconds',
				'time, times bigserial',
				'processor, seconds',
				'processor, times bigserial',
				'WAL, MB'
			],
			map {
				my $column = $of->{$_};
				[
					$_,
					spread($column->{seconds}, '%.2f'),
					spread($column->{seconds_to_bigserial}, '%.2f'),
					spread($column->{processor}, '%.2f'),
					spread($column->{processor_to_bigserial}, '%.2f'),
					spread($column->{wal}, '%.0f')
				]
			} grep { $of->{$_} } map { $_->[0] } @columns);
		for my $name ('flake_next()', 'sno_next(0)') {
			goal("COPY into a table $table, $name: time, times bigserial",
				'<=', '1.00', $of->{$name}{seconds_to_bigserial});
		}
	}
}

# In the server's data directory, since the server reads it.
sub path { return "SELECT current_setting('data_directory') || '/bench_copy' AS path \\gset" }

sub measured {
	my $processor = "split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric";
	my ($seconds, $worked, $wal) = split /\|/, psql('bench', path(), <<"END");
CHECKPOINT;
SELECT clock_timestamp() AS began, $processor AS worked, pg_current_wal_insert_lsn() AS lsn \\gset
COPY copied (payload) FROM :'path';
SELECT extract(epoch FROM clock_timestamp() - :'began'), ($processor - :worked) / 1e9,
       (pg_current_wal_insert_lsn() - :'lsn') / 1e6;
END
	return { seconds => $seconds, processor => $worked, wal => $wal };
}

1;
