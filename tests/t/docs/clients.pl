# The programs of examples/ do what they say, each with the driver of its language: the IDs that
# they print are those in the table, a time finds the rows since then and no others, and pages come
# newest first. What they sent to the server is answered from an index.
use strict;
use warnings;
use lib 'tests/perl';
use Clients;
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $python = python();
my $modules = node_modules();
my @crate = map { "examples/tokio-postgres/$_" } 'Cargo.toml', 'Cargo.lock', 'src/main.rs';
my $rust = fetched('rust', 'flakeid-tokio-postgres', @crate);
my $driver = '/usr/share/java/postgresql.jar';

# What a JVM that lives for a second needs: no optimizing compiler, and no threads that collect
# garbage.
my @brief = ('-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC');

# How each of them is run, with an undefined word where something is missing.
my %clients = (
	'asyncpg_app.py' => [ $python, 'examples/asyncpg_app.py' ],
	'psycopg3.py' => [ $python, 'examples/psycopg3.py' ],
	'sqlalchemy_orm.py' => [ $python, 'examples/sqlalchemy_orm.py' ],
	'django_app.py' => [ $python, 'examples/django_app.py' ],
	'node-postgres.js' => [ $modules && in_path('node'), 'examples/node-postgres.js' ],
	'Jdbc.java' => [
		in_path('javac') && in_path('java'), @brief,
		'-cp', -e $driver ? $driver : undef,
		'examples/Jdbc.java'
	],
	'tokio-postgres' => [$rust]);
# docs/public_form_clients.pl and watermark/consumer*.pl run these.
my $others = qr/\A(?:README\.md|consumers\.sql|public.form\.(?:py|js))\z/;
my @examples = grep { !/$others/ } map { s{.*/}{}r } sort glob 'examples/*';
is_deeply([ sort keys %clients ], \@examples, 'a test runs every example');

my $node = PostgreSQL::Test::Cluster->new('clients');
# Without an encoding text is bytes to Python.
$node->init(extra => ['--encoding=UTF8']);
# Java knows no Unix sockets. No time zone has a part in what is found.
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
listen_addresses = '127.0.0.1'
log_statement = all
timezone = 'Pacific/Chatham'
END
$node->start;

# The lines of a run, by the word before the colon or the first one.
sub lines_of {
	my ($output) = @_;
	my %lines = (made => [], page => []);
	for (split /\n/, $output) {
		if    (/^made (.+)/)        { push @{ $lines{made} }, [ split / /, $1 ] }
		elsif (/^page (\d+): (.+)/) { push @{ $lines{page} }, [ $1, split / /, $2 ] }
		elsif (/^([a-z ]+): (.+)/)  { $lines{$1} = $2 }
	}
	return \%lines;
}

my ($with_uuids, $with_lines, $with_copy) = (0, 0, 0);
for my $name (sort keys %clients) {
	my $command = $clients{$name};
	if (grep { !defined } @$command) {
		fail("$name cannot run: what it needs is missing or old; run scripts/setup 15 tests");
		next;
	}

	my $database = lc($name =~ s{\W}{_}gr);
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION flakeid');
	my $sql = sub { return $node->safe_psql($database, @_) };
	# The driver of JDBC has a time limit for the answer to its request for SSL, and one for a
	# connection. The example puts the name of the database at the end of its URL, where parameters
	# can follow.
	my $parameters = $name eq 'Jdbc.java' ? '?sslmode=disable&connectTimeout=0' : '';
	local %ENV = (
		%ENV,
		PGHOST => $name eq 'Jdbc.java' ? '127.0.0.1' : $node->host,
		PGPORT => $node->port,
		PGUSER => scalar getpwuid($<),
		PGDATABASE => $database . $parameters,
		NODE_PATH => $modules // '',
		TZ => 'America/St_Johns');

	my $begin = $sql->('SELECT clock_timestamp()');
	my ($first, $complaints) = run_command($command);
	is("$?$complaints", '0', "$name runs without a complaint");
	# So many older rows that the planner takes no index for want of a better one.
	$sql->(<<'SQL');
INSERT INTO orders (id, event, item)
SELECT flake_at(t), sno_at(t, 7), 'old'
FROM generate_series(1, 20000) AS nr,
	LATERAL (SELECT now() - nr * interval '1 min' - interval '1 h') AS of (t)
SQL
	$sql->('VACUUM ANALYZE orders');

	my $offset = -s $node->logfile;
	(my $second, $complaints) = run_command($command);
	is("$?$complaints", '0', "$name runs again");
	my @queries = queries_in(slurp_file($node->logfile, $offset));
	my $end = $sql->('SELECT clock_timestamp()');

	my @runs = map { lines_of($_) } $first, $second;
	my @orders = map { @{ $_->{made} } } @runs;
	my $last = $runs[1];
	is(scalar @orders, 10, "$name inserts five orders each time");
	is( join("\n", map { join '|', @$_ } @orders),
		$sql->("SELECT * FROM orders WHERE item <> 'old' ORDER BY id"),
		"$name prints their IDs as the server has them, in order");
	is($sql->(<<"SQL"), '10', "the IDs of $name have the times of the runs");
SELECT count(*) FROM orders
WHERE flake_timestamp(id) BETWEEN timestamptz '$begin' - interval '1 ms' AND '$end'
	AND sno_timestamp(event) BETWEEN timestamptz '$begin' - interval '4 ms' AND '$end'
	AND (sno_decode(event)).meta = 7
SQL
	# The second run looks five minutes back. It has to find the orders of both runs, unless the
	# first one is longer ago: then those of its own, and of the others only the latest.
	my $at_once = $sql->("SELECT timestamptz '$end' - '$begin' < interval '5 min'") eq 't';
	my $latest = sub {
		my ($column, $found) = @_;
		my $count =
			$at_once
		  ? @orders
		  : min(scalar @orders, max(5, scalar(my @found = split / /, $found // '')));
		return map { $_->[$column] } @orders[ -$count .. -1 ];
	};
	my @ids = $latest->(0, $last->{'recent by id'});
	is($last->{'recent by id'}, "@ids", "$name finds the orders of a time by their flakes");
	my @events = $latest->(1, $last->{'recent by event'});
	is($last->{'recent by event'}, "@events", "$name finds the orders of a time by their snos");
	my @newest = reverse @events;
	my @pages = map { [ $_, splice @newest, 0, 3 ] } 1 .. (@newest + 2) / 3;
	is_deeply($last->{page}, \@pages, "$name shows them page by page, newest first");
	like(
		"@queries",
		qr/event >= .*::TIMESTAMP WITH TIME ZONE/,
		"$name tells the server that a time beside a sno is one") if $name eq 'sqlalchemy_orm.py';
	is($last->{newest}, 'rice', "$name finds an order by its flake")
	  if $name eq 'node-postgres.js';
	my $newest_id = $orders[-1][0];
	is($last->{'newest in json'},
		$newest_id, "$name has the flake as a string in JSON, which JSON.parse does not round")
	  if $name eq 'node-postgres.js';
	like(
		$last->{'newest in json'},
		qr/^\{"id": "$newest_id", "line": "\d+"\}$/,
		"$name has flakes as strings in JSON") if $name eq 'django_app.py';

	if ($sql->("SELECT to_regclass('lines') IS NOT NULL") eq 't') {
		$with_lines++;
		is(join(' ', map { $_->{lines} // 'none' } @runs),
			'1000 1000', "$name has the keys of 1,000 new objects in each run");
		is($sql->(<<'SQL'), '2000|2', "$name has them all in its table");
SELECT count(*), count(DISTINCT orders.id) FROM lines JOIN orders ON orders.id = order_id
SQL
		my @inserts = slurp_file($node->logfile, $offset) =~ /LOG: .*: INSERT INTO "?lines\b/g;
		is(scalar @inserts, 1, "$name inserts them with one statement");
	}
	if ($sql->("SELECT to_regclass('copied_orders') IS NOT NULL") eq 't') {
		$with_copy++;
		is($sql->(<<'SQL'), '0', "$name copies rows as they are");
SELECT count(*) - count(orders) FROM copied_orders LEFT JOIN orders USING (id, event, item)
SQL
		cmp_ok($sql->('SELECT count(*) FROM copied_orders'),
			'>=', 10, "$name copies all rows of its run");
	}
	if ($sql->("SELECT to_regclass('carts') IS NOT NULL") eq 't') {
		$with_uuids++;
		is(join(' ', map { $_->{'accepted uuids'} // 'none' } @runs),
			'1000 1000', "$name accepts 1,000 uuidv7s in each run");
		is($sql->(<<"SQL"), '2000', "$name has all of them, with the times of the runs");
SELECT count(DISTINCT id) FROM carts WHERE uuidv7_valid(id)
	AND uuidv7_timestamp(id) BETWEEN timestamptz '$begin' - interval '1 ms' AND '$end'
SQL
		cmp_ok(
			$last->{'recent uuids'},
			$at_once ? '==' : '>=',
			$at_once ? 2000 : 1000,
			"$name finds them by their time");
	}

	cmp_ok(scalar @queries, '>=', 2 + @pages, "$name sends a query for each of these answers")
	  or diag(join "\n", @queries);
	is_deeply([ without_range($node, $database, @queries) ],
		[], "each query of $name is a range of an index, without a sort or a filter");
	unlike("@queries", qr/\bOFFSET\b/i, "no query of $name has OFFSET");
}

cmp_ok($with_uuids, '>=', 4, 'four programs have uuidv7s');
is($with_lines, 2, 'two programs insert many objects');
is($with_copy, 2, 'two programs copy');

$node->stop;
done_testing();
