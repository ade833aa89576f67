# Several sessions at once: that ask for IDs, that insert into one index, that meet the horizon.
package Sessions;
use strict;
use warnings;
use Exporter 'import';
use Contenders;
use Plot;
use Report;
use Rounds;
use Server;

our @EXPORT = qw(several_sessions sessions_at_one_index pause_of_the_horizon);

sub several_sessions {
	my ($rounds) = @_;
	my @sessions = (1, 2, 4, 8);
	# The slow ones get fewer rows, lest a statement of theirs is long against the run.
	my $rows = 20_000;
	my @contenders = (
		[ $empty, 'pg_backend_pid()', $rows ],
		(map { [ $_, $_, $rows ] } 'clock_timestamp()', @next),
		[ $nextval, "nextval('cached_1')", $rows / 4 ],
		(map { [ $_, $_, $rows / 10 ] } $uuid, uuidv7()),);
	my (%rate, %ratio);
	rounds(
		'sessions',
		$rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			for (@contenders[@order]) {
				my ($name, $call, $rows) = @$_;
				my %now = map { $_ => $rows * pgbench('bench', call_query($call, $rows), $_) / 1e6 }
				  @sessions;
				next unless $counts;
				push @{ $rate{$_}{$name} }, $now{$_} for @sessions;
				push @{ $ratio{$name} }, $now{2} / $now{1};
			}
		});

	heading('Several sessions at once');
	text(   "Millions of calls a second, all sessions together,\n"
		  . "on @{[cores()]} cores that pgbench uses too.\n");
	table(
		[ 'function', (map { "sessions: $_" } @sessions), '2 sessions, times 1' ],
		map {
			my $name = $_->[0];
			[
				$name,
				(map { spread($rate{$_}{$name}, '%.2f') } @sessions),
				spread($ratio{$name}, '%.2f')
			]
		} @contenders);
	bars(
		'sessions',
		'Million calls a second, all sessions together',
		map {
			{
				title => "sessions: $_",
				format => '%.1f',
				values => $rate{$_},
				largest_first => 1,
				same_scale => 1
			}
		} @sessions);
	my $yardstick = spread($ratio{$empty}, '%.2f');
	goal("$_, 2 sessions, times 1 (the empty function: $yardstick)", '>=', '1.80', $ratio{$_})
	  for @next;
}

# Sessions that insert row by row, and how many of the index's pages that were there before their
# rows went to: those whose last change is later. IDs that rise all go to its right-most leaf.
sub sessions_at_one_index {
	my ($rounds) = @_;
	my $grown_rows = million() / 2;
	my $rows = 20;
	my @contenders = (
		[ 'bigserial', 'bigserial', '' ],
		[ 'flake_next()', 'bigint', 'DEFAULT flake_next()' ],
		(   map { [ "uniqueid_next('$_')", 'uniqueid', "DEFAULT uniqueid_next('$_')" ] }
			  'time_sequential',
			'spread'),
		[ $uuid, 'uuid', 'DEFAULT gen_random_uuid()' ],);
	my @sessions = (1, 8);
	my $inserts = join "\n", 'BEGIN;', ('INSERT INTO filled (payload) VALUES (1);') x $rows,
	  'COMMIT;';
	my $pages = "pg_relation_size('filled_pkey') / current_setting('block_size')::bigint";
	# It comes with PostgreSQL, but not with every package of it.
	my $inspects =
	  psql('bench', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pageinspect'");
	psql('bench', 'CREATE EXTENSION IF NOT EXISTS pageinspect;') if $inspects;
	my (%rate, %changed);
	rounds(
		'spread', $rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			for (@contenders[@order]) {
				my ($name, $type, $default) = @$_;
				psql(
					'bench',
					"CREATE TABLE filled (id $type $default PRIMARY KEY, payload integer);",
					"INSERT INTO filled (payload) SELECT generate_series(1, $grown_rows);",
					'CHECKPOINT;');
				for my $sessions (@sessions) {
					my ($lsn, $last) = split /\|/,
					  psql('bench', "SELECT pg_current_wal_insert_lsn(), $pages - 1");
					my $rate = $rows * pgbench('bench', $inserts, $sessions);
					my $changed = $inspects && psql('bench', <<"END");
SELECT count(*) FROM generate_series(1, $last) AS page
    WHERE (page_header(get_raw_page('filled_pkey', page))).lsn > '$lsn'
END
					next unless $counts;
					push @{ $rate{$name}{$sessions} }, $rate / 1e3;
					push @{ $changed{$name}{$sessions} }, 100 * $changed / $last if $inspects;
				}
				psql('bench', 'DROP TABLE filled;');
			}
		});
	heading('Sessions that insert into one index');
	text(<<"END");
For a second, rows one by one, $rows to a transaction, into a table of $grown_rows, on @{[cores()]}
cores that pgbench uses too; and how many of the pages that the index had before they changed.
END
	table(
		[
			'ID',
			map {
				my $n = $_;
				map { "$_, sessions: $n" } 'thousand rows/s', '% of its pages'
			} @sessions
		],
		map {
			my $name = $_->[0];
			my @of = map { [ $rate{$name}{$_}, $changed{$name}{$_} ] } @sessions;
			[
				$name,
				map { (spread($_->[0], '%.1f'), $_->[1] ? spread($_->[1], '%.2f') : 'unknown') }
				  @of
			]
		} @contenders);
}

# With the least lead every call that comes after a moment's sleep meets the gate; on a disk that is
# slower the lead is longer than the setting, and so is the sleep. Beside it, calls that sleep and
# meet none.
sub pause_of_the_horizon {
	my ($rounds) = @_;
	my $calls = quick() ? 20 : 200;
	my @contenders = ([ 'meets the gate', '1ms', 'true' ], [ 'meets no gate', '2s', 'false' ]);
	psql('bench', <<'END');
CREATE FUNCTION pauses(calls integer, past_gate boolean) RETURNS SETOF float8 LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz;
    took interval;
BEGIN
    PERFORM flake_next();
    -- The first of them plans the statements.
    FOR i IN 0 .. calls LOOP
        PERFORM pg_sleep(0.002);
        IF past_gate THEN
            PERFORM pg_sleep(extract(epoch FROM max(gate_lead)))
                FROM pg_stat_flakeid WHERE id_type = 'flake';
        END IF;
        began := clock_timestamp();
        PERFORM flake_next();
        took := clock_timestamp() - began;
        IF i > 0 THEN
            RETURN NEXT 1000000 * extract(epoch FROM took);
        END IF;
    END LOOP;
END $$;
END
	my %microseconds;
	rounds(
		'pause', $rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			for (@contenders[@order]) {
				my ($name, $lead, $past_gate) = @$_;
				setting('flakeid.horizon_lead', $lead);
				# Until the gate of the other is past.
				psql('bench', 'SELECT pg_sleep(2.1);');
				my @taken = psql_without_disk('bench', "SELECT pauses($calls, $past_gate);");
				push @{ $microseconds{$name} }, @taken if $counts;
			}
		});
	setting('flakeid.horizon_lead', undef);

	heading('The pause in which the horizon is written');
	text(<<'END');
Microseconds of one `flake_next()` in PL/pgSQL, after a sleep of 2 ms or until the gate is past.
With the default of `flakeid.horizon_lead` one call in a second takes the first line's time, and the
other sessions that ask wait for it.
END
	table(
		[ 'the call', 'calls', 'p50', 'p99', 'max' ],
		map {
			my @sorted = sort { $a <=> $b } @{ $microseconds{ $_->[0] } };
			my ($p50, $p99, $max) = map { sprintf '%.0f', $sorted[ $_ * $#sorted ] } 0.5, 0.99, 1;
			[ $_->[0], scalar @sorted, $p50, $p99, $max ]
		} @contenders);
}

1;
