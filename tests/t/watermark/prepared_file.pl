# PostgreSQL keeps what holds the watermark. The file flakeid/watermark only says that a watermark
# was reported: no damage to it changes the watermark. In a folder that cannot be written no
# watermark past the horizon is reported.
use strict;
use warnings;
use lib 'tests/perl';

use Prepared;
use PostgreSQL::Test::Utils;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);
use Watermark;

my $server = Prepared->new('file');
watermark_in($server->observer);
my $file = $server->file;
my $intact = slurp_file($file);
my %damaged = (
	'missing' => undef,
	'empty' => '',
	'cut' => substr($intact, 0, length($intact) - 1),
	'garbage' => "\0" x length $intact);

for my $what (sort keys %damaged) {
	for my $how ('fast', 'kill') {
		my $test = "$what file, $how";
		my $first = $server->prepare('first');
		$server->observer->query_safe('CHECKPOINT');
		my $second = $server->prepare('second');
		my ($held, $view) = (watermark_in($server->observer), $server->held_by);
		$server->stop($how);
		unlink $file or die 'there is no file';
		if (defined $damaged{$what}) {
			append_to_file($file, $damaged{$what});
			chmod 0600, $file;
		}
		$server->start;
		my $observer = $server->observer;
		is(watermark_in($observer), $held, "$test: the watermark is held where it was");
		is($server->held_by, $view, "$test: the view says of each transaction what it said before");
		is(slurp_file($file), $intact, "$test: the server has replaced the file");
		$server->finish('first');
		is_held($observer, $second,
			"$test: the second transaction holds the watermark when the first has ended");
		$server->finish('second');
		passes($observer, $second, "$test: the watermark goes on when the second has ended");
	}
}

# A transaction can be prepared there.
my $directory = $server->node->data_dir . '/flakeid';
my ($writer, $observer) = ($server->writer, $server->observer);
passes($observer, clock_in($observer), 'the watermark goes on before the folder is read-only');
$writer->query_safe('BEGIN');
my $time = insert_into($writer, $FLAKE);
chmod 0500, $directory or die 'could not change the mode';
$writer->query_safe("PREPARE TRANSACTION 'unwritten'");
my ($reported, $until) = (0, time() + $PostgreSQL::Test::Utils::timeout_default);
my $refusal;

for (my $from = clock_in($observer); !$refusal && clock_in($observer) < $from + 3_000_000;) {
	die 'the clock does not go on' if time() > $until;
	my $answer = $observer->query("SELECT $WATERMARK");
	$reported = $answer if $answer ne '';
	$refusal = $observer->{stderr} if $observer->{stderr} ne '';
	$observer->{stderr} = '';
	sleep 0.02;
}
cmp_ok(
	$reported * 1000,
	'<=',
	until_of(state_of($server->node)),
	'where the folder is read-only no watermark past the horizon is reported');
like(
	$refusal,
	qr/ERROR:  42501: could not create state file "flakeid\/state": Permission denied/,
	'where the folder is read-only a watermark past the horizon is an error') if defined $refusal;
cmp_ok($reported, '<=', $time,
	'where the folder is read-only no watermark past what is prepared is reported');
$server->stop('kill');
chmod 0700, $directory or die 'could not change the mode';
$server->start;
is_held($server->observer, $time,
	'what was prepared where the folder is read-only holds the watermark after a crash');
$server->finish('unwritten');
passes($server->observer, $time, 'the watermark goes on when that transaction has ended');
$server->stop('fast');

done_testing();
