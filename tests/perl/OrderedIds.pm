# A server with 1,024 IDs of each ID type, whose order is known. For each type:
#
# rows:     a query for the IDs, "id", with their number, "nr", from 0; its fields, high and low,
#           are in the order in which IDs sort by them
# ends:     the texts of the first and the last of these
# smallest: the texts of the type's first three IDs
# hash:     the text of an ID, with its hash, and its extended hash for the seeds 0 and 42. Hash
#           indexes and partitions live as long as the data: these stay as they are.
package OrderedIds;

use strict;
use warnings;

use Exporter qw(import);
use Server;

our @EXPORT = qw(%ORDERED_IDS server_of_ordered_ids ask_of);

# A flake uses what PostgreSQL has for a bigint: ids/flake_conditions.pl.
our %ORDERED_IDS = (
	sno => {
		# Two of each time, tick-tock, meta, partition and sequence.
		rows => <<~'SQL',
			SELECT sno_encode(timestamptz '2026-01-01 00:00:00+00' + t * interval '4 ms',
					k, m * 255, p * 65535, s * 65535) AS id,
				(((t * 2 + k) * 2 + m) * 2 + p) * 2 + s AS nr
			FROM generate_series(0, 63) AS t, generate_series(0, 1) AS k,
				generate_series(0, 1) AS m, generate_series(0, 1) AS p, generate_series(0, 1) AS s
			SQL
		ends => [ '9d5ve82222222222', '9d5ve85xxxxxxxxx' ],
		smallest => [ '2222222222222222', '2222222222222223', '2222222222222224' ],
		hash => [ '9q74gok3262so257', -1769167099, -4268770767517473019, 2571747002898907205 ],
	},
	flake128 => {
		# Two of each time, worker and sequence.
		rows => <<~'SQL',
			SELECT flake128_encode(timestamptz '2026-01-01 00:00:00+00' + t * interval '1 ms',
					w, s * 65535) AS id,
				(t * 2 + wn) * 2 + s AS nr
			FROM generate_series(0, 255) AS t, generate_series(0, 1) AS s,
				(VALUES (0, macaddr '00:00:00:00:00:00'), (1, 'ff:ff:ff:ff:ff:ff'))
					AS workers (wn, w)
			SQL
		ends => [ 'B1p7XwmsfFKKNY0KYq', 'B1p7XyFdDpv2v0So0t' ],
		smallest => [ '0', '1', '2' ],
		hash => [ 'B7tNvGF8Zh73eTSQUY', 1755786993, -9199393980009730319, -2826460109071103007 ],
	},
	guid => {
		# By drift, by the time's part above it, by node, by the part below, by sequence. 2^42 ns
		# are the whole part below of the largest drift; 125 times that, and 2^14 us, are whole
		# ticks and whole microseconds.
		rows => <<~'SQL',
			SELECT guid_encode(timestamptz '1970-01-01 00:00:00+00'
					+ (2800 + c) * interval '549755.813888 s' + f * interval '16.384 ms',
					n, s * 16383, drift) AS id,
				(((d * 8 + c) * 4 + nn) * 4 + f) * 2 + s AS nr
			FROM (VALUES (0, interval '68 s'), (1, '137 s'), (2, '1099 s'), (3, '1 day'))
					AS drifts (d, drift),
				generate_series(0, 7) AS c, generate_series(0, 3) AS f, generate_series(0, 1) AS s,
				(VALUES (0, 0), (1, 1), (2, 2147483648), (3, 4294967295)) AS nodes (nn, n)
			SQL
		ends => [ '7eiN............', 'sepCzzzzzs..MUzz' ],
		smallest => [ '................', '...............0', '...............1' ],
		hash => [ 'NIITRFL2BAVI1B.0', -627788599, -4319640221590965047, 5582318067189270062 ],
	},
	guid_local => {
		# By drift, by time, by sequence. 2^14 us are whole ticks.
		rows => <<~'SQL',
			SELECT guid_local_encode(timestamptz '1970-01-01 00:00:00+00'
					+ 2800 * interval '549755.813888 s' + t * interval '16.384 ms',
					s * 16383, drift) AS id,
				(d * 128 + t) * 2 + s AS nr
			FROM (VALUES (0, interval '68 s'), (1, '137 s'), (2, '1099 s'), (3, '1 day'))
					AS drifts (d, drift),
				generate_series(0, 127) AS t, generate_series(0, 1) AS s
			SQL
		ends => [ '119A87..........', 'D19A87...E7.EEEE' ],
		smallest => [ '................', '...............0', '...............1' ],
		hash => [ '1206B440CEB4B..0', 1400440159, 5528292316365260127, -2926284340834671726 ],
	},
	uniqueid => {
		# By time, by sequence, by the upper bits of the generator, by mode, by the lower bits, by
		# cluster. The times are those whose bits read the same both ways round.
		rows => <<~'SQL',
			SELECT uniqueid_encode(timestamptz '1970-01-01 00:00:00+00' + (
						(t >> 3) * (1 + (1::bigint << 41)) + (t >> 2 & 1) * (2 + (1::bigint << 40))
						+ (t >> 1 & 1) * (4 + (1::bigint << 39)) + (t & 1) * (8 + (1::bigint << 38))
					) * interval '1 ms', s * 63, h * 256 + l * 255, c * 15, mode) AS id,
				((((t * 2 + s) * 4 + hn) * 2 + m) * 2 + l) * 2 + c AS nr
			FROM generate_series(0, 15) AS t, generate_series(0, 1) AS s,
				(VALUES (0, 0), (1, 1), (2, 4), (3, 7)) AS high (hn, h),
				(VALUES (0, uniqueid_mode 'spread'), (1, 'time_sequential')) AS modes (m, mode),
				generate_series(0, 1) AS l, generate_series(0, 1) AS c
			SQL
		ends => [ '0000000000000000', 'f000000003ffffff' ],
		smallest => [ '0000000000000000', '0000000000000001', '0000000000000002' ],
		hash => [ '67c76b38257fdfff', -886714045, 3663532056637722947, 1132644151276673133 ],
	},);

my $session;

# Starts a server with a schema for each type: `things` has its 1,024 IDs in no order, `others` the
# first 300.
sub server_of_ordered_ids {
	my ($name) = @_;
	my $node = flakeid_server($name);
	$session = session($node);
	for my $type (sort keys %ORDERED_IDS) {
		$session->query_safe("CREATE SCHEMA of_$type");
		ask_of($type, <<~"SQL");
			CREATE TABLE things (id $type, nr integer);
			INSERT INTO things SELECT id, nr
			FROM ($ORDERED_IDS{$type}{rows}) AS rows ORDER BY md5(nr::text);
			ANALYZE things;
			CREATE TABLE others AS SELECT * FROM things WHERE nr < 300;
			ANALYZE others;
			SQL
	}
	return $node;
}

# Runs statements in a session, with default settings, in the schema of a type.
sub ask_of {
	my ($type, $sql) = @_;
	return $session->query_safe("RESET ALL; SET search_path = of_$type, public; $sql");
}

1;
