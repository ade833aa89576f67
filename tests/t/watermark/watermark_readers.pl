# Readers in ID order, beside writers that do all that writers can do. Each reader reads exactly the
# committed rows, in order, each once, by the watermark of all IDs or by that of an ID type. Without
# the watermark a reader loses rows.
#
# FLAKEID_WATERMARK_MINUTES says how long the writers go on, at least, in each of the two runs.
# Without it they go on until each of them and each reader has done enough. FLAKEID_SEED decides
# what the writers do. TEST_FILE_TIMEOUT has to be above the minutes of both runs.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Crowd;
use FakedClock;
use Ledger;
use RandomTransactions;
use ReaderCrowd;
use Test::More;
use Watermark;

my $seed = $ENV{FLAKEID_SEED} || int(rand 1_000_000);
note "FLAKEID_SEED=$seed";

# Returns the query for the rows of an ID type after the last one. The watermark is that of all IDs,
# or that of the ID type's stream: each holds for these rows.
sub select_after {
	my ($id_type, $last, $condition) = @_;
	my $after = defined $last ? "id > '$last'::$id_type->{type} AND " : '';
	my $stream = pick(undef, $id_type->{name});
	$condition //= before_watermark($id_type, 'id', $stream);
	return "SELECT id FROM $id_type->{name}s WHERE $after$condition ORDER BY id;";
}

# Returns the statements of a round, given a function that returns those for an ID type, and the
# last ID of each.
sub print_each {
	my ($each, @last) = @_;
	return map { ('\echo -', $each->($ID_TYPES[$_], $last[$_])) } 0 .. $#ID_TYPES;
}

sub plain_round { return (print_each(\&select_after, @_), pause()) }

sub in_transaction {
	my ($level, @last) = @_;
	my $first = 'SELECT count(*) FROM flakes LIMIT 1 \g /dev/null';
	my @selects = print_each(\&select_after, @last);
	return ("BEGIN ISOLATION LEVEL $level;", $first, pause(), @selects, pause(), 'COMMIT;',
		pause());
}

sub by_prepared_statement {
	my ($id_type, $last) = @_;
	return defined $last ? "EXECUTE $id_type->{name}_after('$last');" : select_after($id_type);
}

sub by_cursors {
	my (@last) = @_;
	my @declare =
	  map { "DECLARE of_$ID_TYPES[$_]{name} CURSOR FOR " . select_after($ID_TYPES[$_], $last[$_]) }
	  0 .. $#ID_TYPES;
	my $fetch = sub {
		my $cursor = "of_$_[0]{name}";
		my $call = 'SELECT flakeid_watermark() \g /dev/null';
		return ("FETCH 3 FROM $cursor;", pause(), $call, "FETCH ALL FROM $cursor;");
	};
	return ('BEGIN;', @declare, print_each($fetch), 'COMMIT;', pause());
}

sub by_cursor_with_hold {
	my ($id_type, $last) = @_;
	my $declare = "DECLARE held CURSOR WITH HOLD FOR " . select_after($id_type, $last);
	return ('BEGIN;', $declare, pause(), 'COMMIT;', 'FETCH ALL FROM held;', 'CLOSE held;');
}

sub by_function {
	my ($id_type, $last) = @_;
	return "SELECT * FROM $id_type->{name}s_after(" . (defined $last ? "'$last'" : 'NULL') . ');';
}

my @prepare = map {
	my $select = select_after($_, '') =~ s/''::\w+/\$1/r;
	"PREPARE $_->{name}_after($_->{type}) AS $select"
} @ID_TYPES;
my @scans = map { "SET enable_$_ = off;" } 'indexscan', 'indexonlyscan', 'bitmapscan';
my @workers = map { "SET $_ = 0;" } 'parallel_setup_cost', 'parallel_tuple_cost',
  'min_parallel_table_scan_size';
my @ways = (
	[ 'one statement', \&plain_round ],
	[
		'prepared statements',
		sub { (print_each(\&by_prepared_statement, @_), pause()) },
		join "\n", 'SET plan_cache_mode = force_generic_plan;', @prepare
	],
	[ 'REPEATABLE READ', sub { in_transaction('REPEATABLE READ', @_) } ],
	[ 'SERIALIZABLE', sub { in_transaction('SERIALIZABLE', @_) } ],
	[ 'cursors', \&by_cursors ],
	[ 'cursors WITH HOLD', sub { (print_each(\&by_cursor_with_hold, @_), pause()) } ],
	[ 'functions', sub { (print_each(\&by_function, @_), pause()) } ],
	[ 'seq scans and workers', \&plain_round, join "\n", @scans, @workers ]);
my @descriptions = map {
	{
		name => $_->[0],
		round => $_->[1],
		begin => $_->[2],
		# The transaction of such an error is as if it had read nothing.
		retries => '40001|25P02'
	}
} @ways;
# It shows that there was something to lose, if chance allows.
push @descriptions, {
	name => 'no watermark',
	loses => 1,
	round => sub {
		(print_each(sub { select_after(@_[ 0, 1 ], 'true') }, @_), pause())
	}
};

# Starts a server with the tables of all ID types, and functions that read them.
sub start_server {
	my ($name) = @_;
	my $clock = FakedClock->new($name, <<~'END');
		log_statement = none
		max_connections = 60
		max_prepared_transactions = 40
		flakeid.max_clock_wait = '10min'
		END
	$clock->start;
	create_tables($clock->node);
	for my $id_type (@ID_TYPES) {
		my ($name, $type, $before) = (@$id_type{ 'name', 'type' }, before_watermark($id_type));
		$clock->node->safe_psql('postgres', <<~"SQL");
			CREATE FUNCTION ${name}s_after(last $type) RETURNS SETOF $type LANGUAGE plpgsql STABLE
			AS \$\$
			BEGIN
				RETURN QUERY SELECT id FROM ${name}s
				WHERE (last IS NULL OR id > last) AND $before ORDER BY id;
			END
			\$\$
			SQL
	}
	return $clock;
}

# Runs writers and readers, with the clock stepped in between by this function.
sub readers_read_all {
	my ($node, $step) = @_;
	my $crowd = ReaderCrowd->start(
		$node,
		seed => $seed,
		writers => 16,
		work => \&random_step,
		finish => $END_PREPARED,
		errors => $EXPECTED_ERRORS,
		reads => [ map { { table => "$_->{name}s", rows => "all $_->{name}s" } } @ID_TYPES ],
		ways => \@descriptions);
	$crowd->wait_until_enough(100, $step, 40);
	$crowd->stop;
	$crowd->has_read_all;
	$node->stop;
	return;
}

my $steady = start_server('steady');
subtest 'readers read all rows while the clock goes on' => sub { readers_read_all($steady->node) };

# Sessions wait for this clock.
my $stepped = start_server('stepped');
my $offset = 0;
my $step = sub { $stepped->step($offset += pick(-0.3, -0.1, -0.02, 0.05, 0.3, 1)) };
subtest 'readers read all rows while the clock steps forward and back' =>
  sub { readers_read_all($stepped->node, $step) };

done_testing();
