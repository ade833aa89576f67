# Workers of two consumers of examples/consumers.sql, beside writers that commit late and roll back.
# Workers are terminated in each step of their work, and twice the server crashes. The parts become
# two and then four, and the table is rewritten. In the same database each row is processed once,
# and elsewhere at least once. Both are in order.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Consumers;
use ConsumerWorkers;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $server = Consumers->new;
my $node = $server->node;
sub sql { return $server->sql(@_) }

$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE effects (nr bigserial PRIMARY KEY, part integer, id flake);
	SELECT consumers.set_consumer('once', 1), consumers.set_consumer('mailer', 1);
	CREATE TABLE moves (nr bigserial PRIMARY KEY, consumer text, part integer, turn uuid,
		since flake, last flake);
	CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO public.moves (consumer, part, turn, since, last)
		VALUES (OLD.consumer, OLD.part, OLD.turn, OLD.last, NEW.last);
		RETURN NULL;
	END
	$$;
	CREATE TRIGGER note_move AFTER UPDATE OF last ON consumers.cursors FOR EACH ROW
		WHEN (OLD.last::bigint <> NEW.last::bigint) EXECUTE FUNCTION note_move();
	SQL

# Writers, whose rows come late or never.
my $script = PostgreSQL::Test::Utils::tempdir('writers') . '/script';
append_to_file($script, <<~'END');
	\set ms random(0, 20)
	\set rows random(1, 5)
	\set what random(1, 10)
	BEGIN;
	INSERT INTO outbox (topic) VALUES ('a');
	\sleep :ms ms
	INSERT INTO outbox (topic) SELECT 'b' FROM generate_series(1, :rows);
	SAVEPOINT s;
	INSERT INTO outbox (topic) VALUES ('c');
	\if :what <= 2
	ROLLBACK;
	\elif :what <= 5
	ROLLBACK TO s;
	COMMIT;
	\else
	COMMIT;
	\endif
	\sleep :ms ms
	END

sub start_writers {
	return IPC::Run::start(
		[ 'pgbench', '-n', '-c', 6, '-T', 36_000, '-f', $script, $node->connstr('postgres') ],
		'<', '/dev/null', '>&', \my $printed);
}

my $workers = ConsumerWorkers->start($server);
my $writers = start_writers();
for my $round (1 .. 6) {
	for my $nr (0 .. $#ConsumerWorkers::STEPS) {
		my $step = $ConsumerWorkers::STEPS[$nr];
		my $victim = "(SELECT pid FROM pg_stat_activity WHERE application_name = '$step'"
		  . ' ORDER BY random() LIMIT 1)';
		if ($nr != $round / 3) {
			$workers->wait_until("coalesce(pg_terminate_backend($victim), false)",
				"no worker comes to the step '$step'");
			next;
		}
		# All sessions end, and the server starts again.
		$workers->wait_until("$victim IS NOT NULL", "no worker comes to the step '$step'");
		crash_server($node);
		eval { $writers->finish };
		$writers = start_writers();
	}
	my $parts = (1, 1, 2, 2, 4, 4)[ $round - 1 ];
	sql("SELECT consumers.set_consumer('$_', $parts)") for 'once', 'mailer';
	# The table is rewritten, so that older snapshots do not see its rows.
	sql("ALTER TABLE outbox ALTER message TYPE varchar(@{[ 20 - $round ]})");
	my $moves = sql('SELECT coalesce(max(nr), 0) FROM moves');
	$workers->wait_until(<<~"SQL", 'a consumer does not go on');
		count(DISTINCT (consumer, part)) = 2 * $parts FROM moves
		WHERE nr > $moves AND turn IS NOT NULL
		SQL
}
$writers->signal('TERM');
eval { $writers->finish };
$workers->wait_until("count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'",
	'the writers do not end');
$workers->wait_until('count(*) = (SELECT count(*) FROM outbox) FROM consumers.settled',
	'the watermark does not pass the rows');
$workers->wait_until('sum(rows) = 0 FROM consumers.lag', 'the consumers do not come to the end');
is($workers->stop, 0, 'the workers have had only the errors that they had to expect');

my @rows = split /\n/, sql('SELECT id FROM outbox ORDER BY id');
cmp_ok(scalar @rows, '>', 100, 'the writers have written more than 100 rows');
is(sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM effects"),
	"@rows", 'in the same database each row is processed once, beside crashes in every step');

# A row is in one of four parts at the end. Before, the row's part was the remainder of that one.
my %part_of = map { split /\|/ } split /\n/, sql('SELECT id, hash % 4 FROM consumers.settled');

sub is_in_order {
	my ($ids, $test) = @_;
	my (%last, @wrong);
	for my $id (@$ids) {
		push @wrong, $id if $id < ($last{ $part_of{$id} } // 0);
		$last{ $part_of{$id} } = $id;
	}
	return is("@wrong", '', $test);
}
is_in_order(
	[ split /\n/, sql('SELECT id FROM effects ORDER BY nr') ],
	'in the same database each part is processed in order');
is(sql(<<~'SQL'), 0, 'no cursor goes back');
	SELECT count(*) FROM (
		SELECT last::bigint <= since::bigint OR since::bigint < lag(last::bigint)
			OVER (PARTITION BY consumer, part ORDER BY nr) AS is_wrong FROM moves) AS moves
	WHERE is_wrong
	SQL

# What the workers of the mailer have done, by turn.
my (%done, %times);
for ($workers->mailed) {
	my ($turn, $id) = @$_;
	push @{ $done{$turn} }, $id;
	$times{$id}++;
}
is(join(' ', grep { !$times{$_} } @rows),
	'', 'elsewhere each row is processed at least once, beside crashes in every step');
my %row = map { $_ => 1 } @rows;
is(join(' ', grep { !$row{$_} } sort keys %times),
	'', 'elsewhere no row is processed that was rolled back');
note((grep { $_ > 1 } values %times) . ' of ' . @rows . ' rows were processed again');
my @acknowledged;
for my $move (split /\n/, sql(<<~'SQL')) {
	SELECT turn, last FROM moves WHERE consumer = 'mailer' AND turn IS NOT NULL ORDER BY nr
	SQL
	my ($turn, $last) = split /\|/, $move;
	push @acknowledged, grep { $_ <= $last } @{ $done{$turn} // [] };
}
is(join(' ', sort { $a <=> $b } @acknowledged),
	"@rows", 'the turns that were acknowledged have each row once');
is_in_order(\@acknowledged, 'the turns that were acknowledged have the rows of each part in order');

$node->stop;
done_testing();
