# postgres_fdw sends a list of IDs, as in id IN (a, b), if the array of the ID type is a member of
# the extension. From PostgreSQL 17 on CREATE EXTENSION makes it one. Before, the owner of the
# extension can, as docs/fleet.md says. It is not done for all, since PostgreSQL then refuses to
# move the extension to another schema until the array is no member.
use strict;
use warnings;
use lib 'tests/perl';

use Installation;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('lists',
	install_path => Installation->new('released')->put_released->{path});
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

my $version = sql("SELECT current_setting('server_version_num')::integer / 10000");
my @types = qw(sno flake128 guid guid_local uniqueid);
# 1.0.0 adds the type flake.
my $before = join ' ', sort map { "$_\[]" } @types;
my $all = join ' ', sort map { "$_\[]" } @types, 'flake';
my $members = <<'SQL';
SELECT string_agg(objid::regtype::text, ' ' ORDER BY objid::regtype::text COLLATE "C")
FROM pg_depend JOIN pg_type AS t ON t.oid = objid
JOIN pg_type AS element ON element.oid = t.typelem AND element.typtype = 'b'
WHERE classid = 'pg_type'::regclass AND refclassid = 'pg_extension'::regclass AND deptype = 'e'
SQL
my $add = join ';', map { "ALTER EXTENSION flakeid ADD TYPE $_\[]" } @types;
my $add_flake = 'ALTER EXTENSION flakeid ADD TYPE flake[]';
my $drop = join ';', map { "ALTER EXTENSION flakeid DROP TYPE $_\[]" } @types, 'flake';

# What is sent of a condition, by a session that has not connected before: postgres_fdw remembers
# what it may send.
sub sent {
	my ($condition) = @_;
	return sql("EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM far WHERE $condition") =~
	  /Remote SQL: .* WHERE (.*)/ ? $1 : '';
}

chomp(my $folder = `pg_config --sharedir`);
my $has_fdw = -e "$folder/extension/postgres_fdw.control";
sql(<<~'SQL');
	CREATE EXTENSION flakeid VERSION '0.7.0';
	CREATE TABLE near (id sno PRIMARY KEY DEFAULT sno_next());
	SQL
sql(sprintf <<~'SQL', $node->host, $node->port) if $has_fdw;
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '%s', port '%s', dbname 'postgres', extensions 'flakeid');
	CREATE USER MAPPING FOR CURRENT_USER SERVER there;
	CREATE FOREIGN TABLE far (id sno) SERVER there OPTIONS (table_name 'near');
	SQL
my $list = q(id IN ('2222222222222222', '2222222222222223'));
if ($version < 17) {
	is(sql($members), '', 'before PostgreSQL 17 the arrays are no members of the extension');
	is(sent($list), '', 'no list is sent') if $has_fdw;
	sql($add);
}
is(sql($members), $before, 'the arrays of the ID types are members of the extension');
sql('ALTER EXTENSION flakeid UPDATE');
sql($add_flake) if $version < 17;
is(sql($members), $all, 'an update keeps them, and a new one can be added');
if ($has_fdw) {
	like(
		sent($list),
		qr/id OPERATOR\(public\.=\) ANY \('\{2{16},2{15}3\}'::public\.sno\[\]\)/,
		'a list of IDs is sent');
	like(
		sent(q(id = '2222222222222222')),
		qr/id OPERATOR\(public\.=\) '2222222222222222'/,
		'one ID is sent');
}

# As docs/fleet.md says.
sql('CREATE SCHEMA ids');
if ($version < 17) {
	like(
		error_of($node, 'ALTER EXTENSION flakeid SET SCHEMA ids'),
		qr/ERROR: .*cannot alter array type/,
		'PostgreSQL does not move an array that is a member');
	sql($drop);
}
sql('ALTER EXTENSION flakeid SET SCHEMA ids');
is(sql('SET search_path = ids, public; SELECT count(*) FROM near WHERE id = ANY (NULL::sno[])'),
	'0', 'the extension moves, with its arrays');
sql("SET search_path = ids; $add; $add_flake") if $version < 17;
sql('DROP EXTENSION flakeid CASCADE');
is(sql(<<~'SQL'), '0', 'DROP EXTENSION drops the arrays, too');
	SELECT count(*) FROM pg_type
	WHERE typname ~ '^_?(sno|flake|timed_flake|flake128|guid|guid_local|uniqueid)$'
	SQL

# The name of an array depends on the types that are there.
sql("CREATE TYPE _sno AS ENUM ('mine'); CREATE TYPE __guid AS (a integer); CREATE EXTENSION flakeid"
	  . ($version < 17 ? ";$add;$add_flake" : ''));
is(sql($members), $all, 'the arrays are members although another type has the name of one');
is(sql(<<~'SQL'), '0', 'that type is no member');
	SELECT count(*) FROM pg_depend
	WHERE deptype = 'e' AND objid IN ('_sno'::regtype, '__guid'::regtype)
	SQL

$node->stop;
done_testing();
