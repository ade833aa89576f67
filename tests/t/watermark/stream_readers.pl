# Readers of streams, beside writers that commit late, roll back and prepare: each reader reads
# exactly the committed rows of its table, in order, each once, with the watermark of a stream. A
# transaction holds the watermark of all IDs back all the time.
#
# FLAKEID_WATERMARK_MINUTES says how long the writers go on, at least, in each of the two runs.
# Without it they go on until each of them and each reader has done enough. FLAKEID_SEED decides
# what the writers do. TEST_FILE_TIMEOUT has to be above the minutes of both runs.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Crowd;
use FakedClock;
use Server;
use StreamClients;
use Test::More;
use Watermark;

my $seed = $ENV{FLAKEID_SEED} || int(rand 1_000_000);
note "FLAKEID_SEED=$seed";

sub start_server {
	my ($name) = @_;
	my $clock = FakedClock->new($name, <<~'END');
		log_statement = none
		max_connections = 40
		max_prepared_transactions = 40
		flakeid.max_clock_wait = '10min'
		flakeid.streams = 'audit, events'
		END
	$clock->start;
	StreamClients::create_tables($clock->node);
	return $clock;
}

# Runs writers and readers, with the clock stepped in between by this function.
sub readers_read_all {
	my ($node, $step) = @_;
	# This transaction has no ID of any stream that is read.
	my $holder = session($node);
	$holder->query_safe('BEGIN; SELECT flake128_next()');
	my $held = watermark_in($holder);
	my $clients = StreamClients->start($node, $seed);
	$clients->work($step);
	$clients->stop;
	# It is lower now only if the clock has stepped back and a session has lowered it.
	my $observer = session($node);
	cmp_ok(watermark_in($observer),
		'<=', $held, 'all the time a transaction has held the watermark of all IDs');
	$holder->query_safe('COMMIT');
	$_->quit for $observer, $holder;

	is($clients->unexpected, '', 'the writers had the errors that they had to expect');
	for my $number (0 .. $#StreamClients::READS) {
		my ($table, $stream) = @{ $StreamClients::READS[$number] }{ 'table', 'stream' };
		my @rows = split /\n/, $node->safe_psql('postgres', "SELECT id FROM $table ORDER BY id");
		for my $way (0 .. $#StreamClients::WAYS) {
			my @read = $clients->rows_read($way, $number);
			ok( "@read" eq "@rows",
				"by $StreamClients::WAYS[$way] a reader reads the rows of $table"
				  . " in order, each once, with the watermark of $stream"
			) or diag(first_difference(\@read, \@rows));
		}
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_flakeid_watermark'),
		'0', 'at the end nothing holds a watermark back');
	$node->stop;
	return;
}

my $steady = start_server('steady');
subtest 'readers read all rows while the clock goes on' => sub { readers_read_all($steady->node) };

# Sessions wait for this clock.
my $stepped = start_server('stepped');
my $offset = 0;
my $step = sub { $stepped->step($offset += pick(-0.3, -0.1, -0.02, 0.05, 0.3, 1)) };
subtest 'readers read all rows while the clock steps forward and back' =>
  sub { readers_read_all($stepped->node, $step) };

done_testing();
