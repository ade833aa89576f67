# Logical decoding and pg_recvlogical print and send IDs of all types. A row filter of a publication
# can compare flakes in bigint columns, and no values of types that an extension defines.
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

my $all = "'proto_version', '1', 'publication_names', 'everything'";
my %decoder = (
	'pgoutput, as text' => [ 'pgoutput', 0, $all ],
	'pgoutput, in binary' => [ 'pgoutput', 1, "$all, 'binary', 'true'" ],
	'test_decoding' => [ 'test_decoding', 0, "'include-xids', '0'" ],);
chomp(my $folder = `pg_config --pkglibdir`);
delete $decoder{test_decoding} unless -e "$folder/test_decoding.so";
my %slot = map { $_ => tr/a-z_//cdr } keys %decoder;
sql("SELECT pg_create_logical_replication_slot('$slot{$_}', '$decoder{$_}[0]')")
  for sort keys %slot;
sql("SELECT pg_create_logical_replication_slot('$_', 'pgoutput')") for 'filtered', 'received';

# Each kind's IDs in January and in February, as they are printed and as they are sent.
my %ids;
for my $kind (@KINDS) {
	my $send = $kind->{type} eq 'bigint' ? 'int8send' : "$kind->{type}_send";
	for my $month ('01', '02') {
		my $id = of_kind($kind, "AT('2026-$month-15 00:00+00'::timestamptz, 4711)");
		push @{ $ids{ $kind->{name} } }, [ split /\|/, sql(<<~"SQL") ];
			INSERT INTO $kind->{name}_ids VALUES ($id) RETURNING id, encode($send(id), 'hex')
			SQL
	}
}
my $end = $node->lsn('insert');

# Returns the changes in a slot in hexadecimal digits.
sub changes_in {
	my ($slot, $options) = @_;
	return sql(<<~"SQL");
		SELECT string_agg(encode(data, 'hex'), ' ')
		FROM pg_logical_slot_get_binary_changes('$slot', NULL, NULL, $options)
		SQL
}
for my $name (sort keys %decoder) {
	my (undef, $in_binary, $options) = @{ $decoder{$name} };
	my $changes = changes_in($slot{$name}, $options);
	for my $kind (map { $_->{name} } @KINDS) {
		my @ids = map { $in_binary ? $_->[1] : unpack 'H*', $_->[0] } @{ $ids{$kind} };
		is(scalar(grep { index($changes, $_) >= 0 } @ids), 2, "$name: the changes have $kind IDs");
	}
}
my $changes = changes_in('filtered', $all =~ s/everything/filtered/r);
is_deeply(
	[ map { index($changes, unpack 'H*', $_->[0]) >= 0 ? 1 : 0 } @{ $ids{flake} } ],
	[ 0, 1 ],
	'a row filter with flakes lets only the IDs after its time pass');
my $received = $node->pg_recvlogical_upto(
	'postgres', 'received', $end, $PostgreSQL::Test::Utils::timeout_default,
	proto_version => 1,
	publication_names => 'everything');
for my $kind (map { $_->{name} } @KINDS) {
	is(scalar(grep { index($received, $_->[0]) >= 0 } @{ $ids{$kind} }),
		2, "pg_recvlogical gets $kind IDs");
}

$node->stop;
done_testing();
