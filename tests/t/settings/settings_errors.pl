# flakeid_settings_errors shows the lines of the configuration files that name no setting of
# flakeid, or have a value that it refuses: those that were there at the start, and those that came
# with a reload.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('settings_errors', "log_line_prefix = ''\n");
$node->safe_psql('postgres', 'CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CREATE ROLE ordinary');

my $query = "SELECT name, setting, regexp_replace(sourcefile, '.*/', ''), error"
  . ' FROM flakeid_settings_errors ORDER BY sourceline';
sub errors { return $node->safe_psql('postgres', "SET SESSION AUTHORIZATION watcher; $query") }

is(errors(), '', 'a server with good settings shows no line to a member of pg_monitor');
like(
	error_of($node, "SET SESSION AUTHORIZATION ordinary; $query"),
	qr/ERROR:  42501: permission denied for view/,
	'an ordinary user cannot read the view');
like(
	error_of(
		$node, 'SET SESSION AUTHORIZATION ordinary; SELECT * FROM flakeid_get_settings_errors()'),
	qr/ERROR:  42501: permission denied for function/,
	'an ordinary user cannot call the function of the view');
# a reload ---------------------------------------------------------------------------------------

my $good = slurp_file($node->data_dir . '/postgresql.conf');

sub configure {
	my ($lines) = @_;
	my $path = $node->data_dir . '/postgresql.conf';
	open my $file, '>', $path or die "could not write $path: $!";
	print $file "$good$lines";
	close $file or die "could not write $path: $!";
	return;
}

my $misspelled = "flakeid.generator_id|8-15|postgresql.conf|setting could not be applied";
my $end_of_log = -s $node->logfile;
configure(<<'END');
flakeid.generator_id = '8-15'
flakeid.cluster_id = 16
FlakeID.Generator_IDs = '7-3'
work_mem = '1 mile'
other.secret = 'not read'
END
$node->reload;
$node->wait_for_log(qr/contains errors; unaffected changes were applied/, $end_of_log);
my $log = substr(slurp_file($node->logfile), $end_of_log);
like(
	$log,
	qr/LOG:  invalid configuration parameter name "flakeid\.generator_id"/,
	'after a reload the log has a misspelled name');
is( errors(), <<"END" =~ s/\n\z//r,
$misspelled
flakeid.cluster_id|16|postgresql.conf|setting could not be applied
FlakeID.Generator_IDs|7-3|postgresql.conf|setting could not be applied
END
	'after a reload the view has the misspelled name and refused values, of flakeid alone');

configure("flakeid.cluster_id = 1\nflakeid.epoch = = 'unix'\n");
like(
	errors(),
	qr/^\|\|postgresql\.conf\|syntax error\z/,
	'the view has an error of syntax, by which no line of the file is in force');

# a start ----------------------------------------------------------------------------------------

$node->stop;
configure("flakeid.generator_id = '8-15'\n");
$end_of_log = -s $node->logfile;
$node->start;
like(
	substr(slurp_file($node->logfile), $end_of_log),
	qr/WARNING:  invalid configuration parameter name "flakeid\.generator_id"/,
	'at a start the log has a misspelled name');
is(errors(), $misspelled, 'after a start the view has a misspelled name');
is($node->safe_psql('postgres', 'SELECT flakeid_identity() ->> \'generator_ids_setting\''),
	'0-7', 'by a misspelled name the server has the generator IDs of the default');

$node->stop;
configure(
	"flakeid.guid_node = '99999999999'\nflakeid.etcd_endpoints = 'http://user:secret\@host'\n");
$node->start;
is( errors(),
	join("\n",
		'flakeid.guid_node|99999999999|postgresql.conf|A number must be from 0 to 4294967295.',
		'flakeid.etcd_endpoints|http://user:secret@host|postgresql.conf|An endpoint cannot contain'
		  . ' a user or password. Use "flakeid.etcd_user" and "flakeid.etcd_password_file".'),
	'after a start the view has refused values, also one that PostgreSQL hides from ordinary users'
);

configure('');
$node->reload;
$node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM flakeid_settings_errors')
  or die 'the line is still there';
is(errors(), '', 'without the line the view is empty');
$node->stop;

done_testing();
