# PostgreSQL's own checks of its catalogs find nothing in flakeid's objects: amvalidate in its operator classes,
# nor the queries of oidjoins, opr_sanity and type_sanity in any of them. Those are taken from PostgreSQL's own
# tests and run as they are (tests/sanity/fetch); they print violations, and lists of what PostgreSQL has in some
# place, to which nothing here may add either. And each of them does find a mistake that is made on purpose.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('sanity');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\nautovacuum = off\n");
$node->start;
my $version =
  $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");

# Two databases that differ in nothing but the extension. The enum is there for the lists of functions that
# enums use: PostgreSQL's tests have one by the time they ask, and the extension has uniqueid_mode. The lists are
# sorted, and what PostgreSQL's tests expect is in the order of the locale C.
$node->safe_psql('postgres',
	"CREATE DATABASE without TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'");
$node->safe_psql('without', slurp_file('tests/sanity/binary_coercible.sql'));
$node->safe_psql('without', "CREATE TYPE any_enum AS ENUM ('one')");
$node->safe_psql('postgres', 'CREATE DATABASE extended TEMPLATE without');
$node->safe_psql('extended', 'CREATE EXTENSION flakeid');

# amvalidate ---------------------------------------------------------------------------------------------------

# It answers yes or no, and says what it doesn't like in messages beside that.
sub validated {
	my ($mistake) = @_;
	my ($answers, $messages) = ('', '');
	$node->psql('extended', <<"SQL", stdout => \$answers, stderr => \$messages, on_error_die => 1);
BEGIN;
$mistake;
SELECT format('%s %s', amname, opcintype::regtype), amvalidate(k.oid)
FROM pg_depend JOIN pg_extension AS e ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid
JOIN pg_opclass AS k ON classid = 'pg_opclass'::regclass AND objid = k.oid JOIN pg_am ON pg_am.oid = opcmethod
WHERE extname = 'flakeid' AND deptype = 'e';
ROLLBACK;
SQL
	return ($answers, $messages);
}

my ($answers, $messages) = validated('');
my @classes = split /\n/, $answers;
is_deeply([ grep { !/\|t$/ } @classes ], [], 'amvalidate accepts every operator class');
is($messages, '', '... without a word');
for my $method ('btree', 'hash', 'brin') {
	for my $type ('flake128', 'guid', 'guid_local', 'sno', 'uniqueid') {
		ok((grep { $_ eq "$method $type|t" } @classes), "... $method of $type is among them");
	}
}

for (
	[
		'btree sno',
		'no comparison function',
		qr/missing support function/,
		"DELETE FROM pg_amproc WHERE amproc = 'sno_cmp'::regproc"
	],
	[
		'btree guid',
		'a comparison function of another kind',
		qr/guid_eq\(guid,guid\) with wrong signature/,
		"UPDATE pg_amproc SET amproc = 'guid_eq'::regproc WHERE amproc = 'guid_cmp'::regproc"
	],
	[
		'hash uniqueid',
		'no operator',
		qr/missing operator/,
		'DELETE FROM pg_amop USING pg_am WHERE pg_am.oid = amopmethod'
		  . " AND amname = 'hash' AND amoplefttype = 'uniqueid'::regtype"
	])
{
	my ($class, $what, $message, $mistake) = @$_;
	($answers, $messages) = validated($mistake);
	like($answers, qr/^$class\|f$/m, "with $what for $class it does not");
	like($messages, $message, '... and says so');
}

# So that the planner may evaluate them early, not call them for a null, hand them to a worker, and ask them
# before a security barrier. What takes an internal argument serves PostgreSQL itself, which leaks nothing.
is( $node->safe_psql('extended',
		<<'SQL'), '', 'what operator classes call is immutable, strict, parallel safe and leakproof');
SELECT p.oid::regprocedure
FROM pg_depend JOIN pg_extension AS e ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid
JOIN pg_opfamily AS f ON classid = 'pg_opfamily'::regclass AND objid = f.oid,
LATERAL (SELECT oprcode FROM pg_amop JOIN pg_operator AS o ON o.oid = amopopr WHERE amopfamily = f.oid
	UNION SELECT amproc FROM pg_amproc WHERE amprocfamily = f.oid) AS called (function)
JOIN pg_proc AS p ON p.oid = function
WHERE extname = 'flakeid' AND pronamespace <> 'pg_catalog'::regnamespace
	AND NOT (provolatile = 'i' AND proisstrict AND proparallel = 's'
		AND (proleakproof OR 'internal'::regtype = ANY (proargtypes)))
SQL

# PostgreSQL's own queries -------------------------------------------------------------------------------------

# Where scripts/setup puts what it fetches. The user's own folder is not $HOME here.
my @caches = grep { defined } $ENV{FLAKEID_CACHE},
  ($ENV{XDG_CACHE_HOME} // (getpwuid $<)[7] . '/.cache') . '/flakeid',
  '/var/cache/flakeid';
my ($queries) = grep { -d } map { "$_/postgresql-15-sanity" } @caches;

# All that psql prints for one of the files, with the queries, errors and messages, as PostgreSQL's tests have it.
# All that it creates goes as the session ends, and an error costs no more than its query.
sub printed {
	my ($database, $file, $mistake) = @_;
	my $input = "BEGIN; $mistake;\n\\set ECHO all\n" . slurp_file("$queries/sql/$file.sql");
	my $printed;
	IPC::Run::run([ 'psql', '-Xq', '-v', 'ON_ERROR_ROLLBACK=on', '-d', $node->connstr($database) ],
		'<', \$input, '>&', \$printed,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	die "psql failed: $printed" if $?;
	return $printed;
}

# The lines in which the second text differs from the first, with some around them.
my $folder = PostgreSQL::Test::Utils::tempdir('sanity');

sub difference {
	my @files = ("$folder/expected", "$folder/printed");
	for my $file (@files) {
		unlink $file;
		append_to_file($file, shift);
	}
	IPC::Run::run([ 'diff', '-U8', @files ], '>', \my $difference);
	die "diff failed: $difference" if $? >> 8 > 1;
	return $difference;
}

SKIP:
{
	if (!$queries) {
		my $reason = "PostgreSQL's queries are missing; tests/sanity/fetch fetches them";
		fail($reason) if $ENV{CI};
		skip $reason, 1;
	}

	my %without;
	for my $file ('oidjoins', 'opr_sanity', 'type_sanity') {
		$without{$file} = printed('without', $file, '');
		# They are PostgreSQL 15's; 18 has a column less.
		my @errors = $without{$file} =~ /^ERROR: +(.*)/mg;
		my @lacks =
		  $file eq 'type_sanity' && $version >= 18 ? ('column a1.attcacheoff does not exist') : ();
		is_deeply(\@errors, \@lacks, "the queries of $file run");
		# One function has its owner's rights on purpose; tests/pg_regress/sql/catalog.sql lists those that do.
		my $extended = printed('extended', $file,
			'ALTER FUNCTION flakeid_get_settings_errors() SECURITY INVOKER');
		is(difference($without{$file}, $extended),
			'', '... and print with the extension what they print without it');
		is(difference(slurp_file("$queries/expected/$file.out"), $extended),
			'', '... and what PostgreSQL expects of itself')
		  if $version == 15;
	}
	for (
		[
			'oidjoins',
			'a function that is gone',
			qr/FK VIOLATION IN pg_amproc\(\{amproc\}\).*/,
			"DELETE FROM pg_proc WHERE oid = 'sno_hash(sno)'::regprocedure"
		],
		[
			'opr_sanity',
			'a commutator that is a shell',
			qr/\| >>>/,
			'CREATE OPERATOR <<< (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_lt, COMMUTATOR = >>>)'
		],
		[
			'opr_sanity', 'an equality without a commutator',
			qr/\| =/, "UPDATE pg_operator SET oprcom = 0 WHERE oid = '= (sno, sno)'::regoperator"
		],
		[
			'opr_sanity',
			'the negator of another operator',
			qr/\| guid_lt \| +\d+ \| guid_gt/,
			"UPDATE pg_operator SET oprnegate = '> (guid, guid)'::regoperator WHERE oid = '< (guid, guid)'::regoperator"
		],
		[
			'opr_sanity', 'an operator without an estimator',
			qr/\| </, 'ALTER OPERATOR < (flake128, flake128) SET (RESTRICT = NONE)'
		],
		[
			'opr_sanity',
			'a comparison that is volatile',
			qr/\| uniqueid_eq/,
			'ALTER FUNCTION uniqueid_eq(uniqueid, uniqueid) VOLATILE'
		],
		[
			'opr_sanity',
			'a comparison that is less leakproof than its class',
			qr/guid_local_lt\(.*\| f/,
			'ALTER FUNCTION guid_local_lt(guid_local, guid_local) NOT LEAKPROOF'
		],
		[
			'opr_sanity',
			'an immutable function that is not for workers',
			qr/\| sno_timestamp/,
			'ALTER FUNCTION sno_timestamp(sno) PARALLEL UNSAFE'
		],
		[
			'opr_sanity', 'an operator class with the wrong function',
			qr/\| sno_ops/,
			"UPDATE pg_amproc SET amproc = 'sno_eq'::regproc WHERE amproc = 'sno_cmp'::regproc"
		],
		[
			'type_sanity',
			'an input function that is volatile',
			qr/\| sno_in/,
			'ALTER FUNCTION sno_in(cstring) VOLATILE'
		],
		[
			'type_sanity',
			'an array aligned for less than its elements',
			qr/\| flake128 \| d +\| _flake128 \| i/,
			"UPDATE pg_type SET typalign = 'd' WHERE oid = 'flake128'::regtype"
		],
		[
			'type_sanity', 'a type without an array',
			qr/\| guid/, "UPDATE pg_type SET typarray = 0 WHERE oid = 'guid'::regtype"
		])
	{
		my ($file, $what, $line, $mistake) = @$_;
		like(
			difference($without{$file}, printed('extended', $file, $mistake)),
			qr/^\+.*$line *$/m,
			"$file finds $what");
	}
}

$node->stop;
done_testing();
