# What one ID costs in one session, and how many of them a format gives.
package Calls;
use strict;
use warnings;
use Exporter 'import';
use List::Util qw(min);
use Contenders;
use Plot;
use Report;
use Rounds;
use Server;

our @EXPORT = qw(cost_of_a_call ceiling_of_the_format);

sub cost_of_a_call {
	my ($rounds) = @_;
	my $rows = quick() ? 20_000 : 200_000;
	my $slices = 5;
	# What an ID's default could be without flakeid.
	my @others = ($nextval, $nextval_100, $uuid, uuidv7(), peers());
	my @contenders = (
		[ $series, call_query('*', $rows), $rows ],
		[ $empty, call_query('pg_backend_pid()', $rows), $rows ],
		(map { [ $_, call_query($_, $rows), $rows ] } 'clock_timestamp()', @next),
		[ $nextval, call_query("nextval('cached_1')", $rows), $rows ],
		[ $nextval_100, call_query("nextval('cached_100')", $rows), $rows ],
		(map { [ $_, call_query($_, $rows / 5), $rows / 5 ] } $uuid, uuidv7(), peers()),
		(map { [ $_, set_query("$_($rows)"), $rows ] } map { s/_next.*/_next_batch/r } @next),);
	my (%gross, %net, %to_clock, %to_nextval, %to_sno);
	rounds(
		'calls', $rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			# Each first for a few rows: a new session reads the catalog, and not under the clock.
			my @few =
			  map { my (undef, $query, $n) = @$_; $query =~ s/\b$n\b/1000/r } @contenders[@order];
			my @timed = map { timed($_->[1]) } @contenders[@order];
			my @ms = psql_without_disk('bench', (map { unprinted($_) } @few), (@timed) x $slices);
			return unless $counts;
			my (%ns, %now);
			for my $place (0 .. $#order) {
				my ($name, undef, $n) = @{ $contenders[ $order[$place] ] };
				$ns{$name} = 1e6 / $n * min(map { $ms[ $place + $_ * @order ] } 0 .. $slices - 1);
			}
			# A batch has no call in each row; it takes the place of generate_series.
			$now{$_} = $ns{$_} - $ns{ /batch$/ ? $series : $empty } for keys %ns;
			for (keys %ns) {
				push @{ $gross{$_} }, $ns{$_};
				push @{ $net{$_} }, $now{$_};
				push @{ $to_clock{$_} }, $now{$_} / $now{'clock_timestamp()'};
				push @{ $to_nextval{$_} }, $now{$_} / $now{$nextval};
				push @{ $to_sno{$_} }, $now{$_} / $now{'sno_next(0)'};
			}
		});

	heading('One ID in one session');
	text(<<"END");
Nanoseconds a row of `@{[call_query('f()', $rows)]}`, the best of $slices in a round. Net: without
those of the empty function, and of generate_series for a batch, which takes its place.
END
	table(
		[ 'function', 'ns', 'net ns', 'net, times clock_timestamp()', "net, times $nextval" ],
		map {
			my $name = $_->[0];
			my @net =
			  $name eq $series || $name eq $empty
			  ? ('', '', '')
			  : (
				spread($net{$name}, '%.1f'),
				spread($to_clock{$name}, '%.2f'),
				spread($to_nextval{$name}, '%.3f'));
			[ $name, spread($gross{$name}, '%.1f'), @net ]
		} @contenders);
	bars(
		'calls',
		'What one ID costs',
		{
			title => 'nanoseconds, net of an empty function, on a logarithmic axis',
			format => '%.0f',
			logarithmic => 1,
			values => { map { $_ => $net{$_} } 'clock_timestamp()', @next, @others },
		});

	goal("$_->[0], net, times clock_timestamp()", '<=', $_->[1], $to_clock{ $_->[0] })
	  for [ 'flake_next()', '1.25' ], [ 'sno_next(0)', '1.50' ];
	goal("$_, net, times sno_next(0)", '<=', '1.30', $to_sno{$_})
	  for 'flake128_next()', 'guid_next()';
	my %median = map { $_ => (quartiles($net{$_}))[1] } @others;
	my ($cheapest) = sort { $median{$a} <=> $median{$b} } @others;
	for my $next (@next) {
		my @ratio = map { $net{$next}[$_] / $net{$cheapest}[$_] } 0 .. $#{ $net{$next} };
		goal("$next, net, times $cheapest, the cheapest of the others", '<', '1.00', \@ratio);
	}
}

sub ceiling_of_the_format {
	my ($rounds) = @_;
	my @contenders;
	for (
		[ 'flake', 'flake_next()', '0', 4.096e6, 20_000 ],
		[ 'sno', 'sno_next(0)', '0', 16.384e6, 20_000 ],
		[ 'uniqueid', 'uniqueid_next()', '0', 0.064e6, 1_000 ],
		[ 'uniqueid', 'uniqueid_next()', '0-7', 0.512e6, 8_000 ])
	{
		my ($id_type, $next, $ids, $ceiling, $rows) = @$_;
		for my $sessions (1, 2) {
			push @contenders, [ $next, $ids, $sessions, call_query($next, $rows), $rows, $ceiling ],
			  [
				"${id_type}_next_batch", $ids, $sessions, set_query("${id_type}_next_batch($rows)"),
				$rows, $ceiling
			  ];
		}
	}
	my (@rate, @share);
	rounds(
		'ceiling',
		$rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			for my $i (@order) {
				my (undef, $ids, $sessions, $query, $rows, $ceiling) = @{ $contenders[$i] };
				setting('flakeid.generator_ids', $ids);
				my $rate = $rows * pgbench('bench', $query, $sessions);
				next unless $counts;
				push @{ $rate[$i] }, $rate / 1e6;
				push @{ $share[$i] }, 100 * $rate / $ceiling;
			}
		});
	setting('flakeid.generator_ids', undef);

	heading('What the format gives');
	text(<<'END');
With these `flakeid.generator_ids`, against what the format gives them: each 4.096 M/s of flake,
0.064 M/s of uniqueid, and 16.384 M/s of sno, which is more than a session can ask for.
END
	table(
		[ 'function', 'generator IDs', 'sessions', 'M IDs/s', '% of what the format gives' ],
		map {
			[
				@{ $contenders[$_] }[ 0 .. 2 ],
				spread($rate[$_], '%.3f'),
				spread($share[$_], '%.1f')
			]
		} 0 .. $#contenders);
	for (grep { $contenders[$_][0] =~ /^(?:flake|uniqueid)/ } 0 .. $#contenders) {
		my ($function, $ids, $sessions, undef, undef, $ceiling) = @{ $contenders[$_] };
		my $what = sprintf '%% of %.3f M/s: %s, generator IDs: %s, sessions: %d',
		  $ceiling / 1e6, $function, $ids, $sessions;
		goal($what, '>=', '95.0', $share[$_]);
	}
}

1;
