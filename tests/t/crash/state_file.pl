# The state file: what it says, what happens where it is not what the server wrote, and where it cannot be
# written. Without a good one there are no IDs.
use strict;
use warnings;
use lib 'tests/perl';

use FaultyDisk;
use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my $second = 1_000_000_000;    # nanoseconds
my ($node, $ledger, $text);

# A server with these settings, and a function that says what asking each ID type for an ID comes to: the
# SQLSTATE and message of the error, or 00000 and the ID. It writes nothing.
sub begin {
	my ($name, $configuration) = @_;
	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = 'flakeid'\nlog_statement = none\nflakeid.epoch = '2010-01-01'\n$configuration"
	);
	$node->start;
	$ledger = Ledger->new($name);
	my $asks = join ', ', map { ("'$_->{next}'", "'" . sprintf($_->{batch}, 1) . "'") } @ID_TYPES;
	$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION flakeid;
CREATE FUNCTION answers() RETURNS SETOF text LANGUAGE plpgsql AS \$\$
DECLARE
	ask text;
	id text;
BEGIN
	FOREACH ask IN ARRAY ARRAY[$asks] LOOP
		BEGIN
			EXECUTE 'SELECT ' || ask INTO id;
			RETURN NEXT '00000 ' || ask || ' gave ' || id;
		EXCEPTION WHEN OTHERS THEN
			RETURN NEXT SQLSTATE || ' ' || SQLERRM;
		END;
	END LOOP;
END
\$\$;
SQL
	return;
}

my $asks = 2 * @ID_TYPES;

# What a session is told, by one ID type after the other; what it is given is entered.
sub answers_in {
	my ($session) = @_;
	my $answers = $session->query_safe('SELECT * FROM answers()');
	my @given = $answers =~ /^00000 (\w+?)_next.* gave (.*)/mg;
	$ledger->enter(join "\n", map { "$given[2 * $_]\t$given[2 * $_ + 1]" } 0 .. @given / 2 - 1);
	return split /\n/, $answers;
}

# The same where it should be the same everywhere.
sub answer_in {
	my ($session) = @_;
	my %answers = map { $_ => 1 } answers_in($session);
	return join "\n", sort keys %answers;
}

# Asks every ID type for ten IDs, each in a transaction of its own of one session, and enters what they give. Returns by
# each ID type's name its error, which is empty where there is no error, and its IDs.
sub given_by_each {
	my ($given, $error, $late) = ('', '', 0);
	my $longest = $PostgreSQL::Test::Utils::timeout_default;
	my @asked = map {
		my $call = sprintf $_->{batch}, 10;
		"\\warn >>>$_->{name}\nCOPY (SELECT '$_->{name}', $call) TO STDOUT;\n"
	} @ID_TYPES;
	$node->psql(
		'postgres', join('', "\\set VERBOSITY verbose\n", @asked),
		stdout => \$given,
		stderr => \$error,
		on_error_stop => 0,
		timeout => $longest,
		timed_out => \$late);
	die "no answer within $longest s: $error" if $late;
	$ledger->enter($given);
	my %answers = "$error\n" =~ /^>>>(\w+)\n(.*?)(?=^>>>|\z)/gms;
	my @left_out = grep { !defined $answers{ $_->{name} } } @ID_TYPES;
	die "not all ID types were asked: $error" if @left_out;
	return map {
		my $name = $_->{name};
		($name => [ $answers{$name} =~ s/\s+\z//r, $given =~ /^$name\t(\S+)/mg ])
	} @ID_TYPES;
}

# Asks every ID type and enters what it gives; dies where that is nothing.
sub give {
	my %given = given_by_each();
	for my $name (map { $_->{name} } @ID_TYPES) {
		my ($error, @ids) = @{ $given{$name} };
		die "no $name IDs: $error" if $error ne '' || !@ids;
	}
	return;
}

# what it says ---------------------------------------------------------------------------------------------------

# A lead that is long enough for no second write to come in between.
begin('state', "restart_after_crash = on\nflakeid.horizon_lead = '10min'\n");
my $begin = int(time() * 1_000_000) * 1000;
give();
my $end = int(time() * 1_000_000 + 1) * 1000;
my $path = state_path($node);
my $state = state_of($node);
is(sprintf('%o', (stat $path)[2] & 07777), '600', 'the state file is for the server alone');
is(sprintf('%o', (stat $node->data_dir . '/flakeid')[2] & 07777),
	'700', '... and so is its directory');
is( join(' ', sort keys %$state),
	'epochs flakeid_state guid_node server since system_identifier tick_tock tick_tock_until until worker written',
	'it says what is documented');
is($state->{flakeid_state}, 2, '... in which version');
my $identifier = $node->safe_psql('postgres', 'SELECT system_identifier FROM pg_control_system()');
is($state->{system_identifier}, $identifier, '... of which cluster');
my $written = moment($state->{written});
ok($written >= $begin && $written <= $end, '... when it was written');
my $first = moment($state->{until});
ok($first >= $begin + 600 * $second && $first <= $end + 600 * $second,
	'... until when there may be IDs: for the lead');
my $since = moment($state->{since});
ok($since >= $begin && $since <= $written, '... what the clock has shown since');
is($state->{tick_tock}, 0, '... in which timeline those are that have two');
is(moment($state->{tick_tock_until}[0]), $first, '... until when in that');
cmp_ok(moment($state->{tick_tock_until}[1]), '<=', $end, '... and in the other');
is($state->{epochs}{flake}, '2010-01-01T00:00:00.000000000Z', '... from when on flake counts');
ok($state->{guid_node} =~ /^\d+$/ && $state->{guid_node} < 2**32, '... a node for guids')
  or diag($state->{guid_node});
like(
	$state->{worker},
	qr/\A[0-9a-f][26ae][0-9a-f]{10}\z/,
	'... and a worker for flake128s, which is neither an address of a vendor nor of a group');
is( join(' ', sort keys %{ $state->{epochs} }),
	join(' ', sort map { $_->{name} } @ID_TYPES),
	'... and every ID type that was asked');
ok($state->{server} eq 'running', '... and that the server goes on');
my @lines = split /\n/, state_text($node);
ok((grep { /^  "until": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z",$/ } @lines) == 1,
	'a person can read it');
ok(!(grep { length > 80 } @lines), '... on any screen');
my $length = length state_text($node);
$node->stop;
$state = state_of($node);
ok($state->{server} eq 'stopped', 'after a stop it says so');
is(length state_text($node), $length, '... in as many characters, lest a backup cut it');
cmp_ok(until_of($state), '<', $end, '... and has the last ID\'s time');

# not what was written -----------------------------------------------------------------------------------------------

# The file is read when the first asks, and again as long as it is invalid. So a server that once
# refused can be given one bad file after the other.
my $good = state_text($node);
my ($document) = $good =~ /\A(.*\n)crc32 /s;
put_state($node, '');
$node->adjust_conf('postgresql.conf', 'flakeid.horizon_lead', "'1s'");
$node->start;
my $session = session($node);

my $damaged = qr/\AXX001 state file "flakeid\/state" is damaged\z/;

# The server writes such a file over the one that is there, which keeps its mode. So no file costs a round trip.
$session->query_safe(<<'SQL');
CREATE FUNCTION answer_with(contents bytea, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	large oid := lo_from_bytea(0, contents);
BEGIN
	PERFORM lo_export(large, path), lo_unlink(large);
	IF pg_read_binary_file(path) IS DISTINCT FROM contents THEN
		RETURN 'the file was not written';
	END IF;
	RETURN (SELECT string_agg(DISTINCT answer, '; ') FROM answers() AS answer);
END
$$
SQL

# Documents with the right checksum.
sub with {
	my ($from, $to) = @_;
	my $other = $document;
	$other =~ s/$from/$to/ or die "no $from in $document";
	return checksummed($other);
}

my $newer = with(qr/"flakeid_state": 2/, '"flakeid_state": 3');
my $foreign = with(qr/"system_identifier": "\d+"/, '"system_identifier": "4711"');

# Puts many files in place by one statement, one after the other. This SELECT makes a name and the contents of each from
# the good file. Returns how many there were, and what is said with those that are not damaged. The last file is from
# another cluster, and the server says so: it reads each file again, also within a statement.
sub not_damaged {
	chomp(my $files = shift);
	my ($of_good, $of_foreign) = map { "'\\x" . unpack('H*', $_) . "'::bytea" } $good, $foreign;
	my ($last, $number, @others) = split /\n/, $session->query_safe(<<"SQL");
WITH good (file) AS (VALUES ($of_good)),
	files AS ($files UNION ALL SELECT 'last', $of_foreign),
	answers AS MATERIALIZED (SELECT name, answer_with(contents, '$path') AS answer FROM files)
SELECT string_agg(answer, '') FROM answers WHERE name = 'last'
UNION ALL SELECT count(*)::text FROM answers WHERE name <> 'last'
UNION ALL SELECT name || ': ' || coalesce(answer, 'none') FROM answers
	WHERE name <> 'last' AND answer IS DISTINCT FROM 'XX001 state file "flakeid/state" is damaged'
SQL
	like(
		$last,
		qr/\A55000 state file "flakeid\/state" is from a different cluster\z/,
		'each file is read again');
	return ($number, join "\n", @others);
}

my ($cuts, $wrong) = not_damaged(<<'SQL');
SELECT cut::text AS name, substr(file, 1, cut) AS contents FROM good, generate_series(0, length(file) - 1) AS cut
SQL
is($wrong, '', 'cut off anywhere it is damaged: no IDs of any ID type');
is($cuts, length $good, '... anywhere');

# Every bit at both ends, and one bit of every other byte.
(my $flips, $wrong) = not_damaged(<<'SQL');
SELECT format('%s, %s', place, bit) AS name, set_byte(file, place, get_byte(file, place) # (1 << bit)) AS contents
	FROM good, generate_series(0, length(file) - 1) AS place, generate_series(0, 7) AS bit
	WHERE place < 24 OR place >= length(file) - 24 OR bit = place % 8
SQL
is($wrong, '', "with any bit flipped of $flips it is damaged: no IDs of any ID type");
is($flips, 2 * 24 * 8 + length($good) - 2 * 24, '... and so many were');

my %damaged = (
	'something after it' => $good . "\n",
	'something before it' => "\n$good",
	'twice' => $good . $good,
	'line ends of another operating system' => $good =~ s/\n/\r\n/gr,
	'a checksum in upper case' => $good =~ s/(?<=crc32 )([0-9a-f]{8})/\U$1/r =~
	  s/(?<=crc32 )(\d{8})$/0x$1/mr,
	'no document' => checksummed(''),
	'no object' => checksummed("[]\n"),
	'two objects' => checksummed($document . $document),
	'an earlier version' => with(qr/"flakeid_state": 2/, '"flakeid_state": 0'),
	'no version' => with(qr/"flakeid_state": 2,\s*/, ''),
	'an unknown field' => with(qr/"until"/, '"unknown": 1, "until"'),
	'no horizon' => with(qr/"until": "[^"]*",\s*/, ''),
	'one timeline' => with(qr/("tick_tock_until": \[)\s*"[^"]*",/, '"tick_tock_until": ['),
	'a third timeline' => with(qr/"tick_tock": 0/, '"tick_tock": 2'),
	'a time before 1970' => with(qr/"until": "[^"]*"/, '"until": "1969-12-31T23:59:59Z"'),
	'a time after 2554' => with(qr/"until": "[^"]*"/, '"until": "2555-01-01T00:00:00Z"'),
	'no time' => with(qr/"until": "[^"]*"/, '"until": "yesterday"'),
	'an unknown ID type' => with(qr/"flake":/, '"snowball":'),
	'a word for a number' => with(qr/"flakeid_state": 2/, '"flakeid_state": "two"'),
	'no names' => with(qr/"guid_node": \d+,\s*"worker": "\w+",\s*/, ''),
	'names of null' =>
	  with(qr/"guid_node": \d+,\s*"worker": "\w+"/, '"guid_node": null, "worker": null'),
	'no node' => with(qr/"guid_node": \d+,\s*/, ''),
	'no worker' => with(qr/"worker": "\w+",\s*/, ''),
	'a node of 33 bits' => with(qr/"guid_node": \d+/, '"guid_node": 4294967296'),
	'a node below 0' => with(qr/"guid_node": \d+/, '"guid_node": -1'),
	'a node that is text' => with(qr/"guid_node": (\d+)/, '"guid_node": "7"'),
	'a node that is no integer' => with(qr/"guid_node": (\d+)/, '"guid_node": 7.5'),
	'a worker of 11 digits' => with(qr/"worker": "\w+"/, '"worker": "02000000001"'),
	'a worker of 13 digits' => with(qr/"worker": "\w+"/, '"worker": "0200000000001"'),
	'a worker of no digits' => with(qr/"worker": "\w+"/, '"worker": ""'),
	'a worker that is no number' => with(qr/"worker": "\w+"/, '"worker": "02000000000g"'),
	'a worker of zeros' => with(qr/"worker": "\w+"/, '"worker": "000000000000"'),
	'a worker of a group' => with(qr/"worker": "\w+"/, '"worker": "030000000001"'),
	'a worker with a sign' => with(qr/"worker": "\w+"/, '"worker": "+20000000001"'),
	'a worker in capitals' => with(qr/"worker": "\w+"/, '"worker": "02000000000F"'),
	'a worker that is a number' => with(qr/"worker": "\w+"/, '"worker": 200000000001'),
	'the first version, with names' => with(qr/"flakeid_state": 2/, '"flakeid_state": 1'),);
for my $what (sort keys %damaged) {
	put_state($node, $damaged{$what});
	like(answer_in($session), $damaged, "$what: damaged");
}
put_state($node, $damaged{'no horizon'});
like(
	error_in($session, 'SELECT flake_next()'),
	qr/DETAIL:  The contents are not those of a state file\..*\n.*HINT:  .*flakeid_accept_clock\(\)/,
	'... with the reason and the remedy');

my $directory = $node->data_dir . '/flakeid';

# Makes something else of the file, or of its directory; what is said then; and what undoes it beyond
# putting another file in its place.
my $name = qr/state file "flakeid\/state"/;
my %other = (
	'of a later version' => [
		sub { put_state($node, $newer) },
		'55000', qr/$name has version 3, which this flakeid cannot read/
	],
	'of another cluster' =>
	  [ sub { put_state($node, $foreign) }, '55000', qr/$name is from a different cluster/ ],
	'empty' => [ sub { put_state($node, '') }, 'XX001', qr/$name is damaged/ ],
	'missing' => [ sub { unlink $path }, '58P01', qr/$name is missing/ ],
	'a link to nowhere' => [
		sub { unlink $path; symlink 'nowhere', $path },
		'58030',
		qr/could not read $name: it is a symbolic link/
	],
	'a directory' => [
		sub { unlink $path; mkdir $path },
		'58030',
		qr/could not read $name: Is a directory/,
		sub { rmdir $path }
	],
	'unreadable' => [
		sub { put_state($node, $good); chmod 0, $path },
		'42501',
		qr/could not read $name: Permission denied/
	],
	'in an unreadable directory' => [
		sub { put_state($node, $good); chmod 0, $directory },
		'42501',
		qr/could not read $name: Permission denied/,
		sub { chmod 0700, $directory }
	],
	'in a directory that is a file' => [
		sub { rename $directory, "$directory.aside"; append_to_file($directory, '') },
		'58030',
		qr/could not read $name: Not a directory/,
		sub { unlink $directory; rename "$directory.aside", $directory }
	],);
for my $what (sort keys %other) {
	my ($make, $code, $message, $undo) = @{ $other{$what} };
	$make->();
	like(
		answer_in($session),
		qr/\A$code $message/,
		"$what: no IDs of any ID type, and the error says why");
	$undo->() if $undo;
	put_state($node, '');
	like(answer_in($session), $damaged, '... and what was there before does not help');
}
put_state($node, $foreign);
like(
	error_in($session, 'SELECT sno_next()'),
	qr/DETAIL:  The file has the system identifier 4711, and this server has $state->{system_identifier}\./,
	'another cluster\'s is named');
is( $session->query_safe(
			"SELECT flake_timestamp(flake_min('2026-01-01')) = '2026-01-01',"
		  . " (sno_decode(sno_min('2026-01-01'))).meta"),
	't|0',
	'IDs are decoded all the same');

put_state($node, $good);
is((grep { /^00000/ } answers_in($session)), $asks, 'put right, IDs go on without a restart');
give();
is($ledger->twice, '', '... and none repeats');

# Once read, it is not read again. It is written when the lead is over.
put_state($node, '');
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
until (-s $path) {
	die 'the state file is not written' if time() > $until;
	give();
	sleep 0.05;
}
ok(state_of($node)->{server} eq 'running',
	'while the server goes on it needs no file, and writes it again');
$session->quit;

# An error is in the log at start.
for my $what ('of a later version', 'missing', 'a directory', 'unreadable', 'of another cluster') {
	my ($make, $code, $message, $undo) = @{ $other{$what} };
	$node->stop;
	$good = state_text($node);
	$make->();
	my $end_of_log = -s $node->logfile;
	$node->start;
	ok($node->wait_for_log(qr/LOG:  flakeid cannot generate IDs: $message/, $end_of_log),
		"$what at start: it is in the log");
	$undo->() if $undo;
	put_state($node, $good);
	give();
}
is($ledger->twice, '', '... and when it is put right no ID repeats');

# of the first version -----------------------------------------------------------------------------------------------

# It had no names. They are chosen when it is next written.
sub names_in {
	my ($node) = @_;
	return join ' ', @{ state_of($node) }{ 'guid_node', 'worker' };
}

# What IDs have: guid's node, and flake128's worker if it is the kept one.
my $kept_worker = !grep { -e "$_/device" && slurp_file("$_/type") == 1 } glob '/sys/class/net/*';

sub names_of_ids {
	my ($node) = @_;
	my ($guid_node, $worker) = split /\|/,
	  $node->safe_psql('postgres',
		q{SELECT (guid_decode(guid_next())).node, replace((flake128_decode(flake128_next())).worker::text, ':', '')}
	  );
	return join ' ', $guid_node, $kept_worker ? $worker : state_of($node)->{worker};
}

my $names = names_in($node);
is(names_of_ids($node), $names, 'IDs have the names in the state file');
for my $stopped (1, 0) {
	$node->stop;
	$state = state_of($node);
	rewrite_state(
		$node,
		sub {
			my ($state) = @_;
			$state->{flakeid_state} = 1;
			$state->{server} = 'running' unless $stopped;
			delete @$state{ 'guid_node', 'worker' };
			delete @{ $state->{epochs} }{ 'flake128', 'guid', 'uniqueid' };
		});
	my $test = 'a state file of the first version, of a server that '
	  . ($stopped ? 'was stopped' : 'went on');
	$node->start;
	my %given = given_by_each();
	for my $id_type (@ID_TYPES) {
		my ($error, @ids) = @{ $given{ $id_type->{name} } };
		is($error, '', "$test: there are $id_type->{name} IDs") or next;
		cmp_ok(
			(times_of($node, $id_type, @ids))[0],
			'>=',
			horizon_of($state, $id_type, 0),
			'... above its horizon');
	}
	is(state_of($node)->{flakeid_state}, 2, '... it is one of this version then');
	isnt(names_in($node), $names, '... with names that are new');
	$names = names_in($node);
	is(names_of_ids($node), $names, '... which the IDs have');
}
for my $event ('restart', 'reload', 'crash', 'immediate stop') {
	if ($event eq 'reload') {
		reload_with($node, horizon_lead => '2s');
	}
	elsif ($event eq 'crash') {
		my $end_of_log = -s $node->logfile;
		kill 'KILL',
		  $node->safe_psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'");
		$node->wait_for_log(qr/database system is ready to accept connections/, $end_of_log);
		wait_for_server($node);
	}
	else {
		$node->stop($event eq 'restart' ? 'fast' : 'immediate');
		$node->start;
	}
	give();
	is(names_of_ids($node), $names, "after a $event the names are the same");
	is(names_in($node), $names, '... in the state file, too');
}
is($ledger->twice, '', '... and no ID repeats');

# accepted ---------------------------------------------------------------------------------------------------------

for my $what ('missing', 'empty', 'of another cluster') {
	my ($make, $code, $message, $undo) = @{ $other{$what} };
	$node->stop;
	# The other cluster's IDs go up to a moment from now.
	my $begin = int(time() * 1000) * 1_000_000;
	my $ahead = $begin + 2 * $second;
	rewrite_state(
		$node,
		sub {
			my ($state) = @_;
			$state->{system_identifier} = '4711';
			$state->{until} = instant($ahead);
			$state->{tick_tock_until} = [ instant($ahead), instant($ahead) ];
		});
	$foreign = state_text($node);
	$make->();
	$node->start;
	like(error_of($node, "SELECT $_->{next}"), qr/ERROR:  $code: $message/, "$what: no $_->{name}")
	  for @ID_TYPES;
	is(error_of($node, 'SELECT flakeid_accept_clock()'), '', '... which a superuser can accept');
	is(state_of($node)->{system_identifier},
		$identifier, '... and has a state file of this cluster');
	my %given = given_by_each();
	for my $id_type (@ID_TYPES) {
		my ($error, @ids) = @{ $given{ $id_type->{name} } };
		is($error, '', "... and $id_type->{name} begins") or next;
		cmp_ok(
			(times_of($node, $id_type, @ids))[0],
			'>=',
			$what eq 'of another cluster' ? $ahead : $begin - $id_type->{tick},
			'... after all that is known');
	}
	like(
		error_of($node, 'SELECT flakeid_accept_clock()'),
		qr/NOTICE:  .*there is nothing to accept/,
		'... once');
}
for my $what ('of a later version', 'a directory', 'unreadable') {
	my ($make, $code, $message, $undo) = @{ $other{$what} };
	$node->stop;
	$good = state_text($node);
	$make->();
	$node->start;
	like(
		error_of($node, 'SELECT flakeid_accept_clock()'),
		qr/ERROR:  $code: $message/,
		"$what: that cannot be accepted, for the reason why there are no IDs");
	like(
		error_of($node, "SELECT $_->{next}"),
		qr/ERROR:  $code: $message/,
		"... and there is no $_->{name}") for @ID_TYPES;
	$undo->() if $undo;
	put_state($node, $good);
	give();
}
is($ledger->twice, '', '... and no ID repeats');
$node->stop;

# cannot be written ----------------------------------------------------------------------------------------------------

my $disk = FaultyDisk->new;
{
	local %ENV = (%ENV, $disk->environment);
	begin('full', "flakeid.horizon_lead = '200ms'\n");
}
($path, $directory) = (state_path($node), $node->data_dir . '/flakeid');
give();
$session = session($node);
my $pid = $session->query_safe('SELECT pg_backend_pid()');

my %unwritable = (
	'a directory that is read-only' => [
		sub { chmod 0500, $directory },
		'42501',
		qr/could not create state file "flakeid\/state": Permission denied/,
		sub { chmod 0700, $directory }
	],
	'a full disk' => [
		sub { $disk->becomes('full') },
		'53100',
		qr/could not write state file "flakeid\/state": No space left on device/,
		sub { $disk->ends('full') }
	],
	'something else in its place' => [
		sub { mkdir "$path.new" },
		'58030',
		qr/could not create state file "flakeid\/state": Is a directory/,
		sub { rmdir "$path.new" }
	],
	'a limit to the size of files' => [
		sub { limit(100) },
		'58030',
		qr/could not write state file "flakeid\/state": File too large/,
		sub { limit('unlimited') }
	],);

# How large the files may be that the session writes.
sub limit {
	my ($bytes) = @_;
	return system('prlimit', '--pid', $pid, "--fsize=$bytes:") == 0 || die 'no prlimit';
}

delete $unwritable{'a limit to the size of files'}
  if system('prlimit --pid $$ >/dev/null 2>&1') != 0;
for my $what (sort keys %unwritable) {
	my ($make, $code, $message, $undo) = @{ $unwritable{$what} };
	$text = state_text($node);
	my $until = until_of(state_of($node));
	my $failures = $node->safe_psql('postgres', 'SELECT failures FROM pg_stat_flakeid_horizon');
	my ($reason) = "$message" =~ /: ([\w ]+)\)\z/;
	$make->();
	my $last = time() + $PostgreSQL::Test::Utils::timeout_default;
	my (@answers, %made);
	do {
		@answers = answers_in($session);
		/^00000 (\w+?)_next.* gave (.*)/ && push @{ $made{$1} }, $2 for @answers;
	} while (time() < $last && grep { /^00000/ } @answers);
	is((grep { /^$code $message/ } @answers),
		$asks,
		"$what: when the gate is met there are no IDs of any ID type, and the error says why")
	  or diag(join "\n", @answers);
	like(
		error_in($session, 'SELECT flake_next()'),
		qr/HINT:  Free space on the file system of the data directory\./,
		'... with a hint') if $code eq '53100';
	is(state_text($node), $text, '... and the file is the old one');
	is( $node->safe_psql(
			'postgres',
			"SELECT failures >= $failures + $asks, failed_at BETWEEN written_at AND clock_timestamp(), last_failure FROM pg_stat_flakeid_horizon"
		),
		"t|t|$reason",
		'... and the failures are counted');
	$undo->();
	for my $id_type (grep { $made{ $_->{name} } } @ID_TYPES) {
		cmp_ok((times_of($node, $id_type, @{ $made{ $id_type->{name} } }))[1],
			'<', $until, "... and what there was of $id_type->{name} is not beyond it");
	}
	is((grep { /^00000/ } answers_in($session)), $asks, 'that corrected, there are IDs again');
	isnt(state_text($node), $text, '... and the file is a new one');
	ok(!-e "$path.new", '... with nothing left over');
}
is($ledger->twice, '', '... and no ID repeats');
$session->quit;

# A stop that cannot write leaves the horizon where it was.
chmod 0500, $directory;
my $end_of_log = -s $node->logfile;
$node->stop;
chmod 0700, $directory;
like(
	slurp_file($node->logfile, $end_of_log),
	qr/LOG:  flakeid could not write its last horizon: could not create state file "flakeid\/state": Permission denied/,
	'a stop that cannot write the state says so in the log');
ok(state_of($node)->{server} eq 'running', '... and the horizon is as after a crash');
$node->start;
give();
is($ledger->twice, '', '... with no ID twice');

# left over ----------------------------------------------------------------------------------------------------

$node->stop;
append_to_file("$path.new", substr $good, 0, 100);
$node->start;
give();
ok(!-e "$path.new", 'a new state file that was left half written is written over');
$node->stop;

begin('left_over', '');
my $new = $node->data_dir . '/flakeid.new';
append_to_file($new, '');
$path = state_path($node);
like(
	error_of($node, "SELECT $_->{next}"),
	qr/ERROR:  58030: could not create state file "flakeid\/state": Not a directory/,
	"where the first state cannot be written there is no $_->{name}") for @ID_TYPES;
ok(!-e $node->data_dir . '/flakeid', '... nor a state');
is( $node->safe_psql(
		'postgres',
		'SELECT writes, written_at, failures > 0, last_failure FROM pg_stat_flakeid_horizon'),
	'0||t|Not a directory',
	'... and the failures are counted, also before there is any ID');
unlink $new;
mkdir $new;
append_to_file("$new/state.new", 'half of');
append_to_file("$new/state", 'what was to be');
give();
ok(!-e $new, '... and a directory is used that had not come into being yet');
is(state_of($node)->{flakeid_state}, 2, '... with a good file');
give();
$node->stop;

# where it is ----------------------------------------------------------------------------------------------------

# The same data directory by a name that is no UTF-8.
my $link = PostgreSQL::Test::Utils::tempdir('name') . "/d\xe9ta";
symlink $node->data_dir, $link or die "could not make a link: $!";
$text = state_text($node);
system_or_bail('pg_ctl', '-w', '-D', $link, '-l', $node->logfile, 'start');
$node->_update_pid(1);
give();
isnt(state_text($node), $text,
	'in a data directory whose name is not UTF-8 the state file has its usual place');
$node->stop;
ok(state_of($node)->{server} eq 'stopped', '... to the end');

# killed while it is written -------------------------------------------------------------------------------------

my $slow_disk = FaultyDisk->new;
{
	local %ENV = (%ENV, $slow_disk->environment);
	begin('killed', "restart_after_crash = on\nflakeid.horizon_lead = '1ms'\n");
}
# What is written is there under another name until it is whole: so it shows whether a crash comes in the midst of
# that. Half of the crashes do: there all sessions are stopped until they are found so. Where they are not found so for a
# while, as a disk is too fast for that, it holds the next write.
my ($crashes, $whole, $midst) = (10, 0, 0);

# Stops processes; returns when none of them does anything.
sub stop_all {
	my (@pids) = @_;
	kill 'STOP', @pids;
	for my $pid (@pids) {
		while (open my $file, '<', "/proc/$pid/stat") {
			last unless (<$file> // '') =~ /\) [^TZX]/;
			sleep 0.001;
		}
	}
	return;
}

for my $crash (1 .. $crashes) {
	$ledger->crowd($node);
	$ledger->wait_until_given(0.1);
	my @pids = split /\n/,
	  $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'crowd'");
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $tries = 0;
	for (;;) {
		stop_all(@pids);
		last if $crash % 2 || -e state_path($node) . '.new';
		die 'the state file is never being written' if time() > $until;
		$slow_disk->becomes('slow') if ++$tries == 20;
		kill 'CONT', @pids;
		sleep rand 0.01;
	}
	kill 'KILL', @pids;
	$ledger->has_gone or die 'the sessions stay';
	$ledger->dispersed;
	$whole++ if state_of($node)->{flakeid_state} == 2;
	$midst++ if -e state_path($node) . '.new';
	$slow_disk->ends('slow');
	wait_for_server($node);
}
is($whole, $crashes, 'after every crash of many the state file is whole');
cmp_ok($midst, '>=', $crashes / 2, '... also where it was being written');
give();
is($ledger->twice, '', '... and no ID repeats');
$node->stop;

done_testing();
