# Eight sessions in two databases generate millions of IDs at once, one by one and in batches. No ID
# repeats, and the IDs of a session rise strictly. What shares its cells is generated at the same
# time: guids with local ones, and uniqueids of both modes.
use strict;
use warnings;
use lib 'tests/perl';

use AtOnce;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('concurrency');
$node->init;
$node->append_conf('postgresql.conf', <<~'END');
	shared_preload_libraries = 'flakeid'
	shared_buffers = '256MB'
	work_mem = '1GB'
	autovacuum = off
	synchronize_seqscans = off
	max_parallel_workers_per_gather = 0
	END
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, 'CREATE EXTENSION flakeid') for 'postgres', 'other';

# A session generates `each` IDs in a round. All snos have one meta, so that it cannot tell two of
# them apart that are otherwise the same.
my $rounds = 4;
my %types = (
	flake => { type => 'bigint', each => 25_000 },
	sno => { argument => '7', each => 25_000 },
	flake128 => { each => 15_000 },
	guid => { each => 10_000 },
	guid_local => { each => 10_000 },
	uniqueid => { each => 6_000 },
	spread => { type => 'uniqueid', function => 'uniqueid', argument => "'spread'", each => 4_000 },
	# Of a server they are unique without their random bits.
	uuidv7 => {
		type => 'uuid',
		each => 15_000,
		distinct => 'left(id::text, 21), (uuidv7_decode(id)).sequence'
	});
my @at_once = (
	['flake'], ['sno'], ['flake128'],
	[ 'guid', 'guid_local' ],
	[ 'uniqueid', 'spread' ],
	['uuidv7']);
my @sessions = map { { database => 'postgres', way => $_ } } (qw(single insert batch)) x 2;
push @sessions, map { { database => 'other', way => $_ } } qw(single batch);

# What a session does for a type in a round; `nr` has the order in which it got its IDs.
my %way = (
	single => <<~'SQL',
		INSERT INTO TABLE
		SELECT round * EACH + nr, FUNCTION_next(ARGUMENT) FROM generate_series(1, EACH) AS nr
		SQL
	batch => <<~'SQL',
		INSERT INTO TABLE
		SELECT round * EACH + before + generate_series(1, 1000), FUNCTION_next_batch(1000ARGUMENTS)
		FROM generate_series(0, EACH - 1, 1000) AS before
		SQL
	insert => 'INSERT INTO TABLE (nr) SELECT round * EACH + generate_series(1, EACH)');

for my $names (@at_once) {
	my @work;
	for my $name (@$names) {
		my $type = $types{$name};
		my $argument = $type->{argument} // '';
		my %placed = (
			EACH => $type->{each},
			FUNCTION => $type->{function} //= $name,
			ARGUMENT => $argument,
			ARGUMENTS => $argument && ", $argument");
		my $default = "DEFAULT $placed{FUNCTION}_next($argument)";
		for my $nr (0 .. $#sessions) {
			my ($database, $way) = @{ $sessions[$nr] }{ 'database', 'way' };
			$placed{TABLE} = "${name}_$nr";
			$type->{type} //= $name;
			$node->safe_psql($database,
				"CREATE UNLOGGED TABLE $placed{TABLE} (nr bigint, id $type->{type} "
				  . ($way eq 'insert' ? "$default)" : ')'));
			my $round = $way{$way} =~ s/(ARGUMENTS?|EACH|FUNCTION|TABLE)/$placed{$1}/gr;
			push @work, { database => $database, round => $round, rounds => $rounds };
		}
	}
	at_once($node, @work);
}

# The IDs of the other database come here by binary COPY, in their order.
for my $nr (grep { $sessions[$_]{database} eq 'other' } 0 .. $#sessions) {
	for my $name (sort keys %types) {
		my $table = "${name}_$nr";
		$node->safe_psql('postgres',
			"CREATE UNLOGGED TABLE $table (nr bigint, id $types{$name}{type})");
		my ($out, $in) = map { [ 'psql', '-XAtq', '-d', $node->connstr($_), '-c' ] } 'other',
		  'postgres';
		IPC::Run::run([ @$out, "COPY $table TO STDOUT (FORMAT binary)" ],
			'|', [ @$in, "COPY $table FROM STDIN (FORMAT binary)" ])
		  or die "could not copy $table";
	}
}

# Asks for all types at once: in which sessions IDs fall, whether all sessions generated IDs at the
# same time, how many IDs there are, and how many distinct ones. A scan reads rows in the order in
# which their session wrote them, which `nr` shows.
my (%found, @runs);
for my $name (sort keys %types) {
	my ($function, $distinct) = @{ $types{$name} }{ 'function', 'distinct' };
	$distinct //= 'id';
	my $union = join ' UNION ALL ', map { <<~"SQL" } 0 .. $#sessions;
		SELECT $_ AS session, id, nr <= lag(nr) OVER () OR id <= lag(id) OVER () AS falls
		FROM ${name}_$_
		SQL
	my $sql = <<~"SQL";
		WITH ids AS MATERIALIZED ($union), spans AS (
			SELECT min(${function}_timestamp(id)) AS first, max(${function}_timestamp(id)) AS last
			FROM ids GROUP BY session
		)
		SELECT string_agg(DISTINCT session::text, ' ') FILTER (WHERE falls),
			(SELECT max(first) < min(last) FROM spans), count(*), count(DISTINCT ($distinct))
		FROM ids
		SQL
	push @runs,
	  IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $sql ],
		'>&', \$found{$name}, IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
}
$_->finish or die 'a query failed: ' . join "\n", values %found for @runs;

for my $name (sort keys %types) {
	my ($falling, $together, $total, $distinct) = split /\||\n/, $found{$name};
	is($falling, '', "the $name IDs of each session rise strictly") if $name ne 'spread';
	is($together, 't', "all sessions generate $name IDs at the same time");
	cmp_ok(
		$total, '>=',
		$types{$name}{each} * $rounds * @sessions,
		"each session generates all its $name IDs");
	is($distinct, $total, "no $name ID repeats");
}

# Both of what shares its cells differ, too.
for my $case (
	[ 'of the guids made local and the local ones', [ 'guid', 'guid_local(id)' ], 'guid_local' ],
	[ 'of the uniqueids of both modes', [ 'uniqueid', 'id' ], 'spread' ])
{
	my ($which, $first, $second) = @$case;
	my $union = join ' UNION ALL ',
	  map { ("SELECT $first->[1] AS id FROM $first->[0]_$_", "SELECT id FROM ${second}_$_") }
	  0 .. $#sessions;
	is( $node->safe_psql(
			'postgres', "SELECT count(*) - count(DISTINCT id), count(*) > 0 FROM ($union) AS ids"),
		'0|t',
		"no ID $which repeats");
}

$node->stop;
done_testing();
