# pg_rewind makes an old primary a standby of the new one, whose clock is an hour ahead. The old
# primary takes over its horizon, and what ALTER SYSTEM has set there. Promoted again, it repeats no
# ID of the new one.
use strict;
use warnings;
use lib 'tests/perl';

use File::Copy qw(copy);
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Successors;
use Test::More;

my ($old, $old_clock) = primary('old', 0, configuration => <<'END');
max_worker_processes = 8
wal_keep_size = '1GB'
END
insert_rows($old, 2000);
$old->backup('backup');
my ($new, $new_clock) = successor('new', $old, 'backup', '', has_streaming => 1);
$new_clock->step(3600);
insert_rows($old, 2000);
$old->wait_for_catchup($new);
$new->promote;
reload_with($new, generator_ids => '4');
insert_rows($old, 2000);
$old->stop;
insert_rows($new, 2000);
$new->safe_psql('postgres', 'CHECKPOINT');

my $configuration = PostgreSQL::Test::Utils::tempdir('conf') . '/postgresql.conf';
copy($old->data_dir . '/postgresql.conf', $configuration) or die "could not copy: $!";
my @source = ('--source-server', $new->connstr('postgres'));
command_ok([ 'pg_rewind', '--no-sync', '--target-pgdata', $old->data_dir, @source ],
	'pg_rewind rewinds the old primary onto the new one');
my $last =
  $new->safe_psql('postgres', 'SELECT extract(epoch FROM flake_timestamp(max(id))) FROM flakes');
cmp_ok(
	until_of(state_of($old)),
	'>',
	$last * 1_000_000_000,
	'the old primary has the horizon of the new one');

copy($configuration, $old->data_dir . '/postgresql.conf') or die "could not copy: $!";
$old->enable_streaming($new);
launch($old_clock);
like(error_of($old, 'SELECT flake_next()'), qr/ERROR:  25006: /,
	'as a standby it generates no IDs');
insert_rows($new, 2000);
$new->wait_for_catchup($old);
halt($new);
$old->promote;
like(
	error_of($old, 'SELECT flake_next()'),
	qr/ERROR:  58000: the clock is (?:[345]\d|60) min behind the last flake ID/,
	'promoted again, the old primary knows that its clock is behind by an hour');
repeats_none_behind($old, $old_clock, 3600, 'an old primary that is promoted again');

subtest 'the old primary gets an identity of its own, as docs/failover.md shows' => sub {
	my ($own) =
	  slurp_file('docs/failover.md') =~
	  /^### Give a copy its own identity\n.*?`postgresql\.auto\.conf`.*?^```ini\n(.*?)^```$/ms
	  or die 'the page has no lines';
	launch($old_clock);
	my $shown = sub {
		return $old->safe_psql('postgres', 'SHOW flakeid.generator_ids; SHOW flakeid.guid_node');
	};
	is($shown->(), "4\n", 'it has the generator IDs of the new primary, not those of its own file');
	halt($old);
	append_to_file($old->data_dir . '/postgresql.auto.conf', $own);
	launch($old_clock);
	is($shown->(), "8-15\nbranch-1", 'with the lines of the page it has its own');
	halt($old);
};

done_testing();
