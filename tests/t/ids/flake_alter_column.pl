# ALTER TABLE changes a column of bigint to flake and back. It writes neither its table nor an
# index.
use strict;
use warnings;
use lib 'tests/perl';

use FlakeTwins;
use Server;
use Test::More;

my ($node, $session) = start_twins('flake_alter_column');
$session->query_safe(<<~'SQL');
	SET search_path = of_bigint, public;
	CREATE VIEW files AS
	SELECT string_agg(relname || ' ' || pg_relation_filenode(oid), ', ' ORDER BY relname) AS of_all
	FROM pg_class WHERE relnamespace = 'of_bigint'::regnamespace AND relkind IN ('r', 'i')
	SQL
my %column = (map({ $_ => 'id' } qw(things hashed log multi)), notes => 'thing', labels => 'thing');
my $contents = join ' UNION ALL ',
  map { "SELECT sum(hashint8extended($column{$_}, 0)) FROM $_" } sort keys %column;
my ($files, $ids) = map { $session->query_safe($_) } 'SELECT * FROM files', $contents;
isnt($files, '', 'the view of files shows files');

for my $type (qw(flake bigint flake)) {
	my $alter = join ";\n", map { "ALTER TABLE $_ ALTER $column{$_} TYPE $type" } sort keys %column;
	my $messages =
	  error_in($session, "SET client_min_messages = debug1;\n$alter;\nRESET client_min_messages");
	unlike(
		$messages,
		qr/ERROR|rewriting|building index/,
		"ALTER TABLE to $type writes no row and no index");
	is($session->query_safe('SELECT * FROM files'),
		$files, "ALTER TABLE to $type keeps the files of tables and indexes");
	is($session->query_safe($contents), $ids, "ALTER TABLE to $type keeps the IDs");
	is( $session->query_safe('SELECT to_json(id) FROM things WHERE id = 5'),
		$type eq 'flake' ? '"5"' : '5',
		"after ALTER TABLE the IDs are of type $type");
}

$session->quit;
$node->stop;
done_testing();
