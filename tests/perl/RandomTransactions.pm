# Random steps of writers of IDs: transactions that commit, fail, roll back, prepare, use
# subtransactions, end by COMMIT in PL/pgSQL, lose their client, or terminate another writer.
package RandomTransactions;

use strict;
use warnings;

use Crowd;
use Exporter qw(import);
use Ledger;

our @EXPORT = qw(pause random_step $END_PREPARED $EXPECTED_ERRORS);

sub pause { return 'SELECT pg_sleep(random() * 0.02) \g /dev/null' }

# Returns a statement that inserts rows with new IDs, or generates some.
sub insertion {
	my ($id_type, $rows) = (pick(@ID_TYPES), 1 + int rand 8);
	my ($table, $next) = ("$id_type->{name}s", $id_type->{next});
	my $batch = sprintf $id_type->{batch}, $rows;
	my $insert = "INSERT INTO $table DEFAULT VALUES;";
	return pick(
		$insert,
		"INSERT INTO $table (nr) SELECT generate_series(1, $rows);",
		"INSERT INTO $table (id) SELECT id FROM $batch AS id;",
		"COPY $table (nr) FROM PROGRAM 'seq $rows';",
		"SELECT $next \\g /dev/null",
		"SELECT count(*) FROM $batch \\g /dev/null",
		"SAVEPOINT s; $insert RELEASE s;",
		"SAVEPOINT s; $insert ROLLBACK TO s;",
		"DO \$\$ BEGIN $insert BEGIN $insert RAISE 'back';"
		  . ' EXCEPTION WHEN OTHERS THEN NULL; END; END $$;',
		# The ID is there some time before its row.
		<<~"SQL");
		WITH ids AS MATERIALIZED (SELECT $next AS id),
			later AS MATERIALIZED (SELECT id FROM ids, pg_sleep(random() * 0.005))
		INSERT INTO $table (id) SELECT id FROM later;
		SQL
}

# Returns what a writer executes in one step, which can prepare a transaction of this name.
sub random_step {
	my ($gid) = @_;
	my $kind = rand();
	return insertion() =~ s/SAVEPOINT .*//r if $kind < 0.15;
	return <<~'SQL' if $kind < 0.25;
		DO $$
		BEGIN
			FOR nr IN 1 .. 3 LOOP
				INSERT INTO flakes DEFAULT VALUES;
				INSERT INTO snos DEFAULT VALUES;
				PERFORM pg_sleep(random() * 0.01);
				IF random() < 0.8 THEN COMMIT; ELSE ROLLBACK; END IF;
			END LOOP;
		END $$;
		SQL
	return <<~'SQL' if $kind < 0.27;
		SELECT pg_terminate_backend(pid) FROM (
			SELECT pid FROM pg_stat_activity
			WHERE application_name = 'writer' AND pid <> pg_backend_pid()
			ORDER BY random() LIMIT 1) AS one \g /dev/null
		SQL
	my @steps =
	  'BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE') . ';';
	push @steps, 'SELECT count(*) FROM snos WHERE id > now() \g /dev/null', pause() if rand() < 0.3;
	push @steps, insertion(), (rand() < 0.7 ? pause() : ()) for 1 .. 1 + int rand 3;
	# After \q the client has left.
	my @prepare = ("PREPARE TRANSACTION '$gid';") x 3;
	return @steps,
	  pick(('COMMIT;') x 12, ('ROLLBACK;') x 3, @prepare, 'SELECT 1 / 0; COMMIT;', '\q');
}

# Ends a prepared transaction of any session.
our $END_PREPARED = <<~'SQL';
	SELECT format('%s PREPARED %L',
		CASE WHEN random() < 0.7 THEN 'COMMIT' ELSE 'ROLLBACK' END, gid)
	FROM pg_prepared_xacts ORDER BY random() LIMIT 1 \gexec
	SQL

# The SQLSTATEs of these steps: transactions that cannot be serialized, and what follows in them;
# the division; prepared transactions that another session ends, or that are too many; the program
# of a COPY whose session is terminated, which gets the signal, too.
our $EXPECTED_ERRORS = '40001|25P02|3B001|22012|55000|42704|53200|38000';

1;
