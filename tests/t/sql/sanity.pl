# The queries of PostgreSQL's own tests oidjoins, opr_sanity and type_sanity find nothing in
# flakeid's objects. They run as they are (tests/sanity/fetch). They print violations, and lists of
# what PostgreSQL has somewhere, to which nothing may add. Each finds mistakes that are made on
# purpose.
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

# Two databases that differ in nothing but the extension. The enum is there for the lists of
# functions that enums use: PostgreSQL's tests have one before they ask, and the extension has
# uniqueid_mode. The lists are sorted in the order of the locale C.
$node->safe_psql('postgres',
	"CREATE DATABASE without TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'");
$node->safe_psql('without', slurp_file('tests/sanity/binary_coercible.sql'));
$node->safe_psql('without', "CREATE TYPE any_enum AS ENUM ('one')");
# A database with a session cannot be a template.
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'without'")
  or die 'the session does not end';
$node->safe_psql('postgres', 'CREATE DATABASE extended TEMPLATE without');
$node->safe_psql('extended', 'CREATE EXTENSION flakeid');

# Where scripts/setup puts what it fetches. The user's own folder is not $HOME here.
my @caches = grep { defined } $ENV{FLAKEID_CACHE},
  ($ENV{XDG_CACHE_HOME} // (getpwuid $<)[7] . '/.cache') . '/flakeid',
  '/var/cache/flakeid';
my ($queries) = grep { -d } map { "$_/postgresql-15-sanity" } @caches;

# Returns all that psql prints for one of the files, with the queries, errors and messages. All that
# it creates goes as the session ends, and an error costs no more than its query.
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

# Returns the lines in which the second text differs from the first, with some around them.
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
		# tests/pg_regress/sql/catalog.sql lists the functions that have their owner's rights.
		my $extended = printed('extended', $file,
			'ALTER FUNCTION flakeid_get_settings_errors() SECURITY INVOKER');
		is(difference($without{$file}, $extended),
			'', "the queries of $file print with the extension what they print without it");
		is(difference(slurp_file("$queries/expected/$file.out"), $extended),
			'', "the queries of $file print what PostgreSQL expects of itself")
		  if $version == 15;
	}
	for (split /\n(?!\t)/, <<'MISTAKES') {
oidjoins finds a function that is gone
	FK VIOLATION IN pg_amproc\(\{amproc\}\).*
	DELETE FROM pg_proc WHERE oid = 'sno_hash(sno)'::regprocedure
opr_sanity finds a commutator that is a shell
	\| >>>
	CREATE OPERATOR <<< (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_lt, COMMUTATOR = >>>)
opr_sanity finds an equality without a commutator
	\| =
	UPDATE pg_operator SET oprcom = 0 WHERE oid = '= (sno, sno)'::regoperator
opr_sanity finds the negator of another operator
	\| guid_lt \| +\d+ \| guid_gt
	UPDATE pg_operator SET oprnegate = '> (guid, guid)'::regoperator
	WHERE oid = '< (guid, guid)'::regoperator
opr_sanity finds an operator without an estimator
	\| <
	ALTER OPERATOR < (flake128, flake128) SET (RESTRICT = NONE)
opr_sanity finds a comparison that is volatile
	\| uniqueid_eq
	ALTER FUNCTION uniqueid_eq(uniqueid, uniqueid) VOLATILE
opr_sanity finds a comparison that is less leakproof than its class
	guid_local_lt\(.*\| f
	ALTER FUNCTION guid_local_lt(guid_local, guid_local) NOT LEAKPROOF
opr_sanity finds an immutable function that is not for workers
	\| sno_timestamp
	ALTER FUNCTION sno_timestamp(sno) PARALLEL UNSAFE
opr_sanity finds an operator class with the wrong function
	\| sno_ops
	UPDATE pg_amproc SET amproc = 'sno_eq'::regproc WHERE amproc = 'sno_cmp'::regproc
opr_sanity finds a btree operator class without its comparison function
	"sno_ops" of access method btree is missing support function.*
	DELETE FROM pg_amproc WHERE amproc = 'sno_cmp'::regproc
opr_sanity finds a hash operator class without its operator
	"uniqueid_ops" of access method hash is missing operator.*
	DELETE FROM pg_amop USING pg_am WHERE pg_am.oid = amopmethod
	AND amname = 'hash' AND amoplefttype = 'uniqueid'::regtype
opr_sanity finds a comparison function with the wrong signature
	guid_eq\(guid,guid\) with wrong signature.*
	UPDATE pg_amproc SET amproc = 'guid_eq'::regproc WHERE amproc = 'guid_cmp'::regproc
type_sanity finds an input function that is volatile
	\| sno_in
	ALTER FUNCTION sno_in(cstring) VOLATILE
type_sanity finds an array aligned for less than its elements
	\| flake128 \| d +\| _flake128 \| i
	UPDATE pg_type SET typalign = 'd' WHERE oid = 'flake128'::regtype
type_sanity finds a type without an array
	\| guid
	UPDATE pg_type SET typarray = 0 WHERE oid = 'guid'::regtype
MISTAKES
		my ($test, $line, $mistake) = split /\n\t/, $_, 3;
		my ($file) = $test =~ /^(\w+)/;
		like(difference($without{$file}, printed('extended', $file, $mistake)),
			qr/^\+.*$line *$/m, $test);
	}
}

$node->stop;
done_testing();
