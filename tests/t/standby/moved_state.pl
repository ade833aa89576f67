# A server whose state was last written on another host or in another data directory says so in its log at each start
# until it writes the state itself; with flakeid.moved_state = 'error' it generates no IDs until an operator has looked.
use strict;
use warnings;
use lib 'tests/perl';

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Sys::Hostname qw(hostname);
use Test::More;

my $line = "LOG:  flakeid's state was last written in another place\n";
my $origin = PostgreSQL::Test::Cluster->new('origin');
$origin->init(allows_streaming => 1);
$origin->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nlog_line_prefix = ''\n");
$origin->start;
$origin->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE ROLE ordinary');

sub location_of {
	my ($node) = @_;
	return JSON::PP->new->decode(slurp_file($node->data_dir . '/flakeid/location'));
}

# Whether the log has the line from an offset on, after all that happens at a start: the session's ID comes after it.
sub said {
	my ($node, $offset) = @_;
	return substr(slurp_file($node->logfile), $offset) =~ /\Q$line\E/;
}

# the server that wrote the state --------------------------------------------------------------------------------

is(error_of($origin, 'SELECT flake_next()'), '', 'a new server generates IDs');
is_deeply(
	location_of($origin),
	{
		flakeid_location => 1,
		host => hostname(),
		data_directory => $origin->data_dir,
		wal_timeline => 1
	},
	'... and writes its place beside the state');
my $end_of_log = -s $origin->logfile;
$origin->restart;
is(error_of($origin, 'SELECT flake_next()'), '', 'after a restart it generates IDs');
$origin->stop('immediate');
$origin->start;
is(error_of($origin, 'SELECT flake_next()'), '', '... and after a crash');
ok(!said($origin, $end_of_log), '... and its log says nothing of another place');

# the directory is removed -----------------------------------------------------------------------------------------

use File::Path qw(rmtree);
rmtree($origin->data_dir . '/flakeid');
$end_of_log = -s $origin->logfile;
# The gate opens for the next horizon when the state is on disk again.
$origin->poll_query_until('postgres',
	q{SELECT flake_next() > 0 AND (pg_stat_file('flakeid/state', true)).size > 0})
  or die 'the state does not come back';
$origin->wait_for_log(
	qr/LOG:  the directory "flakeid" was removed from the data directory while the server was running\n/,
	$end_of_log);
pass('a server whose directory of the state is removed says so, and writes it again');
ok(!said($origin, $end_of_log), '... and does not take that for a move');
$origin->restart;
is(error_of($origin, 'SELECT flake_next()'), '', '... after a restart it generates IDs');

# a copy -----------------------------------------------------------------------------------------------------------

$origin->backup('base');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($origin, 'base');
$copy->start;
$copy->wait_for_log(qr/\Q$line\E/);
my $here = quotemeta $copy->data_dir;
my $there = quotemeta $origin->data_dir;
my $host = quotemeta hostname();
like(
	slurp_file($copy->logfile),
	qr/\Q$line\EDETAIL:  It was last written on host "$host" in "$there". This is host "$host" and "$here". If the server in that place still runs, both generate the same IDs\.\n/,
	'a copy says at its start where the state was last written, and where it is');
$copy->stop;
$end_of_log = -s $copy->logfile;
$copy->start;
$copy->wait_for_log(qr/\Q$line\E/, $end_of_log);
pass('... and at the next start, as it has generated no IDs');
is(error_of($copy, 'SELECT flake_next()'), '', '... and generates IDs by default');
is(location_of($copy)->{data_directory},
	$copy->data_dir, '... which makes its place that of the state');
$end_of_log = -s $copy->logfile;
$copy->restart;
is(error_of($copy, 'SELECT flake_next()'), '', 'after a restart it generates IDs');
ok(!said($copy, $end_of_log), '... and says no more of the other place');
$copy->stop;

# a recovery without a hot standby -----------------------------------------------------------------------------------

{
	my $node = PostgreSQL::Test::Cluster->new('recovered');
	$node->init_from_backup($origin, 'base', has_streaming => 1);
	$node->append_conf('postgresql.conf', "hot_standby = off\n");
	my $lsn = $origin->lsn('insert');
	$node->append_conf('postgresql.conf',
		"recovery_target_lsn = '$lsn'\nrecovery_target_action = 'promote'\n");
	$origin->safe_psql('postgres', 'SELECT flake_next(); CREATE TABLE past_the_target ()');
	$node->start;
	$node->wait_for_log(qr/\Q$line\E/);
	wait_for_server($node);
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or die 'recovery does not end';
	pass('a server whose recovery writes the state says before where it was written last');
	$node->stop;
}

# a standby --------------------------------------------------------------------------------------------------------

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($origin, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "flakeid.moved_state = 'error'\n");
$standby->start;
$standby->wait_for_log(qr/\Q$line\E/);
pass('a standby says at its start where the state was last written');
$origin->stop;
$standby->promote;
my $refusal = qr/ERROR:  55000: the state file may be of another server\n/;
my $hint =
  qr/HINT:  Make sure that the server in that place is stopped, or that this one has other generator IDs\. Then set "flakeid\.moved_state" to "log" and reload the configuration\.\n/;
my $error = error_of($standby, 'SELECT flake_next()');
like($error, $refusal,
	"with flakeid.moved_state = 'error' it generates no IDs when it is promoted");
like(
	$error,
	qr/DETAIL:  It was last written on host "$host" in "$there"\./,
	'... and tells a superuser both places');
like($error, $hint, '... and what to do');
$error = error_of($standby, 'SET SESSION AUTHORIZATION ordinary; SELECT sno_next(0)');
like($error, $refusal, '... an ordinary user gets the error, too');
unlike($error, qr/$there/, '... without the places');
like(error_of($standby, 'SELECT flakeid_accept_clock()'),
	$refusal, '... and to accept the clock accepts no place');
$standby->restart;
like(error_of($standby, 'SELECT guid_next()'), $refusal, '... nor does a restart');
reload_with($standby, moved_state => 'LOG');
is(error_of($standby, 'SELECT flake_next(), guid_next()'),
	'', 'with "log" it generates IDs after a reload');
is(location_of($standby)->{data_directory},
	$standby->data_dir, '... and its place is that of the state');
reload_with($standby, moved_state => 'error');
$standby->restart;
is(error_of($standby, 'SELECT flake_next()'),
	'', '... so with "error" it continues after a restart');
like(
	error_of($standby, "ALTER SYSTEM SET flakeid.moved_state = 'never'"),
	qr/ERROR:  22023: .*flakeid\.moved_state.*\nDETAIL:  "never" is neither "log" nor "error"\./,
	'another value is refused');

# a file that says nothing -------------------------------------------------------------------------------------------

my $file = $standby->data_dir . '/flakeid/location';
my $long = '[' x 70_000;
my %contents = (
	'no file' => undef,
	'an empty file' => '',
	'another document' => '{"flakeid_location": 2, "host": "a", "data_directory": "b"}',
	'a file of another kind' => "\0\1\2\377",
	'a file that is too long' => $long);
my $no_place =
  qr/It does not name the host and the data directory of its server: recovery wrote it, or the file "flakeid\/location" was lost\./;
for my $what (sort keys %contents) {
	reload_with($standby, moved_state => 'error');
	$standby->stop;
	unlink $file;
	append_to_file($file, $contents{$what}) if defined $contents{$what};
	$end_of_log = -s $standby->logfile;
	$standby->start;
	like(
		error_of($standby, 'SELECT flake_next()'),
		qr/${refusal}DETAIL:  $no_place\n$hint/,
		"$what names no place: with flakeid.moved_state = 'error' the server generates no IDs");
	reload_with($standby, moved_state => 'log');
	is(error_of($standby, 'SELECT flake_next()'),
		'', "$what names no place: by default the server generates IDs");
	like(
		substr(slurp_file($standby->logfile), $end_of_log),
		qr/\Q$line\EDETAIL:  $no_place If that server still runs, both generate the same IDs\.\n/,
		"$what names no place: the log says so");
	is(location_of($standby)->{data_directory},
		$standby->data_dir, "$what names no place: the server writes its own");
}
$standby->stop;

# What can't be written is one line in the log.
unlink $file;
mkdir $file or die "no directory: $!";
append_to_file("$file/in_the_way", '');
$standby->start;
$end_of_log = -s $standby->logfile;
is(error_of($standby, 'SELECT flake_next() FROM generate_series(1, 10)'),
	'', 'a server that cannot write its place generates IDs');
$standby->wait_for_log(qr/LOG:  flakeid could not rename file "flakeid\/location": /);
is(scalar(() = slurp_file($standby->logfile) =~ /could not rename file "flakeid\/location"/g),
	1, '... and says so once');
$standby->stop;

done_testing();
