# A server on which nothing but the queries of a test changes what the planner knows.
package PlannerServer;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

our @EXPORT = qw(planner_server ask_together stop_without_leaks);

# Starts a server with the extension and these further lines in its configuration. Returns the
# server and a session.
sub planner_server {
	my ($name, $configuration) = @_;
	my $node = flakeid_server($name,
		"timezone = 'UTC'\nautovacuum = off\njit = off\n" . ($configuration // ''));
	return ($node, session($node));
}

# Runs statements in a session from a file: a pipe can be full while psql waits for the server.
# Returns what they print, and whether none ends in an error or a warning.
sub ask_together {
	my ($session, @statements) = @_;
	# Files of tests run side by side, so each call has a folder of its own.
	my $script = PostgreSQL::Test::Utils::tempdir() . '/statements.sql';
	append_to_file($script, join '', map { "$_;\n" } @statements);
	my $printed = $session->query("\\i $script");
	my $good = $session->{stderr} eq '';
	$session->{stderr} = '';
	return ($printed, $good);
}

sub stop_without_leaks {
	my ($node) = @_;
	$node->stop;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return unlike(
		slurp_file($node->logfile),
		qr/reference leak|was not closed|is not owned by resource owner/,
		'no reference to the catalog is left, or released twice');
}

1;
