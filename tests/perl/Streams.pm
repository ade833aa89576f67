# A server with two named streams, "outbox" and "audit". The tables of these names have IDs of the
# streams, of the types flake and uuidv7. The table "bulk" has flakes without a stream. So has
# "orders" its snos, whose trigger inserts into the outbox.
package Streams;

use strict;
use warnings;

use Exporter qw(import);
use FakedClock;
use Watermark;

our @EXPORT = qw(start_streams insert_row streams_held);

# Starts the server. Returns its clock.
sub start_streams {
	my $clock = FakedClock->new('streams', <<~'END');
		log_statement = none
		max_prepared_transactions = 10
		wal_level = replica
		max_wal_senders = 4
		flakeid.streams = 'outbox, audit'
		END
	$clock->start;
	$clock->node->safe_psql('postgres', <<~'SQL');
		CREATE EXTENSION flakeid;
		CREATE TABLE bulk (id flake PRIMARY KEY DEFAULT flake_next(), nr integer);
		CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next_in('outbox'), nr integer);
		CREATE TABLE audit (id uuid PRIMARY KEY DEFAULT uuidv7_next_in('audit'), nr integer);
		CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_next(), nr integer);
		CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN INSERT INTO outbox (nr) VALUES (new.nr); RETURN new; END';
		CREATE TRIGGER tell AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION tell();
		SQL
	return $clock;
}

# Inserts a row in a session, and returns the time of its ID.
sub insert_row {
	my ($session, $table) = @_;
	my $time = in_micros($table eq 'audit' ? 'uuidv7_timestamp(id)' : 'id::timestamptz');
	return $session->query_safe("INSERT INTO $table (nr) VALUES (1) RETURNING $time");
}

# The streams that each transaction holds, by the view.
sub streams_held {
	my ($session) = @_;
	return $session->query_safe(<<~'SQL');
		SELECT coalesce(streams::text, 'all') FROM pg_stat_flakeid_watermark ORDER BY first_id_at
		SQL
}

1;
