# What is compared: flakeid's functions, PostgreSQL's own, and those of other extensions that happen
# to be installed on the server.
package Contenders;
use strict;
use warnings;
use Exporter 'import';
use Report;
use Server;

our @EXPORT = qw(
  $empty $series $nextval $nextval_100 $uuid @next
  make_contenders uuidv7 peers peers_left_out columns kind
);

our $empty = 'pg_backend_pid(), the empty function';
our $series = 'generate_series alone';
our $nextval = 'nextval, cache 1';
our $nextval_100 = 'nextval, cache 100';
our $uuid = 'gen_random_uuid()';

# uniqueid is not among them: it waits for its format.
our @next = (
	'flake_next()', 'sno_next(0)', 'uuidv7_next()', 'flake128_next()',
	'guid_next()', 'guid_local_next()');

# Extension, what it needs before it is called, calls.
my @known = (
	[ 'pg_uuidv7', '', 'uuid_generate_v7()' ],
	[ 'pgx_ulid', '', 'gen_ulid()', 'gen_monotonic_ulid()' ],
	[ 'ulid', '', 'gen_ulid()', 'gen_monotonic_ulid()' ],
	[ 'pg_idkit', '', 'idkit_uuidv7_generate()', 'idkit_xid_generate()', 'idkit_ksuid_generate()' ],
	[
		'snowflake',
		'CREATE SEQUENCE snowflakes; ALTER DATABASE bench SET snowflake.node = 1;',
		"snowflake.nextval('snowflakes')"
	],);
my (@uuidv7, @peers, @left_out);

# Creates, in the database `bench`, all of this that the server has.
sub make_contenders {
	psql('bench', <<'END');
CREATE EXTENSION flakeid;
CREATE SEQUENCE cached_1;
CREATE SEQUENCE cached_100 CACHE 100;
END
	@uuidv7 = psql('bench', "SELECT 'uuidv7()' WHERE to_regprocedure('uuidv7()') IS NOT NULL");
	my %available = map { $_ => 1 } psql('bench', 'SELECT name FROM pg_available_extensions');
	my %taken;
	for (grep { $available{ $_->[0] } } @known) {
		my ($extension, $setup, @calls) = @$_;
		# pgx_ulid was called ulid once, and its functions are the same.
		next if grep { $taken{$_} } @calls;
		my $why = psql_fails('bench', qq(CREATE EXTENSION "$extension"; $setup));
		for (@calls) {
			# One of them may want to be preloaded, or a setting that is not made here.
			my $because = $why // psql_fails('bench', "SELECT $_;");
			defined $because ? push @left_out, "$_ of $extension ($because)" : push @peers, $_;
			$taken{$_} = 1;
		}
	}
}

# PostgreSQL 18's own, or none.
sub uuidv7 { return @uuidv7 }

sub peers { return @peers }

sub peers_left_out { return @left_out }

# What a key's column can be: name, type, default.
sub columns {
	return (
		[ 'bigserial', 'bigserial', '' ],
		[ 'flake_next()', 'bigint', 'DEFAULT flake_next()' ],
		[ 'sno_next(0)', 'sno', 'DEFAULT sno_next(0)' ],
		[ 'uuidv7_next()', 'uuid', 'DEFAULT uuidv7_next()' ],
		[ 'flake128_next()', 'flake128', 'DEFAULT flake128_next()' ],
		[ 'guid_next()', 'guid', 'DEFAULT guid_next()' ],
		[ $uuid, 'uuid', 'DEFAULT gen_random_uuid()' ],
		map { [ $_, 'uuid', "DEFAULT $_" ] } @uuidv7,);
}

# Whose a contender is, by its name: flakeid, peer or postgresql. A column of times beside the ID is
# what PostgreSQL has for it.
sub kind {
	my ($name) = @_;
	return 'peer' if grep { $_ eq $name } @peers;
	return $name =~ /^(?:flake|sno|guid|uniqueid|uuidv7_)/
	  && $name   !~ /created_at/ ? 'flakeid' : 'postgresql';
}

1;
