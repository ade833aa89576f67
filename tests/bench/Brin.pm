# BRIN instead of btree, for the rows of an hour and of a day out of a month: where every row lies
# at its time's place, and where some came late, as they do when rows are merged or entered
# afterwards. One of those makes minmax take its block range for a month long; minmax_multi keeps it
# apart.
package Brin;
use strict;
use warnings;
use Exporter 'import';
use List::Util qw(uniq);
use Plot;
use Report;
use Rounds;
use Scans;
use Server;

our @EXPORT = qw(brin_and_btree);

# ID type, the prefix of its operator classes.
my @id_types = ([ 'flake', 'int8' ], [ 'sno', 'sno' ]);

sub brin_and_btree {
	my ($rounds) = @_;
	my @contenders = contenders();
	# Several contenders share one.
	my @brins = uniq(
		map {
			$_->{class}
			  ? "$_->{index} ON $_->{table} USING brin ($_->{column} $_->{class})"
			  : ()
		} @contenders);
	psql('bench', map { "CREATE INDEX $_;" } @brins);
	my (%indexes, %ms, %size, %plan, %sum);
	for (@contenders) {
		$indexes{ $_->{table} }{ $_->{index} } = 1;
		$indexes{ $_->{table} }{"$_->{table}_created_at"} = 1 if $_->{table} =~ /^month/;
	}
	# The planner sees only the index in question, until the end of the transaction.
	my $before = sub {
		my ($contender) = @_;
		my @others =
		  grep { $_ ne $contender->{index} } sort keys %{ $indexes{ $contender->{table} } };
		return [ 'BEGIN;', map { "DROP INDEX $_;" } @others ];
	};
	my $query = sub {
		my ($contender, @window) = @_;
		return window_query($contender->{table}, $contender->{by}, @window);
	};
	for (@contenders) {
		my ($name, $table) = @$_{ 'name', 'table' };
		$size{$name} = [ psql('bench', "SELECT pg_relation_size('$_->{index}') / 1e6") ];
		($plan{$name}, my $sum) = plan_of($query->($_, 'hour', 7), $before->($_), ['ROLLBACK;']);
		$sum eq ($sum{$table} //= $sum) or die "tests/bench/run: another hour of $table by $name\n";
	}
	rounds(
		'brin', $rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			for my $contender (@contenders[@order]) {
				# Few of them: where late rows make BRIN useless, each reads the whole table.
				my %now = scan_windows(sub { $query->($contender, @_) },
					$before->($contender), ['ROLLBACK;'], windows($counts, 2, 1));
				next unless $counts;
				push @{ $ms{$_}{ $contender->{name} } }, $now{$_} for keys %now;
			}
		});
	psql('bench',
		map { "DROP INDEX $_;" } uniq(map { $_->{class} ? $_->{index} : () } @contenders));
	write_report(\%ms, \%size, \%plan, map { $_->{name} } @contenders);
}

sub contenders {
	my @contenders;
	for (@id_types) {
		my ($id_type, $prefix) = @$_;
		my ($month, $late) = (make_month($id_type), make_month($id_type, 1));
		my %id = (column => 'id', by => 'id');
		push @contenders,
		  { %id, name => "$id_type, btree", table => $month, index => "${month}_id", class => '' };
		my $classes =
			'SELECT count(*) FROM pg_opclass JOIN pg_am AS a ON a.oid = opcmethod'
		  . " WHERE amname = 'brin'";
		for my $kind ('minmax', 'minmax_multi') {
			my $class = "${prefix}_${kind}_ops";
			next unless psql('bench', "$classes AND opcname = '$class'");
			my %of_month = (%id, table => $month, index => "${month}_$kind", class => $class);
			my %of_late = (%id, table => $late, index => "${late}_$kind", class => $class);
			push @contenders, { %of_month, name => "$id_type, $kind" };
			# Where the epoch is an argument the planner knows the IDs; else they are found as it
			# runs.
			push @contenders, { %of_month, name => "$id_type with epoch, $kind", by => 'epoch' }
			  if $id_type eq 'flake';
			push @contenders,
			  $id_type eq 'flake'
			  ? { %of_late, name => "$id_type with epoch, late rows, $kind", by => 'epoch' }
			  : { %of_late, name => "$id_type, late rows, $kind" };
		}
		push @contenders,
		  {
			name => "created_at beside $id_type, minmax",
			table => $month,
			index => "${month}_brin",
			column => 'created_at',
			by => 'created_at',
			class => 'timestamptz_minmax_ops'
		  };
	}
	return @contenders;
}

sub write_report {
	my ($ms, $size, $plan, @names) = @_;
	heading('BRIN');
	text(<<'END');
The same windows on the same rows, where the table has this index alone; BRIN looks at each row of a
block range again. Late rows: one in a thousand is of any time of the month. With epoch:
`flake_within(id, ..., '2010-01-01 00:00+00')`.
END
	table(
		[ 'index', 'MB', 'an hour, ms', 'a day, ms', 'plan of the hour' ],
		map {
			my $name = $_;
			my @times = map { spread($ms->{$_}{$name}, '%.2f') } 'hour', 'day';
			[ $name, spread($size->{$name}, '%.3f'), @times, $plan->{$name} ]
		} @names);
	bars(
		'brin',
		'BRIN and btree on 5 million rows of a month',
		{ title => 'an hour, milliseconds', format => '%.1f', values => $ms->{hour} },
		{ title => 'a day, milliseconds', format => '%.1f', values => $ms->{day} },
		{ title => 'size, MB', format => '%.2f', values => $size });
}

1;
