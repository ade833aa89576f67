# With `flakeid.generator_ids = 'none'` a server generates no flakes, snos and uniqueids until it
# gets generator IDs of its own, and says which line to write. It reads IDs, and generates those of
# types that have no generator IDs. So the configuration that the servers of a fleet share can rule
# out that one of them generates IDs with the default, 0-7.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Server;
use Test::More;

my $node = flakeid_server('none', "flakeid.generator_ids = 'none'\n");
is( join(' ', map { $_->{name} } @WITH_GENERATOR_IDS),
	'flake sno uniqueid',
	'three ID types have generator IDs');

my $hint = qr/HINT:  Write flakeid\.generator_ids = '8-15' into the configuration/;
my $refused = qr/ERROR:  F0000: this server has no generator IDs\n.*$hint/s;

my $session = session($node);

# Tests that a session gets no ID of a type that has generator IDs.
sub generates_none {
	my ($when) = @_;
	for my $type (@WITH_GENERATOR_IDS) {
		for my $call ($type->{next}, sprintf $type->{batch}, 3) {
			like(error_in($session, "SELECT $call"),
				$refused, "$when $call is an error that has the line to write");
		}
	}
	return;
}

generates_none('before a server has generator IDs');
is(error_in($session, "SELECT $_->{next}"), '', "$_->{name} needs no generator ID")
  for @WITHOUT_GENERATOR_IDS;
is($session->query_safe("SELECT flakeid_identity() -> 'generator_ids'"),
	'[]', 'the server has no generator IDs');
is($session->query_safe(<<~'SQL'), <<~'ROWS' =~ s/\n\z//r, 'the view of readiness says so');
	SELECT id_type, ready, sqlstate, error FROM flakeid_readiness
	WHERE id_type IN ('flake', 'sno', 'uniqueid', 'uuidv7') ORDER BY id_type
	SQL
	flake|f|F0000|this server has no generator IDs
	sno|f|F0000|this server has no generator IDs
	uniqueid|f|F0000|this server has no generator IDs
	uuidv7|t||
	ROWS
is($session->query_safe(<<~'SQL'), 't|t|t', 'the server reads IDs');
	SELECT flake_timestamp(2237000000000000000) > '2026-01-01',
		flake_before(2237000000000000000, now()), flakeid_watermark() IS NOT NULL
	SQL

reload_with($node, generator_ids => '8-15');
is(error_in($session, "SELECT $_->{next}"), '', "$_->{name} is generated after a reload")
  for @WITH_GENERATOR_IDS;
is($session->query_safe('SELECT (flake_decode(flake_next())).generator_id BETWEEN 8 AND 15'),
	't', 'the IDs have the generator IDs of the new setting');
reload_with($node, generator_ids => 'none');
generates_none('after a reload that takes them away');

like(
	error_of($node, "ALTER SYSTEM SET flakeid.generator_ids = '$_'"),
	qr/ERROR:  22023: invalid value for parameter "flakeid\.generator_ids": "$_"/,
	"'$_' is refused") for 'none,8', 'none:8', 'NONE';
$session->quit;
$node->stop;
done_testing();
