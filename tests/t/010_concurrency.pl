# Millions of IDs from eight sessions at once, more than 100,000 of each ID type, in two databases, with parallel workers
# and batches among them: none repeats, and each session's rise strictly in the order of making. What
# shares its cells is made at the same time: guids with local ones, and uniqueids of both modes.
use strict;
use warnings;
use lib 'tests/perl';

use AtOnce;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('concurrency');
$node->init;
$node->append_conf('postgresql.conf', <<"END");
shared_preload_libraries = 'flakeid'
shared_buffers = '256MB'
work_mem = '1GB'
autovacuum = off
synchronize_seqscans = off
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
max_parallel_workers_per_gather = 2
# Enough for all sessions that want some at once.
max_worker_processes = 32
max_parallel_workers = 32
END
$node->start;

# All snos have one meta, so that it can't tell two of them apart that are otherwise the same. Each session
# makes `each` in a round, and at least four rounds. One with workers makes `source_rows`, so that its leader is not done before
# they begin.
my $rounds = 4;
my %id_type = (
	flake    => { type => 'bigint', function => 'flake', each => 25_000, source_rows => 75_000 },
	sno      => { type => 'sno', function => 'sno', arguments => [7], each => 25_000, source_rows => 75_000 },
	flake128 => { type => 'flake128', function => 'flake128', each => 15_000, source_rows => 40_000 },
	guid       => { type => 'guid',       function => 'guid',       each => 10_000, source_rows => 25_000 },
	guid_local => { type => 'guid_local', function => 'guid_local', each => 10_000, source_rows => 25_000 },
	uniqueid   => { type => 'uniqueid', function => 'uniqueid', each => 6_000, source_rows => 15_000 },
	spread     => { type => 'uniqueid', function => 'uniqueid', arguments => ["'spread'"], each => 4_000, source_rows => 4_000, scattered => 1 },
);
my @id_types = sort keys %id_type;
my @at_once = ([ 'flake' ], [ 'sno' ], [ 'flake128' ], [ 'guid', 'guid_local' ], [ 'uniqueid', 'spread' ]);
for my $name (@id_types)
{
	my $id_type = $id_type{$name};
	my @arguments = @{ $id_type->{arguments} || [] };
	$id_type->{source} = "source_$name";
	$id_type->{next}   = "$id_type->{function}_next(" . join(', ', @arguments) . ')';
	$id_type->{batch}  = "$id_type->{function}_next_batch(" . join(', ', 1000, @arguments) . ')';
}

# What a session does for each ID type in a round; `nr` says in which order it got its IDs.
my %way = (
	single => 'INSERT INTO %TABLE% SELECT round * %EACH% + nr, %NEXT% FROM generate_series(1, %EACH%) AS nr',
	batch  => 'INSERT INTO %TABLE% SELECT round * %EACH% + before + generate_series(1, 1000), %BATCH%'
	  . ' FROM generate_series(0, %EACH% - 1, 1000) AS before',
	insert => 'INSERT INTO %TABLE% (nr) SELECT round * %EACH% + generate_series(1, %EACH%)',
	# Only a new table is filled by workers, which don't say in which order they get theirs. The leader may be done
	# before they begin.
	parallel => <<'SQL');
plan := '';
FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, BUFFERS OFF)'
	' CREATE UNLOGGED TABLE %TABLE%_' || round || $$ AS SELECT NULL::bigint AS nr, %NEXT% AS id FROM %SOURCE%$$
LOOP
	plan := plan || line || E'\n';
END LOOP;
EXECUTE 'ALTER TABLE %TABLE%_' || round || ' INHERIT %TABLE%';
IF plan ~ 'Worker \d+: +actual rows=[1-9]' THEN
	enough := true;
	shown := plan;
END IF
SQL
my %more = (
	parallel => {
		declare => "line text; plan text; shown text := 'No worker made any.'; enough boolean := false;",
		after   => q{RAISE INFO E'%', shown;}
	});
my @sessions = (
	[ 1, 'postgres', 'single' ], [ 2, 'postgres', 'parallel' ],
	[ 3, 'postgres', 'batch' ],  [ 4, 'postgres', 'single' ],
	[ 5, 'postgres', 'insert' ], [ 6, 'postgres', 'parallel' ],
	[ 7, 'other', 'single' ],    [ 8, 'other', 'batch' ],
);

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, 'CREATE EXTENSION flakeid') for 'postgres', 'other';
$node->safe_psql('postgres', "CREATE UNLOGGED TABLE source_$_ AS SELECT generate_series(1, $id_type{$_}{source_rows})")
  for @id_types;

# Each statement in a session of its own, all side by side; their outputs.
sub side_by_side
{
	my (@work) = @_;
	my (@runs, @outputs);
	for my $i (0 .. $#work)
	{
		my ($database, $sql) = @{ $work[$i] };
		push @runs,
		  IPC::Run::start(
			[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database) ],
			'<', \$sql, '>&', \$outputs[$i],
			IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	}
	for my $i (0 .. $#runs)
	{
		$runs[$i]->finish or die "session $i failed:\n$outputs[$i]";
	}
	return @outputs;
}

my $began = time();
my %outputs;
for my $names (@at_once)
{
	my @work;
	for my $name (@$names)
	{
		for (@sessions)
		{
			my ($session, $database, $way) = @$_;
			my $table = "${name}_$session";
			my $round = $way{$way} =~ s/%TABLE%/$table/gr =~ s/%(\w+)%/$id_type{$name}{lc $1}/gr;
			my $default = $way eq 'insert' ? "DEFAULT $id_type{$name}{next}" : '';
			$node->safe_psql($database, "CREATE UNLOGGED TABLE $table (nr bigint, id $id_type{$name}{type} $default)");
			push @work, { database => $database, round => $round, rounds => $rounds, %{ $more{$way} || {} } };
		}
	}
	my @given = at_once($node, @work);
	$outputs{$_} = [ splice @given, 0, scalar @sessions ] for @$names;
}
note sprintf '%.1f s to make them', time() - $began;

for (grep { $_->[2] eq 'parallel' } @sessions)
{
	for my $name (@id_types)
	{
		like(
			$outputs{$name}[ $_->[0] - 1 ],
			qr/Workers\ Launched:\ [12]\n
			.*?Parallel\ Seq\ Scan\ on\ public\.source_$name\ [^\n]*\n
			\s+Output:\ [^\n]*$id_type{$name}{function}_next\([^\n]*\n
			(?:\s+Worker\ \d+:\ +actual\ [^\n]*\n)*?\s+Worker\ \d+:\ +actual\ rows=[1-9]/sx,
			"workers made $name IDs in session $_->[0]");
	}
}

# A seq scan reads rows in the order in which the one session wrote them; that `nr` rises shows it.
my @rises = side_by_side(
	map {
		my $database = $_;
		my $sql      = "SET max_parallel_workers_per_gather = 0;\n";
		for (grep { $_->[1] eq $database && $_->[2] ne 'parallel' } @sessions)
		{
			my $session = $_->[0];
			$sql .= "SELECT '$_', $session, count(*) FILTER (WHERE nr <= nr_before),"
			  . ' count(*) FILTER (WHERE id <= id_before) FROM'
			  . ' (SELECT nr, id, lag(nr) OVER () AS nr_before, lag(id) OVER () AS id_before'
			  . " FROM ${_}_$session) AS made;\n"
			  for grep { !$id_type{$_}{scattered} } @id_types;
		}
		[ $database, $sql ]
	} 'postgres', 'other');

# What was made in the other database comes here, by binary COPY.
for my $name (@id_types)
{
	for my $session (map { $_->[0] } grep { $_->[1] eq 'other' } @sessions)
	{
		my $table = "${name}_$session";
		$node->safe_psql('postgres', "CREATE UNLOGGED TABLE $table (id $id_type{$name}{type})");
		IPC::Run::run(
			[ 'psql', '-XAtq', '-d', $node->connstr('other'), '-c', "COPY $table (id) TO STDOUT (FORMAT binary)" ],
			'|', [ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "COPY $table FROM STDIN (FORMAT binary)" ])
		  or die "could not copy $table";
	}
}

my @unions = side_by_side(
	map {
		my $name = $_;
		my $union = join ' UNION ALL ', map { "SELECT $_->[0] AS session, id FROM ${name}_$_->[0]" } @sessions;
		my $sql = "SET max_parallel_workers_per_gather = 0;\n"
		  . "SELECT max(first) < min(last) FROM (SELECT session, min($id_type{$name}{function}_timestamp(id)) AS first,"
		  . " max($id_type{$name}{function}_timestamp(id)) AS last FROM ($union) AS made GROUP BY session) AS spans;\n"
		  . "SELECT count(*), count(DISTINCT id) FROM ($union) AS made;\n";
		[ 'postgres', $sql ]
	} @id_types);
note sprintf '%.1f s in all', time() - $began;

for my $i (0 .. $#id_types)
{
	my $name  = $id_types[$i];
	my $least = $id_type{$name}{each} * $rounds * @sessions;
	my ($total, $distinct) = $unions[$i] =~ /^(\d+)\|(\d+)$/m;
	for (grep { $_->[2] ne 'parallel' && !$id_type{$name}{scattered} } @sessions)
	{
		my ($session, $database, $way) = @$_;
		like(
			"@rises", qr/^ ?$name\|$session\|0\|0$/m,
			"the $name IDs of session $session ($way, in $database) rise strictly");
	}
	like($unions[$i], qr/^t$/m, "all sessions were making $name IDs at once");
	cmp_ok($total, '>=', $least, "... at least $least");
	is($distinct, $total, "no duplicate in $total $name IDs");
}

# One cell for both, and one for the modes: also what is of one kind differs from what is of the other.
sub all_of
{
	my ($name, $id) = @_;
	return map { "SELECT $id AS id FROM ${name}_$_->[0]" } @sessions;
}
my %both = (
	'guids made local and local ones' => [ all_of('guid', 'guid_local(id)'), all_of('guid_local', 'id') ],
	'uniqueids of both modes'         => [ all_of('uniqueid', 'id'), all_of('spread', 'id') ],
);
for my $what (sort keys %both)
{
	my $union = join ' UNION ALL ', @{ $both{$what} };
	is(
		$node->safe_psql('postgres', "SELECT count(*) - count(DISTINCT id), count(*) > 0 FROM ($union) AS made"), '0|t',
		"no duplicate among $what");
}
note sprintf '%.1f s in all', time() - $began;

$node->stop;
done_testing();
