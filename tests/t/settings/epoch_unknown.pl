# The epoch of existing flakes or the epoch in force is unknown: the configuration is invalid, or
# has no line while the state cannot be read. The log has a line about each epoch that is another.
use strict;
use warnings;
use lib 'tests/perl';

use FlakeEpoch;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

# an invalid epoch -------------------------------------------------------------------------------

my $node = epoch_server('invalid');
$node->append_conf('postgresql.conf', "flakeid.epoch = 'yesterday'");
$node->restart;
my $invalid = qr/ERROR:  F0000: parameter "flakeid\.epoch" is invalid: "yesterday"/;
my @wrong = grep { error_of($node, "SELECT $_") !~ $invalid } @READS, 'flake_next()';
is("@wrong", '', 'with an invalid epoch at the start flakes are refused at each use');
is(error_of($node, "SELECT flake_timestamp(1, 'epoch')"),
	'', 'with an invalid epoch at the start flakes are read with the epoch as an argument');
reload_with($node, epoch => '2010-01-01');
is($node->safe_psql('postgres', 'SELECT flake_next() IS NOT NULL'),
	't', 'with a valid epoch flakes are generated after a reload');
$node->stop;

# a state that cannot be read --------------------------------------------------------------------

my $unknown = qr/ERROR:  55000: the epoch of existing flakes is unknown/;
my $reason = qr/"flakeid\.epoch" is not set, and the state cannot be read: .*state file/;
my $remedy = qr/Write the epoch of the existing flakes into postgresql\.conf.*Do not guess it/;
my %broken = (
	damaged => sub { put_state($node, state_text($node) =~ s/1/2/r) },
	missing => sub { unlink state_path($node) or die "no state: $!" },
	'a directory' => sub {
		unlink state_path($node);
		mkdir state_path($node) or die "no directory: $!";
	},
	$> == 0 ? () : (unreadable => sub { chmod 0, state_path($node) or die "no state: $!" }));
for my $how (sort keys %broken) {
	$node = epoch_server("broken_$how" =~ tr/ /_/r, '2020-01-01');
	my $id = $node->safe_psql('postgres', 'SELECT flake_next()');
	$node->stop;
	$broken{$how}->();
	remove_epoch($node);
	$node->start;
	@wrong = grep { error_of($node, "SELECT $_") !~ /$unknown\nDETAIL:  $reason.*\nHINT:  $remedy/ }
	  @READS;
	is("@wrong", '', "where the state is $how and the line is missing no flake is read")
	  or diag(error_of($node, "SELECT $wrong[0]"));
	my $is_lost = $how =~ /damaged|missing/;
	like(
		error_of($node, 'SELECT flakeid_accept_clock()'),
		$is_lost ? $unknown : qr/ERROR:  \w+: could not read/,
		"where the state is $how and the line is missing the clock cannot be accepted");
	reload_with($node, epoch => '2020-01-01');
	is( $node->safe_psql('postgres', <<~"SQL"),
		SELECT flake_timestamp($id) BETWEEN now() - interval '1 day' AND now()
		SQL
		't',
		"where the state is $how flakes are read with the line");
	if ($is_lost) {
		is(error_of($node, 'SELECT flakeid_accept_clock()'),
			'', "where the state is $how the clock can be accepted with the line");
		is( recorded($node),
			'2020-01-01T00:00:00.000000000Z',
			"where the state was $how it has the epoch again");
		$node->safe_psql('postgres', 'ALTER SYSTEM RESET flakeid.epoch');
		$node->restart;
		refuses($node, $UNSET, '2020-01-01', "where the state was $how, without the line,");
	}
	$node->stop;
}

# the log at a start -----------------------------------------------------------------------------

$node = epoch_server('logged', '2020-01-01');
$node->safe_psql('postgres', 'SELECT flake_next()');
$node->stop;
unlike(
	slurp_file($node->logfile),
	qr/epoch of existing flakes/,
	'the log has no line about the epoch if it is that of the flakes');
my $cannot = 'flakeid cannot generate or read flakes:';
my %lines = (
	'2015-01-01' => qr/LOG:  "flakeid\.epoch" is earlier than the epoch of existing flakes/,
	'2024-01-01' => qr/LOG:  $cannot $LATER/,
	'' => qr/LOG:  $cannot $UNSET/);
for my $epoch (sort keys %lines) {
	my $end_of_log = -s $node->logfile;
	remove_epoch($node);
	$node->append_conf('postgresql.conf', "flakeid.epoch = '$epoch'") if $epoch;
	$node->start;
	# The worker, or this session if it is first, opens the state.
	$node->psql('postgres', 'SELECT flake_timestamp(1), sno_next(0)');
	$node->safe_psql('postgres', 'SELECT sno_next(0)');
	ok($node->wait_for_log($lines{$epoch}, $end_of_log),
		'the log has a line at a start with ' . ($epoch ? "the epoch $epoch" : 'no epoch'));
	$node->stop;
}
is( recorded($node),
	'2020-01-01T00:00:00.000000000Z',
	'the state keeps the epoch until there is a flake');
done_testing();
