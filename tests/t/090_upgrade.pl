# From every released version ALTER EXTENSION UPDATE leads to what a fresh install of this one has,
# object by object.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('upgrade');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;

# Everything that belongs to the extension, with what is said of it in its own catalogue.
my $objects = <<'SQL';
SELECT pg_describe_object(d.classid, d.objid, d.objsubid), comments.comment,
	pg_get_functiondef(f.oid), f.proacl, f.procost, f.prorows, f.prosupport::regproc,
	pg_get_viewdef(c.oid), c.relacl,
	to_jsonb(t) - '{oid,typrelid,typarray,typelem,typnamespace,typowner}'::text[],
	to_jsonb(o) - '{oid,oprnamespace,oprowner,oprleft,oprright,oprcom,oprnegate,oprcode}'::text[],
	o.oprcom::regoperator, o.oprnegate::regoperator, o.oprcode::regprocedure,
	s.castfunc::regprocedure, s.castcontext, s.castmethod,
	k.opcdefault, k.opcintype::regtype, k.opckeytype::regtype
FROM pg_depend d
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
LEFT JOIN pg_proc f ON d.classid = 'pg_proc'::regclass AND f.oid = d.objid AND f.prokind <> 'a'
LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
LEFT JOIN pg_operator o ON d.classid = 'pg_operator'::regclass AND o.oid = d.objid
LEFT JOIN pg_cast s ON d.classid = 'pg_cast'::regclass AND s.oid = d.objid
LEFT JOIN pg_opclass k ON d.classid = 'pg_opclass'::regclass AND k.oid = d.objid,
LATERAL (SELECT obj_description(d.objid, d.classid::regclass::text) AS comment) AS comments
WHERE e.extname = 'flakeid' AND d.deptype = 'e'
ORDER BY 1
SQL

$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION flakeid');
my $version  = $node->safe_psql('fresh', "SELECT extversion FROM pg_extension WHERE extname = 'flakeid'");
my $expected = $node->safe_psql('fresh', $objects);
like($expected, qr/^operator class sno_ops for access method btree\|/m, 'the list holds the objects');
like($expected, qr/^view pg_stat_flakeid\|.*pg_monitor=r/ms, '... and who may use them');

my @released = split /\n/, $node->safe_psql('fresh', <<"SQL");
SELECT source FROM pg_extension_update_paths('flakeid')
WHERE target = '$version' AND path IS NOT NULL ORDER BY source
SQL
is($released[0], '0.6.0', 'from the oldest version on there is a way');

for my $from (@released)
{
	my $database = "from_$from" =~ tr/./_/r;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, <<"SQL");
CREATE EXTENSION flakeid VERSION '$from';
CREATE TABLE made (id bigint DEFAULT flake_next() PRIMARY KEY, event sno DEFAULT sno_next(1) UNIQUE);
INSERT INTO made SELECT FROM generate_series(1, 1000);
ALTER EXTENSION flakeid UPDATE;
INSERT INTO made SELECT FROM generate_series(1, 1000);
SQL
	is($node->safe_psql($database, $objects), $expected, "$from becomes what a fresh $version is");
	is($node->safe_psql($database, 'SELECT count(*) FROM made'), '2000', '... with the tables it serves');
}

$node->stop;
done_testing();
