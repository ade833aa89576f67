# The files of flakeid_reader.
package ReaderFiles;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(build_reader);

# Builds the two files. Returns the SQL for any client, and that for pg_tle.
sub build_reader {
	my $build = PostgreSQL::Test::Utils::tempdir;
	my ($built, $complaints) = run_command([ 'make', '-s', 'reader', "TARGET=$build" ]);
	is("$?$complaints", '0', 'make reader builds the files');
	my ($for_tle) = glob "$build/package/flakeid_reader-pg_tle--*.sql";
	my ($file) = grep { $_ ne $for_tle } glob "$build/package/flakeid_reader--*.sql";
	return map { slurp_file($_) } $file, $for_tle;
}

1;
