# amvalidate accepts every operator class of the extension, and finds mistakes that are made on
# purpose.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('operator_classes');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

# Returns the answers of amvalidate with a mistake, yes or no for each class, and its messages.
sub validated {
	my ($mistake) = @_;
	my ($answers, $messages) = ('', '');
	$node->psql('postgres', <<~"SQL", stdout => \$answers, stderr => \$messages, on_error_die => 1);
		BEGIN;
		$mistake;
		SELECT format('%s %s', amname, opcintype::regtype), amvalidate(k.oid)
		FROM pg_depend JOIN pg_extension AS e ON refobjid = e.oid
		JOIN pg_opclass AS k ON classid = 'pg_opclass'::regclass AND objid = k.oid
		JOIN pg_am ON pg_am.oid = opcmethod
		WHERE refclassid = 'pg_extension'::regclass AND extname = 'flakeid' AND deptype = 'e';
		ROLLBACK;
		SQL
	return ($answers, $messages);
}

my ($answers, $messages) = validated('');
my @classes = split /\n/, $answers;
is_deeply([ grep { !/\|t$/ } @classes ], [], 'amvalidate accepts every operator class');
is($messages, '', 'amvalidate has no message');
for my $method ('btree', 'hash', 'brin') {
	for my $type ('flake128', 'guid', 'guid_local', 'sno', 'uniqueid') {
		ok((grep { $_ eq "$method $type|t" } @classes),
			"amvalidate looks at the operator classes of $method for $type");
	}
}

for (
	[
		'btree sno',
		'without a comparison function',
		qr/missing support function/,
		"DELETE FROM pg_amproc WHERE amproc = 'sno_cmp'::regproc"
	],
	[
		'btree guid',
		'with a comparison function of another kind',
		qr/guid_eq\(guid,guid\) with wrong signature/,
		"UPDATE pg_amproc SET amproc = 'guid_eq'::regproc WHERE amproc = 'guid_cmp'::regproc"
	],
	[
		'hash uniqueid',
		'without an operator',
		qr/missing operator/,
		'DELETE FROM pg_amop USING pg_am WHERE pg_am.oid = amopmethod'
		  . " AND amname = 'hash' AND amoplefttype = 'uniqueid'::regtype"
	])
{
	my ($class, $how, $message, $mistake) = @$_;
	($answers, $messages) = validated($mistake);
	like($answers, qr/^$class\|f$/m, "amvalidate refuses $class $how");
	like($messages, $message, "amvalidate tells the mistake in $class $how");
}

# The planner may evaluate such functions early, not call them for NULL, hand them to a worker, and
# call them before a security barrier. What takes an internal argument serves PostgreSQL itself.
my $others = $node->safe_psql('postgres', <<'SQL');
SELECT p.oid::regprocedure
FROM pg_depend JOIN pg_extension AS e ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid
JOIN pg_opfamily AS f ON classid = 'pg_opfamily'::regclass AND objid = f.oid,
LATERAL (
	SELECT oprcode FROM pg_amop JOIN pg_operator AS o ON o.oid = amopopr WHERE amopfamily = f.oid
	UNION SELECT amproc FROM pg_amproc WHERE amprocfamily = f.oid) AS called (function)
JOIN pg_proc AS p ON p.oid = function
WHERE extname = 'flakeid' AND pronamespace <> 'pg_catalog'::regnamespace
	AND NOT (provolatile = 'i' AND proisstrict AND proparallel = 's'
		AND (proleakproof OR 'internal'::regtype = ANY (proargtypes)))
SQL
is($others, '',
	'the functions of operator classes are immutable, strict, parallel safe and leakproof');

$node->stop;
done_testing();
