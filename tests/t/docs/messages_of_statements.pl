# docs/troubleshooting.md has what statements raise, with its level and SQLSTATE, and PostgreSQL's
# own messages about IDs. The SQL of the page runs. messages_in_sources.pl compares the texts.
use strict;
use warnings;
use lib 'tests/perl';

use MessagesPage;
use PublicKeys;
use Server;
use Test::More;

my $node = flakeid_server('messages_of_statements', <<~'END');
	log_error_verbosity = verbose
	flakeid.max_clock_wait = '100ms'
	END
use_keys($node, sprintf "1 %064x\n", 1);
my $version = $node->pg_version->major;

$node->safe_psql('postgres', 'CREATE DATABASE page');
$node->safe_psql('page', 'CREATE EXTENSION flakeid');
cmp_ok(scalar(@PAGE_SQL), '>=', 5, 'the page has SQL blocks');
for my $number (1 .. @PAGE_SQL) {
	my $error = error_of($node, $PAGE_SQL[ $number - 1 ], 'page');
	unlike($error, qr/ERROR/, "block $number of the page runs");
}

$node->safe_psql('postgres', <<'SQL');
SELECT flake_next();
CREATE ROLE ordinary;
CREATE TABLE ids (
	id bigint PRIMARY KEY DEFAULT flake_next(), event sno NOT NULL DEFAULT sno_next());
CREATE TABLE parts (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CREATE DATABASE empty;
SQL
my $session = session($node);
my $statements = <<'SQL';
-- text, bytes, casts
SELECT 'nonsense'::sno
SELECT ''::sno
SELECT ''::flake128
SELECT repeat('z', 30)::flake128
SELECT * FROM ids WHERE event >= '2026-11-01'
SELECT '\x00'::bytea::sno
SELECT '\x00'::bytea::uniqueid
SELECT flake_from_text('?', 'hex')
SELECT flake_from_text('BXDOxnfZfll=', 'base64')
SELECT flake_from_text('1ffffffffffffffff', 'hex')
SELECT flake_to_text(1, 'HEX')
SELECT flake128_to_text('1', 63)
SELECT 1.5::flake128
SELECT 10::flake128
DO $$DECLARE g guid; BEGIN g := event FROM ids; g := sno_next(); END$$
SELECT flake '5' + 1
SELECT -flake '5'
SELECT gen_random_uuid()::flake
SELECT (flake '-1')::flake128::flake
-- fields, times, bounds, partitions
SELECT flake_encode(now(), 0, 0, 4096)
SELECT flake_encode(now(), 0, 32, 0)
SELECT flake_encode(now(), 32, 0, 0)
SELECT sno_encode(now(), 0, 0, 0, -1)
SELECT uniqueid_encode(now(), 0, 2048, 0, 'spread')
SELECT uniqueid_encode(now(), 0, 0, 16, 'spread')
SELECT sno_encode(now(), 0, 0, 65536, 0)
SELECT sno_next(256)
SELECT sno_encode(now(), 2, 0, 0, 0)
SELECT guid_encode(now(), -1, 0)
SELECT uuidv7_encode(now(), 4096, 0, 0, 0)
SELECT uuidv7_encode(now(), 0, 16, 0, 0)
SELECT uuidv7_encode(now(), 0, 0, 0, -1)
SELECT uuidv7_at('1969-12-31')
SELECT uuidv7_at(now(), -1)
SELECT flake_encode('1969-12-31', 0, 0, 0)
SELECT sno_encode('infinity', 0, 0, 0, 0)
SELECT flake_encode(now(), 0, 0, 0, '1969-12-31')
SELECT sno_at('294276-12-31')
SELECT count(*) FROM sno_next_batch(-1)
SELECT flakeid_partition_times('now', 'infinity', '1 day')
SELECT sno_partition_bounds('2026-11-01', '2027-11-01', '-1 day')
SELECT sno_partition_bounds('2150-01-01', '2151-01-01', '1 year')
-- the public form
SELECT flake_from_public('user_100000000000', 'order')
SELECT flake_from_public('order_1000000000', 'order')
SELECT flake128_from_public(flake128_to_public('1', 'a'), 'b')
SELECT flake_from_public_uuid(gen_random_uuid())
SELECT flake_to_public(1, 'an order')
SELECT flake_to_public(-1)
SELECT flake128_to_public_uuid('1')
CREATE INDEX ON ids (flake_to_public(id))
CREATE TABLE made (id bigint, public text GENERATED ALWAYS AS (flake_to_public(id)) STORED)
SET ROLE ordinary; SELECT flakeid_new_public_key()
-- PostgreSQL's own
CREATE FUNCTION f() RETURNS bigint AS 'flakeid', 'no_such_wrapper' LANGUAGE c
CREATE EXTENSION flakeid
ALTER EXTENSION flakeid UPDATE TO '99.0'
DROP EXTENSION flakeid
SELECT flake_next(1)
CREATE INDEX ON ids (flake_timestamp(id))
CREATE TABLE made (id bigint, made timestamptz GENERATED ALWAYS AS (flake_timestamp(id)) STORED)
CREATE TABLE made (id bigint) PARTITION BY RANGE (flake_timestamp(id))
SELECT 'x'::flake
SELECT flake '5' >= '2026-11-01'
SELECT '99999999999999999999'::flake
SELECT flake '5' = 1.5
SELECT flake '5' = 'x'::text
CREATE TEMP TABLE numbered (id flake); INSERT INTO numbered VALUES (1.5::double precision)
SELECT '{5}'::flake[] @> ARRAY[5::bigint]
SELECT coalesce(flake '5', 0)
SELECT greatest(flake '5', 0)
SELECT CASE WHEN true THEN flake '5' ELSE 0 END
SELECT flake '5'::numeric
SELECT 5::bigint::timestamptz
CREATE TABLE made (id flake, made timestamptz GENERATED ALWAYS AS (id::timestamptz) STORED)
CREATE FUNCTION wrong() RETURNS SETOF bigint LANGUAGE plpgsql AS
 $$BEGIN RETURN QUERY SELECT flake_next()::flake; END$$; SELECT wrong()
CREATE TABLE key (id bigint) PARTITION BY RANGE (id); ALTER TABLE key ALTER id TYPE flake
CREATE VIEW seen AS SELECT id FROM ids; ALTER TABLE ids ALTER id TYPE flake
SELECT * FROM ids WHERE id >= now()
SELECT * FROM ids WHERE event = 'x'::text
SELECT id::sno FROM ids
CREATE TABLE p PARTITION OF parts
 FOR VALUES FROM (timestamptz '2026-11-01') TO (timestamptz '2026-12-01')
INSERT INTO parts VALUES (sno_next())
SELECT uniqueid_next('sequential')
INSERT INTO ids SELECT 1 FROM generate_series(1, 2)
SET ROLE ordinary; SELECT * FROM pg_stat_flakeid
SET ROLE ordinary; SELECT * FROM pg_stat_flakeid_lease
SET ROLE ordinary; SELECT flakeid_accept_clock()
SET statement_timeout = '1ms'; SELECT count(*) FROM uniqueid_next_batch(10000000)
SQL
$statements .= <<'SQL' if $version >= 18;
CREATE TABLE made (id bigint, at timestamptz GENERATED ALWAYS AS (flake_timestamp(id, 'epoch')))
CREATE TABLE made (id sno GENERATED ALWAYS AS (sno '2222222222222222'))
SQL
for my $sql (grep { !/^--/ } split /\n(?! )/, $statements) {
	is_on_the_page(error_in($session, "$sql;\nRESET ROLE; RESET statement_timeout"),
		$sql =~ s/\n//r);
}
$session->quit;
my %met = map { $_ => 1 } texts_met();
my @fields = grep { !$_->{others} && $_->{text} =~ / out of range: …\z/ } @TEXTS;
is(join(', ', grep { !$met{$_} } map { $_->{text} } @fields),
	'', 'the page names only fields that exist');

for my $sql (
	'SELECT flake_next()',
	"SELECT 'x'::sno",
	"CREATE EXTENSION flakeid VERSION '99.0'",
	'SET ROLE ordinary; CREATE EXTENSION flakeid')
{
	is_on_the_page(error_of($node, $sql, 'empty'), "$sql in a database without the extension");
}
is_on_the_page(error_of($node, 'CREATE TABLE flake (); CREATE EXTENSION flakeid', 'empty'),
	'CREATE EXTENSION beside a table named flake');
is(error_of($node, 'ALTER TABLE flake RENAME TO flakes; CREATE EXTENSION flakeid', 'empty'),
	'', 'a table of another name is not in the way of CREATE EXTENSION');
log_is_on_the_page($node);
$node->stop;
cmp_ok(scalar(texts_met()), '>=', 65, 'the test meets many entries of the page');
done_testing();
