# test_decoding and pg_recvlogical print and get IDs of all types. A row filter of a publication can
# compare flakes in bigint columns, and no values of types that an extension defines.
use strict;
use warnings;
use lib 'tests/perl';

use Kinds;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = replicating_server('logical_decoding', 0);
sub sql { return $node->safe_psql('postgres', @_) }
sql('CREATE EXTENSION flakeid');
sql(of_all_kinds('CREATE TABLE KIND_ids (id ID PRIMARY KEY, other ID);'));

# row filters --------------------------------------------------------------------------------------

# PostgreSQL would have to trust a user-defined function or operator while it decodes.
my $refused = qr/ERROR:  0A000: invalid publication WHERE expression/;
my $reason = qr/User-defined (?:operators|types|or built-in mutable functions) are not allowed/;
for my $kind (grep { $_->{type} ne 'bigint' } @KINDS) {
	for my $filter (
		"id >= AT('2026-02-01 00:00+00'::timestamptz, 1)",
		$kind->{type} eq 'uuid' ? () : 'id >= other',
		"TIMESTAMP(id) > '2026-02-01 00:00+00'",
		"WITHIN(id, '[2026-02-01 00:00+00,)'::tstzrange)")
	{
		my $where = of_kind($kind, $filter);
		like(
			error_of($node, "CREATE PUBLICATION p FOR TABLE $kind->{name}_ids WHERE ($where)"),
			qr/$refused.*\nDETAIL:  $reason/s,
			"PostgreSQL refuses the row filter $where");
	}
}
my $february = sql("SELECT flake_min('2026-02-01 00:00+00', '2010-01-01 00:00+00')");
sql('CREATE PUBLICATION everything FOR ALL TABLES');
sql("CREATE PUBLICATION filtered FOR TABLE flake_ids WHERE (id >= $february)");

# decoding -----------------------------------------------------------------------------------------

# logical_replication.pl has what pgoutput sends of all changes, as text and in binary.
chomp(my $folder = `pg_config --pkglibdir`);
my $has_test_decoding = -e "$folder/test_decoding.so";
sql("SELECT pg_create_logical_replication_slot('printed', 'test_decoding')") if $has_test_decoding;
sql("SELECT pg_create_logical_replication_slot('$_', 'pgoutput')") for 'filtered', 'received';

# Each kind's IDs in January and in February.
my %ids;
for my $kind (@KINDS) {
	for my $month ('01', '02') {
		my $id = of_kind($kind, "AT('2026-$month-15 00:00+00'::timestamptz, 4711)");
		push @{ $ids{ $kind->{name} } },
		  sql("INSERT INTO $kind->{name}_ids VALUES ($id) RETURNING id");
	}
}
my $end = $node->lsn('insert');
my %received;
$received{pg_recvlogical} = $node->pg_recvlogical_upto(
	'postgres', 'received', $end, $PostgreSQL::Test::Utils::timeout_default,
	proto_version => 1,
	publication_names => 'everything');
$received{test_decoding} =
  sql("SELECT data FROM pg_logical_slot_get_changes('printed', NULL, NULL, 'include-xids', '0')")
  if $has_test_decoding;
for my $name (sort keys %received) {
	for my $kind (map { $_->{name} } @KINDS) {
		my @found = grep { index($received{$name}, $_) >= 0 } @{ $ids{$kind} };
		is(scalar @found, 2, "$name gets $kind IDs");
	}
}
my $filtered = sql(<<~'SQL');
	SELECT string_agg(encode(data, 'hex'), ' ')
	FROM pg_logical_slot_get_binary_changes('filtered', NULL, NULL, 'proto_version', '1',
		'publication_names', 'filtered')
	SQL
is_deeply(
	[ map { index($filtered, unpack 'H*', $_) >= 0 ? 1 : 0 } @{ $ids{flake} } ],
	[ 0, 1 ],
	'a row filter with flakes lets only the IDs after its time pass');

$node->stop;
done_testing();
