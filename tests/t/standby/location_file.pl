# The file flakeid/location names no place if it is missing or damaged: then the state counts as
# moved. A server that cannot write it logs that once.
use strict;
use warnings;
use lib 'tests/perl';

use File::Path qw(remove_tree);
use JSON::PP;
use Moves;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = server('node');
$node->safe_psql('postgres', 'SELECT flake_next()');
my $file = $node->data_dir . '/flakeid/location';
my %contents = (
	'no file' => undef,
	'an empty file' => '',
	'another document' => '{"flakeid_location": 2, "host": "a", "data_directory": "b"}',
	'a file of another kind' => "\0\1\2\377",
	'a file that is too long' => '[' x 70_000);

for my $what (sort keys %contents) {
	subtest "$what names no place" => sub {
		reload_with($node, moved_state => 'error');
		$node->stop;
		unlink $file;
		append_to_file($file, $contents{$what}) if defined $contents{$what};
		my $end_of_log = -s $node->logfile;
		$node->start;
		like(
			error_of($node, 'SELECT flake_next()'),
			qr/${REFUSAL}DETAIL:  $NO_PLACE\nHINT:  Make sure that the server in that place/,
			"with flakeid.moved_state = 'error' the server generates no IDs");
		reload_with($node, moved_state => 'log');
		is(error_of($node, 'SELECT flake_next()'), '', 'by default the server generates IDs');
		my $line = "LOG:  flakeid's state was last written in another place\n";
		my $beside = 'If that server still runs, both generate the same IDs\.';
		like(
			substr(slurp_file($node->logfile), $end_of_log),
			qr/${line}DETAIL:  $NO_PLACE $beside\n/,
			'the log has that the place is unknown');
		has_place($node, 1, 'the server writes its own place');
	};
}

subtest 'flakeid 0.7 has written the file, without the WAL timeline' => sub {
	reload_with($node, moved_state => 'error');
	$node->stop;
	my $location = location_of($node);
	delete $location->{wal_timeline};
	unlink $file;
	append_to_file($file, JSON::PP->new->encode($location));
	# There is nothing to replay, and a new WAL timeline.
	append_to_file($node->data_dir . '/recovery.signal', '');
	$node->append_conf('postgresql.conf', "restore_command = 'false'\n");
	$node->start;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or die 'recovery does not end';
	is(error_of($node, 'SELECT flake_next()'),
		'', 'the server generates IDs in its place, on any WAL timeline');
	has_place($node, 2, 'it adds its WAL timeline to the file');
};

subtest 'the server cannot write the file' => sub {
	reload_with($node, moved_state => 'log');
	$node->stop;
	unlink $file;
	mkdir $file or die "no directory: $!";
	append_to_file("$file/in_the_way", '');
	$node->start;
	is(error_of($node, 'SELECT flake_next() FROM generate_series(1, 10)'), '', 'it generates IDs');
	my $failure = qr/could not rename file "flakeid\/location"/;
	$node->wait_for_log(qr/LOG:  flakeid $failure: /);
	is(scalar(() = slurp_file($node->logfile) =~ /$failure/g), 1, 'its log has this once');
	$node->stop;
};

done_testing();
