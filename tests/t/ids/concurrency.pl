# Millions of IDs from eight sessions at once, more than 100,000 of each ID type, in two databases, with batches among
# them: none repeats, and each session's rise strictly in the order of making. What shares its cells is made at the same
# time: guids with local ones, and uniqueids of both modes.
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
max_parallel_workers_per_gather = 0
END
$node->start;

# All snos have one meta, so that it can't tell two of them apart that are otherwise the same. Each session makes `each`
# in a round, and at least four rounds.
my $rounds = 4;
my %id_type = (
	flake => { type => 'bigint', function => 'flake', each => 25_000 },
	sno => { type => 'sno', function => 'sno', arguments => [7], each => 25_000 },
	flake128 => { type => 'flake128', function => 'flake128', each => 15_000 },
	guid => { type => 'guid', function => 'guid', each => 10_000 },
	guid_local => { type => 'guid_local', function => 'guid_local', each => 10_000 },
	uniqueid => { type => 'uniqueid', function => 'uniqueid', each => 6_000 },
	# Of a server they are unique without their random bits.
	uuidv7 => {
		type => 'uuid',
		function => 'uuidv7',
		each => 15_000,
		distinct => '(left(id::text, 21), (uuidv7_decode(id)).sequence)'
	},
	spread => {
		type => 'uniqueid',
		function => 'uniqueid',
		arguments => ["'spread'"],
		each => 4_000,
		scattered => 1
	},);
my @id_types = sort keys %id_type;
my @at_once = (
	['flake'], ['sno'], ['flake128'],
	[ 'guid', 'guid_local' ],
	[ 'uniqueid', 'spread' ],
	['uuidv7']);
for my $name (@id_types) {
	my $id_type = $id_type{$name};
	my @arguments = @{ $id_type->{arguments} || [] };
	$id_type->{next} = "$id_type->{function}_next(" . join(', ', @arguments) . ')';
	$id_type->{batch} = "$id_type->{function}_next_batch(" . join(', ', 1000, @arguments) . ')';
}

# What a session does for each ID type in a round; `nr` says in which order it got its IDs.
my %way = (
	single =>
	  'INSERT INTO %TABLE% SELECT round * %EACH% + nr, %NEXT% FROM generate_series(1, %EACH%) AS nr',
	batch =>
	  'INSERT INTO %TABLE% SELECT round * %EACH% + before + generate_series(1, 1000), %BATCH%'
	  . ' FROM generate_series(0, %EACH% - 1, 1000) AS before',
	insert => 'INSERT INTO %TABLE% (nr) SELECT round * %EACH% + generate_series(1, %EACH%)',);
my @sessions = (
	[ 1, 'postgres', 'single' ],
	[ 2, 'postgres', 'insert' ],
	[ 3, 'postgres', 'batch' ],
	[ 4, 'postgres', 'single' ],
	[ 5, 'postgres', 'insert' ],
	[ 6, 'postgres', 'batch' ],
	[ 7, 'other', 'single' ],
	[ 8, 'other', 'batch' ],);

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, 'CREATE EXTENSION flakeid') for 'postgres', 'other';

# Each statement in a session of its own, all side by side; their outputs.
sub side_by_side {
	my (@work) = @_;
	my (@runs, @outputs);
	for my $i (0 .. $#work) {
		my ($database, $sql) = @{ $work[$i] };
		push @runs,
		  IPC::Run::start(
			[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database) ],
			'<',
			\$sql,
			'>&',
			\$outputs[$i],
			IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	}
	for my $i (0 .. $#runs) {
		$runs[$i]->finish or die "session $i failed:\n$outputs[$i]";
	}
	return @outputs;
}

my $began = time();
for my $names (@at_once) {
	my @work;
	for my $name (@$names) {
		for (@sessions) {
			my ($session, $database, $way) = @$_;
			my $table = "${name}_$session";
			my $round = $way{$way} =~ s/%TABLE%/$table/gr =~ s/%(\w+)%/$id_type{$name}{lc $1}/gr;
			my $default = $way eq 'insert' ? "DEFAULT $id_type{$name}{next}" : '';
			$node->safe_psql($database,
				"CREATE UNLOGGED TABLE $table (nr bigint, id $id_type{$name}{type} $default)");
			push @work, { database => $database, round => $round, rounds => $rounds };
		}
	}
	at_once($node, @work);
}
note sprintf '%.1f s to make them', time() - $began;

# A seq scan reads rows in the order in which the one session wrote them; that `nr` rises shows it.
my @rises = side_by_side(
	map {
		my $database = $_;
		my $sql = '';
		for (grep { $_->[1] eq $database } @sessions) {
			my $session = $_->[0];
			$sql .=
				"SELECT '$_', $session, count(*) FILTER (WHERE nr <= nr_before),"
			  . ' count(*) FILTER (WHERE id <= id_before) FROM'
			  . ' (SELECT nr, id, lag(nr) OVER () AS nr_before, lag(id) OVER () AS id_before'
			  . " FROM ${_}_$session) AS made;\n"
			  for grep { !$id_type{$_}{scattered} } @id_types;
		}
		[ $database, $sql ]
	} 'postgres',
	'other');

# What was made in the other database comes here, by binary COPY.
for my $name (@id_types) {
	for my $session (map { $_->[0] } grep { $_->[1] eq 'other' } @sessions) {
		my $table = "${name}_$session";
		$node->safe_psql('postgres', "CREATE UNLOGGED TABLE $table (id $id_type{$name}{type})");
		IPC::Run::run(
			[
				'psql', '-XAtq',
				'-d', $node->connstr('other'),
				'-c', "COPY $table (id) TO STDOUT (FORMAT binary)"
			],
			'|',
			[
				'psql', '-XAtq',
				'-d', $node->connstr('postgres'),
				'-c', "COPY $table FROM STDIN (FORMAT binary)"
			]) or die "could not copy $table";
	}
}

my @unions = side_by_side(
	map {
		my $name = $_;
		my $union = join ' UNION ALL ',
		  map { "SELECT $_->[0] AS session, id FROM ${name}_$_->[0]" } @sessions;
		my $sql =
		  "SELECT max(first) < min(last) FROM (SELECT session, min($id_type{$name}{function}_timestamp(id)) AS first,"
		  . " max($id_type{$name}{function}_timestamp(id)) AS last FROM ($union) AS made GROUP BY session) AS spans;\n"
		  . 'SELECT count(*), count(DISTINCT '
		  . ($id_type{$name}{distinct} // 'id')
		  . ") FROM ($union) AS made;\n";
		[ 'postgres', $sql ]
	} @id_types);
note sprintf '%.1f s in all', time() - $began;

for my $i (0 .. $#id_types) {
	my $name = $id_types[$i];
	my $least = $id_type{$name}{each} * $rounds * @sessions;
	my ($total, $distinct) = $unions[$i] =~ /^(\d+)\|(\d+)$/m;
	for (grep { !$id_type{$name}{scattered} } @sessions) {
		my ($session, $database, $way) = @$_;
		like(
			"@rises",
			qr/^ ?$name\|$session\|0\|0$/m,
			"the $name IDs of session $session ($way, in $database) rise strictly");
	}
	like($unions[$i], qr/^t$/m, "all sessions were making $name IDs at once");
	cmp_ok($total, '>=', $least, "... at least $least");
	is($distinct, $total, "no duplicate in $total $name IDs");
}

# One cell for both, and one for the modes: also what is of one kind differs from what is of the other.
sub all_of {
	my ($name, $id) = @_;
	return map { "SELECT $id AS id FROM ${name}_$_->[0]" } @sessions;
}
my %both = (
	'guids made local and local ones' =>
	  [ all_of('guid', 'guid_local(id)'), all_of('guid_local', 'id') ],
	'uniqueids of both modes' => [ all_of('uniqueid', 'id'), all_of('spread', 'id') ],);
for my $what (sort keys %both) {
	my $union = join ' UNION ALL ', @{ $both{$what} };
	is( $node->safe_psql(
			'postgres', "SELECT count(*) - count(DISTINCT id), count(*) > 0 FROM ($union) AS made"),
		'0|t',
		"no duplicate among $what");
}
note sprintf '%.1f s in all', time() - $began;

$node->stop;
done_testing();
