# All orders of the steps of two writers and a reader, in PostgreSQL's own tool for isolation tests.
# The reader reads each committed row once, in the order of the IDs, and never a row before an
# earlier one that is still to come. What it has to read in which step follows from the order of the
# steps alone, and so this test computes it.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use File::Basename qw(dirname);
use IPC::Run;
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Test::More;
use Watermark;

chomp(my $makefiles = `pg_config --pgxs`);
my $tester = dirname($makefiles) . '/../../src/test/isolation/isolationtester';
-x $tester or die "there is no $tester\n";

my $node = server_with_tables('orders', "max_prepared_transactions = 10\n");

# A step ends when the watermark has passed its time, or something holds it. So a row's ID is not of
# the tick of another step's, and a reader has no row to wait for but those that are held. The bound
# of a later transaction is at most 4 ms before its first ID, and the watermark is cut to whole
# milliseconds. So after a pause of 6 ms the watermark that a later transaction holds is more than
# 1 ms past all earlier rows.
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE entries (id bigint PRIMARY KEY DEFAULT flake_next(), name text);
	CREATE TABLE positions (last bigint);
	INSERT INTO positions VALUES (0);
	CREATE FUNCTION pause() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		since timestamptz := clock_timestamp();
	BEGIN
		PERFORM pg_sleep(0.006);
		WHILE clock_timestamp() < since + interval '6 ms'
			OR flakeid_watermark() <= since AND NOT EXISTS (SELECT FROM pg_stat_flakeid_watermark)
		LOOP
			PERFORM pg_sleep(0.002);
		END LOOP;
	END
	$$;
	SQL

# A writer whose transaction has two steps or three, one whose transaction has one, and a reader.
# The first letter of a step says whose it is. The reader's transaction can keep a snapshot.
my $read = <<~'SQL';
	WITH read AS (SELECT id, name FROM entries
		WHERE id > (SELECT last FROM positions) AND flake_before(id, flakeid_watermark())
		ORDER BY id),
	kept AS (UPDATE positions SET last = (SELECT max(id) FROM read)
		WHERE EXISTS (SELECT FROM read))
	SELECT coalesce(string_agg(name, ' ' ORDER BY id), 'nothing') AS read FROM read;
	SQL
my %steps = (
	a1 => "INSERT INTO entries (name) VALUES ('a1'); SELECT FROM pause();",
	a2 => "SAVEPOINT s; INSERT INTO entries (name) VALUES ('a2'); RELEASE s; SELECT FROM pause();",
	ac => 'COMMIT; SELECT FROM pause();',
	ar => 'ROLLBACK; SELECT FROM pause();',
	ap => "PREPARE TRANSACTION 'a'; SELECT FROM pause();",
	# The writer of the other transaction ends it. Its row is some time older than that.
	bp => "COMMIT PREPARED 'a';",
	b1 => "BEGIN; INSERT INTO entries (name) VALUES ('b1'); COMMIT; SELECT FROM pause();",
	b2 => "BEGIN; INSERT INTO entries (name) VALUES ('b2'); COMMIT; SELECT FROM pause();",
	(map { $_ => $read } 'r1', 'r2', 'r3', 'rr'),
	rs => 'SELECT FROM entries LIMIT 0;',
	rc => 'COMMIT;',);

# Merges lists of steps in all ways.
sub orders {
	my (@lists) = grep { @$_ } @_;
	return [] unless @lists;
	my @orders;
	for my $nr (0 .. $#lists) {
		my @left = @lists;
		my ($first, @rest) = @{ $left[$nr] };
		$left[$nr] = \@rest;
		push @orders, map { [ $first, @$_ ] } orders(@left);
	}
	return @orders;
}

# What the steps that read return, if the watermark holds for each snapshot, and nothing else holds
# it.
sub expected {
	my (@order) = @_;
	my (@rows, @reads, $snapshot);
	my $last = -1;
	for my $at (0 .. $#order) {
		my $step = $order[$at];
		push @rows, { name => $step, at => $at, is_open => $step =~ /^a/ } if $step =~ /^[ab]\d/;
		if ($step =~ /^(?:ac|bp)$/) {
			$_->{is_open} = 0 for grep { $_->{name} =~ /^a/ } @rows;
		}
		elsif ($step eq 'ar') {
			@rows = grep { $_->{name} !~ /^a/ } @rows;
		}
		elsif ($step eq 'rs') {
			$snapshot = [ map { +{%$_} } @rows ];
		}
		elsif ($step =~ /^r[r\d]/) {
			my $seen = $step eq 'rr' ? $snapshot : \@rows;
			# The snapshot does not see the rows of transactions that were open, and all later ones.
			my @unseen = map { $_->{at} } grep { $_->{is_open} } @$seen;
			my $first_unseen = min(@unseen, $at);
			my @read =
			  grep { !$_->{is_open} && $_->{at} > $last && $_->{at} < $first_unseen } @$seen;
			push @reads, join(' ', map { $_->{name} } @read) || 'nothing';
			$last = $read[-1]{at} if @read;
		}
	}
	return @reads;
}

# Runs all orders of these steps, with writer a at an isolation level and the reader at another. All
# have the same tables and the same function, so the sessions keep their plans.
sub run_orders {
	my ($what, $level, $of_reader, @lists) = @_;
	my @orders = orders(@lists);
	my %begin = (a => "BEGIN ISOLATION LEVEL $level;");
	$begin{r} = "BEGIN ISOLATION LEVEL $of_reader;" if $of_reader;
	my $specification = "setup { DELETE FROM entries; UPDATE positions SET last = 0; }\n";
	for my $session ('a', 'b', 'r') {
		$specification .= "session $session\n";
		$specification .= "setup { $begin{$session} }\n" if $begin{$session};
		$specification .= "step $_ { $steps{$_} }\n" for grep { /^$session/ } map { @$_ } @lists;
	}
	$specification .= "permutation @$_\n" for @orders;
	my ($said, $error) = ('', '');
	IPC::Run::run([ $tester, $node->connstr('postgres') ],
		'<', \$specification, '>', \$said, '2>', \$error,
		IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default))
	  or die "isolationtester: $error";
	my (undef, @done) = split /^starting permutation: /m, $said;
	is(scalar @done, scalar @orders, "$what: all orders were run (" . @orders . ')');

	my @wrong;
	for my $nr (0 .. $#orders) {
		my ($steps) = $done[$nr] =~ /^(.*)$/m;
		my @reads = $done[$nr] =~ /^step r[r\d].*?^read *\n-+\n(.*?) *\n\(1 row\)/msg;
		my $got = "$steps: " . join ', ', @reads;
		my $expected = "@{ $orders[$nr] }: " . join ', ', expected(@{ $orders[$nr] });
		push @wrong, "got      $got\nexpected $expected" if $got ne $expected;
	}
	is(join("\n", splice @wrong, 0, 10),
		'', "$what: in each order the reader reads what it has to read");
	unlike($said, qr/ERROR|WARNING/, "$what: no step has an error");
	return;
}

my ($committed, @levels) = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
run_orders('a commit', $committed, '', [ 'a1', 'a2', 'ac' ], [ 'b1', 'b2' ], [ 'r1', 'r2' ]);
run_orders('a rollback', $committed, '', [ 'a1', 'ar' ], ['b1'], [ 'r1', 'r2' ]);
run_orders('a prepared transaction', $committed, '', [ 'a1', 'ap', 'bp' ], [ 'r1', 'r2', 'r3' ]);
for my $level (@levels) {
	run_orders("a writer in $level", $level, '', [ 'a1', 'ac' ], ['b1'], [ 'r1', 'r2' ]);
	my @reads = ('rs', 'rr', 'rc', 'r1');
	run_orders("a reader in $level", $committed, $level, [ 'a1', 'ac' ], ['b1'], \@reads);
}

$node->stop;
done_testing();
