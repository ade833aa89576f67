# A server, its file of keys for the public form of IDs, and a table of IDs of each type.
package PublicKeys;

use strict;
use warnings;

use Exporter qw(import);
use File::Find;
use PostgreSQL::Test::Utils;
use Server;

our @EXPORT = qw($NIST $OTHER $THIRD start_server keys_file write_keys reload use_keys versions
  id_types create_ids keys_in_views files_with_keys);

# NIST's example key of 256 bits, and two other keys.
our $NIST = '2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94';
our $OTHER = '00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef';
our $THIRD = 'f0e1d2c3b4a5968778695a4b3c2d1e0ff0e1d2c3b4a5968778695a4b3c2d1e0f';

# Starts a server without keys, whose log has as much as a log can have.
sub start_server {
	my ($name) = @_;
	my $node = flakeid_server($name, <<~'END', allows_streaming => 1);
		timezone = 'UTC'
		autovacuum = off
		log_min_messages = debug1
		log_min_duration_statement = 0
		debug_print_plan = on
		END
	$node->safe_psql('postgres', 'CREATE ROLE guest LOGIN');
	return $node;
}

# Returns the path of a server's file of keys.
sub keys_file { return $_[0]->basedir . '/public_keys'; }

# Replaces the file of keys by a rename.
sub write_keys {
	my ($node, $content, $mode) = @_;
	my $file = keys_file($node);
	unlink "$file.new";
	append_to_file("$file.new", $content);
	chmod $mode // 0600, "$file.new" or die "chmod: $!";
	rename "$file.new", $file        or die "rename: $!";
	return;
}

# Reloads the configuration, and returns what the log got. A new session begins with the new keys.
sub reload {
	my ($node) = @_;
	my $offset = -s $node->logfile;
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	$node->wait_for_log(qr/received SIGHUP, reloading configuration files/, $offset);
	# The postmaster forks this session after it has handled the reload.
	$node->safe_psql('postgres', 'SELECT');
	return substr slurp_file($node->logfile), $offset;
}

# Gives a server a file of keys.
sub use_keys {
	my ($node, $content) = @_;
	write_keys($node, $content);
	my $file = keys_file($node);
	$node->safe_psql('postgres', "ALTER SYSTEM SET flakeid.public_keys_file = '$file'");
	reload($node);
	return;
}

# Returns the versions of the keys, with "!" after the version of the key that encrypts.
sub versions {
	my ($node) = @_;
	return $node->safe_psql('postgres', <<~'SQL');
		SELECT string_agg(version || CASE WHEN encrypts THEN '!' ELSE '' END, ' ')
		FROM flakeid_public_key_versions()
		SQL
}

# For each name: the type, the default, the IDs at the ends of what can be, and how many digits of
# base 62 a text has.
my %types = (
	flake => [ 'bigint', 'flake_next()', "(0::bigint), (1), (flake_max(tomorrow))", 11 ],
	sno => [ 'sno', 'sno_next(255)', "(sno '2222222222222222'), (sno_max(tomorrow))", 14 ],
	flake128 => [ 'flake128', 'flake128_next()', "(flake128 '0'), (flake128_max(tomorrow))", 22 ],
	guid => [
		'guid',
		'guid_next()',
		"(guid '................'), (guid_next(inverse => true)), (guid_next('1 day')), "
		  . '(guid_max(tomorrow))',
		17
	],
	guid_local => [
		'guid_local',
		'guid_local_next()',
		"(guid_local '................'), (guid_local_next(inverse => true)), "
		  . "(guid_local_next('1 day'))",
		11
	],
	uniqueid => [
		'uniqueid', 'uniqueid_next()',
		"(uniqueid '0000000000000000'), (uniqueid_next('spread'))", 11
	],
	uuidv7 => [
		'uuid',
		'uuidv7_next()',
		"(uuidv7_min('1970-01-01 00:00+00')), (uuidv7_max(tomorrow)), "
		  . "(uuidv7_at('2020-01-01 00:00+00'))",
		21
	]);

# Returns the names of the types, and how many digits each has.
sub id_types {
	return map { $_ => $types{$_}[3] } keys %types;
}

# Creates a table of IDs for each type: 2,000 new ones, and those at the ends of what can be.
sub create_ids {
	my ($node) = @_;
	for my $name (sort keys %types) {
		my ($type, $next, $ends) = @{ $types{$name} };
		$ends =~ s/tomorrow/now() + interval '23 h'/g;
		$node->safe_psql('postgres', <<~"SQL");
			CREATE TABLE ${name}s (id $type PRIMARY KEY);
			INSERT INTO ${name}s SELECT $next FROM generate_series(1, 2000);
			INSERT INTO ${name}s VALUES $ends ON CONFLICT DO NOTHING;
			ANALYZE ${name}s
			SQL
	}
	return;
}

# Returns which keys the views of settings and sessions show.
sub keys_in_views {
	my ($node) = @_;
	my $contents = join "\n",
	  map { $node->safe_psql('postgres', "SELECT string_agg(s::text, E'\\n') FROM $_ AS s") }
	  qw(pg_settings pg_stat_activity);
	return join ' ', grep { $contents =~ /$_/i } map { substr $_, 0, 20 } $NIST, $OTHER, $THIRD;
}

# Stops a server, and returns which of its files and logs have a key, as bytes or as digits.
sub files_with_keys {
	my ($node) = @_;
	my $pattern = join '|',
	  map { (quotemeta(pack 'H*', $_), '(?i:' . substr($_, 0, 20) . ')') } $NIST, $OTHER, $THIRD;
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->stop;
	my $file = keys_file($node);
	slurp_file($file) =~ /$pattern/ or die "the search does not find the keys in $file\n";
	my @found;
	find(
		{
			no_chdir => 1,
			wanted => sub {
				push @found, $_ if -f $_ && $_ ne $file && slurp_file($_) =~ /$pattern/;
			}
		},
		$node->data_dir,
		$node->logfile);
	return "@found";
}

1;
