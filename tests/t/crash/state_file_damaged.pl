# A state file that is not what the server wrote: the server generates no IDs of any ID type, and
# says why, until the file is put right. The file is read again as long as it is invalid.
use strict;
use warnings;
use lib 'tests/perl';

use Answers;
use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my $node = flakeid_server('damaged', <<~'CONF');
	log_statement = none
	CONF
create_answers($node);
my $ledger = Ledger->new('damaged');
$ledger->use_all($node);
my $path = state_path($node);
$node->stop;
my $good = state_text($node);
my ($document) = $good =~ /\A(.*\n)crc32 /s;
put_state($node, '');
$node->start;
my $session = session($node);

# Returns the document with a change, and with the right checksum.
sub with {
	my ($from, $to) = @_;
	my $other = $document;
	$other =~ s/$from/$to/ or die "no $from in $document";
	return checksummed($other);
}

my $version = qr/"flakeid_state": 2/;
my ($until, $node_field, $worker) =
  (qr/"until": "[^"]*"/, qr/"guid_node": \d+/, qr/"worker": "\w+"/);
my $names = qr/$node_field,\s*$worker/;
my %damaged = (
	'something after it' => $good . "\n",
	'something before it' => "\n$good",
	'itself twice' => $good . $good,
	'line ends of another operating system' => $good =~ s/\n/\r\n/gr,
	'a checksum in upper case' => $good =~ s/(?<=crc32 )([0-9a-f]{8})/\U$1/r =~
	  s/(?<=crc32 )(\d{8})$/0x$1/mr,
	'no document' => checksummed(''),
	'no object' => checksummed("[]\n"),
	'two objects' => checksummed($document . $document),
	'an earlier version' => with($version, '"flakeid_state": 0'),
	'no version' => with(qr/$version,\s*/, ''),
	'a word for a number' => with($version, '"flakeid_state": "two"'),
	'the first version, with names' => with($version, '"flakeid_state": 1'),
	'no horizon' => with(qr/$until,\s*/, ''),
	'one timeline' => with(qr/("tick_tock_until": \[)\s*"[^"]*",/, '"tick_tock_until": ['),
	'a third timeline' => with(qr/"tick_tock": 0/, '"tick_tock": 2'),
	'a time before 1970' => with($until, '"until": "1969-12-31T23:59:59Z"'),
	'a time after 2554' => with($until, '"until": "2555-01-01T00:00:00Z"'),
	'no time' => with($until, '"until": "yesterday"'),
	'no names' => with(qr/$names,\s*/, ''),
	'names of null' => with($names, '"guid_node": null, "worker": null'),
	'no node' => with(qr/$node_field,\s*/, ''),
	'no worker' => with(qr/$worker,\s*/, ''));
my %node = (
	'of 33 bits' => '4294967296',
	'below 0' => '-1',
	'that is text' => '"7"',
	'that is no integer' => '7.5');
my %worker = (
	'of 11 digits' => '"02000000001"',
	'of 13 digits' => '"0200000000001"',
	'of no digits' => '""',
	'that is no number' => '"02000000000g"',
	'of zeros' => '"000000000000"',
	'of a group' => '"030000000001"',
	'with a sign' => '"+20000000001"',
	'in capitals' => '"02000000000F"',
	'that is a number' => '200000000001');
$damaged{"a node $_"} = with($node_field, qq{"guid_node": $node{$_}}) for keys %node;
$damaged{"a worker $_"} = with($worker, qq{"worker": $worker{$_}}) for keys %worker;

for my $place (0, length($document) / 2, length($document) + 7, length($good) - 1) {
	my $flipped = $good;
	substr($flipped, $place, 1) ^= "\x01";
	$damaged{"another bit in byte $place"} = $flipped;
	$damaged{"nothing from byte $place on"} = substr $good, 0, $place;
}

for my $what (sort keys %damaged) {
	put_state($node, $damaged{$what});
	is( answer_in($ledger, $session),
		'XX001 state file "flakeid/state" is damaged',
		"a state file with $what is damaged");
}
put_state($node, $damaged{'no horizon'});
my $remedy = qr/HINT:  .*flakeid_accept_clock\(\)/;
like(
	error_in($session, 'SELECT flake_next()'),
	qr/DETAIL:  The contents are not those of a state file\..*\n.*$remedy/,
	'the error of a damaged state file has the reason and the remedy');

# put right --------------------------------------------------------------------------------------

append_to_file("$path.good", $good);
is(error_in($session, <<~"SQL"), '', 'the file is read again, also within a statement');
	DO \$\$
	BEGIN
		BEGIN
			PERFORM flake_next();
			RAISE 'the damaged file was read';
		EXCEPTION WHEN data_corrupted THEN NULL;
		END;
		COPY (SELECT WHERE false) TO PROGRAM 'cp "$path.good" "$path"';
		PERFORM flake_next();
	END
	\$\$
	SQL
unlink "$path.good";
is( (grep { /^00000/ } answers_in($ledger, $session)),
	2 * @ID_TYPES,
	'with the good file all ID types generate IDs without a restart');
$ledger->use_all($node);

# The file is written when the lead is over.
put_state($node, '');
my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
until (-s $path) {
	die 'the state file is not written' if time() > $end;
	$ledger->use_all($node);
	sleep 0.05;
}
is(state_of($node)->{server},
	'running', 'a server that has read its file once does not read it again, and writes it again');
is($ledger->twice, '', 'no ID repeats');
$session->quit;
$node->stop;
done_testing();
