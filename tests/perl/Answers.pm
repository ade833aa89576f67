# What a server answers in one session to both functions of every ID type: an ID, or an error. It
# writes nothing, so it also works while the state file is damaged or cannot be written.
package Answers;

use strict;
use warnings;

use Exporter qw(import);
use Ledger;

our @EXPORT = qw(create_answers answers_in answer_in);

# Creates a function of SQL: it returns for each question the SQLSTATE and the message of the error,
# or 00000, the question and the ID.
sub create_answers {
	my ($node) = @_;
	my $asks = join ', ', map { ("'$_->{next}'", "'" . sprintf($_->{batch}, 1) . "'") } @ID_TYPES;
	$node->safe_psql('postgres', <<~"SQL");
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

# Returns the answers in a session, and enters the IDs into the ledger.
sub answers_in {
	my ($ledger, $session) = @_;
	my $answers = $session->query_safe('SELECT * FROM answers()');
	my @given = $answers =~ /^00000 (\w+?)_next.* gave (.*)/mg;
	$ledger->enter(join "\n", map { "$given[2 * $_]\t$given[2 * $_ + 1]" } 0 .. @given / 2 - 1);
	return split /\n/, $answers;
}

# Returns the answers without repetitions: one, where all ID types give the same.
sub answer_in {
	my ($ledger, $session) = @_;
	my %answers = map { $_ => 1 } answers_in($ledger, $session);
	return join "\n", sort keys %answers;
}

1;
