# Random steps of writers of IDs: transactions that commit, fail, roll back, prepare, use
# subtransactions, end by COMMIT in PL/pgSQL, lose their client, or terminate another writer.
package RandomTransactions;

use strict;
use warnings;

use Crowd;
use Exporter qw(import);
use Ledger;

our @EXPORT = qw(@TABLES create_stream_tables pause random_step $END_PREPARED $EXPECTED_ERRORS);

# The tables: one for each ID type, and four whose IDs are of named streams. Three of these are in
# one stream, which has IDs of two types. Each table has the streams whose watermark holds for its
# rows; that of undef is for all IDs.
our @TABLES = (
	(   map {
			{ %$_, table => "$_->{name}s", streams => [ undef, $_->{name} ] }
		} @ID_TYPES),
	_of_stream('outbox', 'events', 'flake', 'flake'),
	_of_stream('changes', 'events', 'flake', 'bigint'),
	_of_stream('moves', 'events', 'sno', 'sno'),
	_of_stream('audit', 'audit', 'uuidv7', 'uuid'));

sub _of_stream {
	my ($table, $stream, $name, $type) = @_;
	my $next = "${name}_next_in('$stream')";
	return {
		table => $table,
		name => $name,
		type => $type,
		next => $next,
		batch => "(SELECT $next AS id FROM generate_series(1, %d))",
		streams => [ undef, $name, $stream ]
	};
}

# Creates the tables of streams. A row of the flakes can insert one into the outbox.
sub create_stream_tables {
	my ($node) = @_;
	my @create = map {
		"CREATE TABLE $_->{table} (id $_->{type} DEFAULT $_->{next} PRIMARY KEY," . ' nr integer);'
	} grep { $_->{next} =~ /_next_in/ } @TABLES;
	$node->safe_psql('postgres', "@create" . <<~'SQL');
		CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF random() < 0.5 THEN INSERT INTO outbox (nr) VALUES (new.nr); END IF;
			RETURN new;
		END
		$$;
		CREATE TRIGGER tell AFTER INSERT ON flakes FOR EACH ROW EXECUTE FUNCTION tell();
		SQL
	return;
}

sub pause { return 'SELECT pg_sleep(random() * 0.02) \g /dev/null' }

sub insertion {
	my ($into, $rows) = (pick(@TABLES), 1 + int rand 8);
	my ($table, $next) = @$into{ 'table', 'next' };
	my $batch = sprintf $into->{batch}, $rows;
	my $insert = "INSERT INTO $table DEFAULT VALUES;";
	return pick(
		$insert,
		"INSERT INTO $table (nr) SELECT generate_series(1, $rows);",
		"INSERT INTO $table (id) SELECT id FROM $batch AS id;",
		"COPY $table (nr) FROM PROGRAM 'seq $rows';",
		"SELECT $next \\g /dev/null",
		"SELECT count(*) FROM $batch AS ids \\g /dev/null",
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
