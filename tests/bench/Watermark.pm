# What the watermark costs: a call of it, the first ID of a transaction, which enters a slot, and a
# reader beside writers. BENCH_MAX_CONNECTIONS (scripts/bench) sets the number of slots that a call
# looks at.
package Watermark;
use strict;
use warnings;
use Exporter 'import';
use Report;
use Rounds;
use Server;

our @EXPORT = qw(watermark_and_transactions reader_beside_writers readers_that_are_woken);

my $statements = $ENV{BENCH_QUICK} ? 20_000 : 200_000;
my @calls = ('now()', 'flakeid_watermark()');
my @firsts = ('pg_backend_pid()', 'flake_next()', 'sno_next()');

# Each PERFORM is a statement with a snapshot of its own.
sub in_statements {
	my ($call, $more) = @_;
	return "DO \$\$ BEGIN FOR i IN 1..$statements LOOP PERFORM $call; $more END LOOP; END \$\$;";
}

# How long a processor works for a block, in nanoseconds. Unlike the time that passes, it depends
# little on what else runs on the machine.
sub nanoseconds {
	my ($block) = @_;
	my $worked = "SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1);";
	my ($began, $ended) = psql_without_disk('bench', $worked, $block, $worked);
	return $ended - $began;
}

sub watermark_and_transactions {
	my ($rounds) = @_;
	my @contenders = (
		(map { [ $_, in_statements($_, '') ] } @calls),
		(map { [ "first $_", in_statements($_, 'COMMIT;') ] } @firsts),
		(map { [ "first and second $_", in_statements("$_, $_", 'COMMIT;') ] } @firsts));
	my %nanos;
	rounds(
		'watermark',
		$rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			my %now = map { $_->[0] => nanoseconds($_->[1]) / $statements } @contenders[@order];
			return unless $counts;
			push @{ $nanos{'a call of flakeid_watermark()'} },
			  $now{'flakeid_watermark()'} - $now{'now()'};
			for my $next (@firsts[ 1 .. $#firsts ]) {
				my $first = $now{"first $next"} - $now{"first $firsts[0]"};
				push @{ $nanos{"the first $next of a transaction"} }, $first;
				push @{ $nanos{"the second $next of a transaction"} },
				  $now{"first and second $next"} - $now{"first and second $firsts[0]"} - $first;
			}
		});
	heading('The watermark');
	my ($connections) = psql('bench', 'SHOW max_connections;');
	text(<<"END");
Each call in a statement of its own, with max_connections = $connections; each first ID in a
transaction of its own, with its COMMIT. Net of the same statements with a function that does
nothing.
END
	table([ 'what', 'net ns of a processor' ],
		map { [ $_, spread($nanos{$_}, '%.0f') ] } sort keys %nanos);
	return;
}

# Writers that insert rows one by one, with and without a reader that polls ten times per second,
# each time for the rows between the last one and the watermark.
sub reader_beside_writers {
	my ($rounds) = @_;
	my ($writers, $seconds) = (16, 4);
	my @contenders = ('without a reader', 'with a reader');
	psql('bench',
		'CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT flake_next(), payload integer);');
	my $poll = <<'END';
SELECT coalesce(max(id), :last) AS last FROM outbox
WHERE id > :last AND flake_before(id, flakeid_watermark()) \gset
END
	my (%rate, @ratio);
	rounds(
		'reader', $rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			my %now;
			for my $contender (@contenders[@order]) {
				psql('bench', 'TRUNCATE outbox;', 'CHECKPOINT;');
				my $has_reader = $contender eq 'with a reader';
				my $reader = $has_reader
				  && background_pgbench('bench', $poll, '-R', 10, '-D', 'last=0', '-T', 3600);
				$now{$contender} =
				  pgbench('bench', 'INSERT INTO outbox (payload) VALUES (1);', $writers, $seconds);
				stop($reader) if $has_reader;
			}
			return unless $counts;
			push @{ $rate{$_} }, $now{$_} / 1e3 for @contenders;
			push @ratio, $now{'with a reader'} / $now{'without a reader'};
		});
	psql('bench', 'DROP TABLE outbox;');

	heading('A reader beside writers');
	text(   "$writers sessions insert rows one by one, each in a transaction of its own.\n"
		  . "The reader polls ten times per second.\n");
	table([ 'what', 'thousand rows per second' ],
		map { [ $_, spread($rate{$_}, '%.1f') ] } @contenders);
	text("\nWith a reader, times without: " . spread(\@ratio, '%.3f'));
	return;
}

# Writers that insert rows one by one, beside each way to wake a reader.
sub readers_that_are_woken {
	my ($rounds) = @_;
	my ($writers, $seconds) = (16, 4);
	my ($none, $worker, $trigger, $waits, $standby) = (
		'no reader',
		'NOTIFY by the worker',
		'NOTIFY by a trigger',
		'20 sessions in flakeid_wait',
		'watermarks in the WAL');
	my @contenders = ($none, $worker, $trigger, $waits, $standby);
	psql('bench',
		'CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT flake_next(), payload integer);',
		<<'END');
CREATE FUNCTION ring() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('outbox', '');
	RETURN NULL;
END $$;
END
	my %setting = (
		$worker => "flakeid.notify_databases = 'bench'",
		$standby => "flakeid.standby_watermark_interval = '50ms'");
	my (%rate, %ratio);
	rounds(
		'waking', $rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			my %now;
			for my $contender (@contenders[@order]) {
				psql('bench', 'TRUNCATE outbox;', 'CHECKPOINT;');
				psql('bench',
						'CREATE TRIGGER ring AFTER INSERT ON outbox'
					  . ' FOR EACH STATEMENT EXECUTE FUNCTION ring();')
				  if $contender eq $trigger;
				# The first ID after the reload starts the worker.
				psql(
					'bench',
					"ALTER SYSTEM SET $setting{$contender};",
					'SELECT pg_reload_conf();',
					'SELECT pg_sleep(0.5);',
					'SELECT flake_next();',
					'SELECT pg_sleep(0.5);') if $setting{$contender};
				my $beside = $contender eq $waits
				  && background_pgbench('bench', 'CALL flakeid_wait(clock_timestamp());',
					'-c', 20, '-T', 3600);
				$now{$contender} =
				  pgbench('bench', 'INSERT INTO outbox (payload) VALUES (1);', $writers, $seconds);
				stop($beside) if $beside;
				psql(
					'bench',
					'ALTER SYSTEM RESET ' . $setting{$contender} =~ s/ =.*//r . ';',
					'SELECT pg_reload_conf();') if $setting{$contender};
				psql('bench', 'DROP TRIGGER ring ON outbox;') if $contender eq $trigger;
			}
			return unless $counts;
			push @{ $rate{$_} }, $now{$_} / 1e3 for @contenders;
			push @{ $ratio{$_} }, $now{$_} / $now{$none} for @contenders;
		});
	psql('bench', 'DROP TABLE outbox;', 'DROP FUNCTION ring();');

	heading('Readers that are woken');
	text(   "$writers sessions insert rows one by one, each in a transaction of its own,\n"
		  . "without waiting for the disk.\n");
	table(
		[ 'beside', 'thousand rows per second', 'times that without a reader' ],
		map { [ $_, spread($rate{$_}, '%.1f'), spread($ratio{$_}, '%.3f') ] } @contenders);
	return;
}

1;
