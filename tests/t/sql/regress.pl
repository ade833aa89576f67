# The SQL tests of tests/pg_regress, as `make installcheck` runs them, on a cluster of their own.
# FLAKEID_SQL_TESTS names some of them.
#
# This file takes long.
use strict;
use warnings;

use File::Basename qw(basename);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $output = PostgreSQL::Test::Utils::tempdir('regress');
my @tests = split ' ', $ENV{FLAKEID_SQL_TESTS} // '';
@tests = map { basename($_, '.sql') } sort glob 'tests/pg_regress/sql/*.sql' unless @tests;
die "no SQL tests in tests/pg_regress/sql\n" unless @tests;

my $node = PostgreSQL::Test::Cluster->new('regress');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
# Plans follow what the tests analyze themselves.
$node->append_conf('postgresql.conf', <<~'CONF');
	shared_preload_libraries = 'flakeid'
	autovacuum = off
	CONF
$node->start;

chomp(my $bindir = `pg_config --bindir`);
my $printed;
IPC::Run::run(
	[
		$ENV{PG_REGRESS}, "--bindir=$bindir",
		'--host=' . $node->host, '--port=' . $node->port,
		'--inputdir=tests/pg_regress', "--outputdir=$output",
		'--dbname=flakeid_regress', '--load-extension=flakeid',
		@tests
	],
	'>&',
	\$printed);
my $status = $?;

# Up to version 15 pg_regress prints "test NAME ... ok", from 16 on "ok N - NAME".
for my $test (@tests) {
	like(
		$printed,
		qr/^(?:test \Q$test\E\s+\.\.\. ok|ok \d+\s+[-+] \Q$test\E)\s/m,
		"$test.sql prints what is expected");
}
is($status, 0, 'pg_regress ends without an error') or diag($printed);
diag(slurp_file("$output/regression.diffs")) if -s "$output/regression.diffs";

$node->stop;
done_testing();
