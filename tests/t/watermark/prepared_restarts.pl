# Prepared transactions hold the watermark where they held it before, through restarts and crashes.
# The watermark does not fall. A transaction that was only open does not hold it after that. This is
# so with a damaged file flakeid/watermark and in a folder that cannot be written, too.
use strict;
use warnings;
use lib 'tests/perl';

use Prepared;
use PostgreSQL::Test::Utils;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);
use Watermark;

my $server = Prepared->new('restarts');
sub watermark { return watermark_in($server->observer) }

# Several transactions hold the watermark in two lives, and then end one after the other.
sub outlive {
	my ($how) = @_;
	my @left;
	# Each transaction holds a later time than the one before.
	my $prepare_later = sub {
		my ($id_type, $gid, $end) = @_;
		clock_passes($server->observer, $left[-1]{time}) if @left;
		$gid = "$id_type->{name} $gid";
		push @left, { gid => $gid, end => $end, time => $server->prepare($gid, $id_type) };
	};
	for my $id_type ($FLAKE, $SNO) {
		$prepare_later->($id_type, "to $_", $_) for 'COMMIT', 'ROLLBACK';
	}
	my ($held, $view) = (watermark(), $server->held_by);
	is_held($server->observer, $left[0]{time}, 'the first transaction holds the watermark');
	for my $life (1, 2) {
		$server->restart($how);
		is_held($server->observer, $left[0]{time},
			"the first transaction holds the watermark after restart $life");
		my $now = watermark();
		cmp_ok($now, '>=', $held, "the watermark has not fallen after restart $life");
		like($server->held_by, qr/^\Q$left[0]{gid}|$now\E$/m,
			"the view says after restart $life that the first transaction holds the watermark");
		is($server->held_by, $view,
			"the view says after restart $life of each transaction what it said before");
	}
	$prepare_later->($_, 'later', 'COMMIT') for $FLAKE, $SNO;
	while (my $ended = shift @left) {
		$server->finish(@$ended{ 'gid', 'end' });
		is_held($server->observer, $left[0]{time},
			"the next transaction holds the watermark when '$ended->{gid}' has ended")
		  if @left;
		passes($server->observer, $ended->{time},
			"the watermark passes the ID of '$ended->{gid}' when that has ended");
	}
	return;
}

for my $how ('fast', 'immediate', 'kill') {
	subtest "$how: prepared transactions hold the watermark in two further lives" =>
	  sub { outlive($how) };

	$server->writer->query_safe('BEGIN');
	my $open = insert_into($server->writer, $FLAKE);
	my $held = watermark();
	$server->restart($how);
	passes($server->observer, $open,
		"$how: a transaction that was open does not hold the watermark after the restart");
	cmp_ok(watermark(), '>=', $held, "$how: the watermark has not fallen after the restart");

	$server->prepare('ended');
	$server->finish('ended');
	my $time = $server->prepare('last');
	$server->restart($how);
	is_held($server->observer, $time,
		"$how: a transaction that was prepared right before the end holds the watermark");
	like($server->held_by, qr/\Alast\|\d+\z/,
		"$how: a transaction that ended right before the end is not in the view");
	$server->finish('last', 'ROLLBACK');
	passes($server->observer, $time, "$how: the watermark goes on when the last one has ended");
}

# The commit is durable or it is not. The watermark is right in both cases.
for my $round (1 .. 5) {
	my $time = $server->prepare('crashed');
	$server->other->query_until(qr/begun/, "\\echo begun\nCOMMIT PREPARED 'crashed';\n");
	$server->restart('kill');
	if ($server->observer->query_safe('SELECT count(*) FROM pg_prepared_xacts')) {
		is_held($server->observer, $time,
			"a crash before COMMIT PREPARED (round $round): the transaction holds the watermark");
		$server->finish('crashed');
	}
	passes($server->observer, $time,
		"a crash beside COMMIT PREPARED (round $round): the watermark passes at the end");
}

# PostgreSQL keeps what holds the watermark. The file flakeid/watermark only says that a watermark
# was reported: no damage to it changes the watermark.
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

# In a folder that cannot be written no watermark past the horizon is reported. A transaction can be
# prepared there.
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
