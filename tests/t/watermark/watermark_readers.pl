# Readers in ID order, beside writers that do all that writers can do. Each reader reads exactly the
# committed rows, in order, each once, by the watermark of all IDs, of an ID type, or of a named
# stream. Without the watermark a reader loses rows.
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
use Server;
use Test::More;
use Watermark;

my $seed = $ENV{FLAKEID_SEED} || int(rand 1_000_000);
note "FLAKEID_SEED=$seed";
srand $seed;

# Returns the query for the rows of a table after the last one, by one of the watermarks that hold
# for these rows.
sub select_after {
	my ($table, $last, $condition) = @_;
	my $after = defined $last ? "id > '$last'::$table->{type} AND " : '';
	$condition //= before_watermark($table, 'id', pick(@{ $table->{streams} }));
	return "SELECT id FROM $table->{table} WHERE $after$condition ORDER BY id;";
}

# Returns the statements of a round, given a function that returns those for a table, and the last
# ID of each.
sub print_each {
	my ($each, @last) = @_;
	return map { ('\echo -', $each->($TABLES[$_], $last[$_])) } 0 .. $#TABLES;
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
	my ($table, $last) = @_;
	return defined $last ? "EXECUTE $table->{table}_after('$last');" : select_after($table);
}

sub by_cursors {
	my (@last) = @_;
	my @declare =
	  map { "DECLARE of_$TABLES[$_]{table} CURSOR FOR " . select_after($TABLES[$_], $last[$_]) }
	  0 .. $#TABLES;
	my $fetch = sub {
		my $cursor = "of_$_[0]{table}";
		my $call = "SELECT flakeid_watermark('events'), flakeid_watermark() \\g /dev/null";
		return ("FETCH 3 FROM $cursor;", pause(), $call, "FETCH ALL FROM $cursor;");
	};
	return ('BEGIN;', @declare, print_each($fetch), 'COMMIT;', pause());
}

sub by_cursor_with_hold {
	my ($table, $last) = @_;
	my $declare = 'DECLARE held CURSOR WITH HOLD FOR ' . select_after($table, $last);
	return ('BEGIN;', $declare, pause(), 'COMMIT;', 'FETCH ALL FROM held;', 'CLOSE held;');
}

sub by_function {
	my ($table, $last) = @_;
	return "SELECT * FROM $table->{table}_after(" . (defined $last ? "'$last'" : 'NULL') . ');';
}

my @prepare = map {
	my $select = select_after($_, '') =~ s/''::\w+/\$1/r;
	"PREPARE $_->{table}_after($_->{type}) AS $select"
} @TABLES;
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
my @descriptions =
  map { { name => $_->[0], round => $_->[1], begin => $_->[2] } } @ways;
# It shows that there was something to lose, if chance allows.
push @descriptions, {
	name => 'no watermark',
	loses => 1,
	round => sub {
		(print_each(sub { select_after(@_[ 0, 1 ], 'true') }, @_), pause())
	}
};

sub start_server {
	my ($name) = @_;
	my $clock = FakedClock->new($name, <<~'END');
		log_statement = none
		max_connections = 60
		max_prepared_transactions = 40
		flakeid.max_clock_wait = '10min'
		flakeid.streams = 'audit, events'
		END
	$clock->start;
	create_tables($clock->node);
	create_stream_tables($clock->node);
	for (@TABLES) {
		my ($table, $type, $streams) = @$_{ 'table', 'type', 'streams' };
		my $before = before_watermark($_, 'id', pick(@$streams));
		$clock->node->safe_psql('postgres', <<~"SQL");
			CREATE FUNCTION ${table}_after(last $type) RETURNS SETOF $type LANGUAGE plpgsql STABLE
			AS \$\$
			BEGIN
				RETURN QUERY SELECT id FROM $table
				WHERE (last IS NULL OR id > last) AND $before ORDER BY id;
			END
			\$\$
			SQL
	}
	return $clock;
}

sub readers_read_all {
	my ($node, $step, $end) = @_;
	my $crowd = ReaderCrowd->start($node, $seed, @descriptions);
	$crowd->wait_until_enough($step);
	$end->() if $end;
	$crowd->stop;
	$crowd->has_read_all;
	$node->stop;
	return;
}

my $steady = start_server('steady');
# A transaction of one ID type holds the watermark of all IDs between every other pair of steps.
my ($holder, $turn) = (session($steady->node), 0);
my $hold = sub { $holder->query_safe($turn++ % 2 ? 'COMMIT' : 'BEGIN; SELECT flake128_next()') };
subtest 'readers read all rows while the clock goes on, also of streams that are not held' => sub {
	readers_read_all($steady->node, $hold, sub { $hold->() if $turn % 2; $holder->quit });
};

# Sessions wait for this clock.
my $stepped = start_server('stepped');
my $offset = 0;
my $step = sub { $stepped->step($offset += pick(-0.3, -0.1, -0.02, 0.05, 0.3, 1)) };
subtest 'readers read all rows while the clock steps forward and back' =>
  sub { readers_read_all($stepped->node, $step) };

done_testing();
