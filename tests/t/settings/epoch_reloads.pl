# Reloads with all kinds of lines of flakeid.epoch leave all processes of a server alive, also those
# that have no shared memory, such as the logging collector.
use strict;
use warnings;
use lib 'tests/perl';

use FlakeEpoch;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = epoch_server('collector', '', configuration => <<~'CONF');
	logging_collector = on
	log_directory = 'collected'
	log_filename = 'log'
	wal_level = logical
	archive_mode = on
	archive_command = 'true'
	autovacuum = on
	CONF
$node->safe_psql('postgres', 'SELECT flake_next()');

# Returns the auxiliary processes of the server by their process IDs. Version 19 has a syslogger.
my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
my $kinds = join '|', '(?:sys)?logger', 'checkpointer', 'background writer', 'walwriter',
  'archiver',
  'autovacuum launcher', 'logical replication launcher';

sub processes {
	my %of;
	for my $pid (map { m{(\d+)} } glob '/proc/[0-9]*') {
		my ($status, $title) = eval {
			map { slurp_file("/proc/$pid/$_") } 'status', 'cmdline';
		} or next;
		$of{$pid} = $1
		  if $status =~ /^PPid:\s+$postmaster$/m && $title =~ /: ?(?:postgres: )?($kinds)/;
	}
	return \%of;
}

# A new process has its title some time after the server takes sessions.
my $before;
wait_until('all processes begin', sub { $before = processes(); keys %$before == 7 });
ok((grep { /logger/ } values %$before), 'the server has a logging collector');
my $collected = $node->data_dir . '/collected/log';
for my $epoch ('2020-01-01', 'unix', 'yesterday', undef, '2010-01-01') {
	my $end = -s $collected;
	defined $epoch
	  ? $node->append_conf('postgresql.conf', "flakeid.epoch = '$epoch'")
	  : remove_epoch($node);
	$node->reload;
	wait_until('a reload', sub { slurp_file($collected, $end) =~ /received SIGHUP/ });
	# Each process has handled it when it has said so, or has ended. A statement is executed after
	# the postmaster told all.
	$node->safe_psql('postgres', 'CHECKPOINT; SELECT pg_switch_wal()');
}
my $end = -s $collected;
$node->safe_psql('postgres', "DO \$\$ BEGIN RAISE LOG 'still collected'; END \$\$");
wait_until('the collector collects', sub { slurp_file($collected, $end) =~ /still collected/ });
is_deeply(processes(), $before, 'reloads with lines of the epoch leave all processes alive');
unlike(
	slurp_file($collected) . slurp_file($node->logfile),
	qr/terminated by signal|was terminated|crash of another/,
	'the log of the reloads has no crash');
$node->stop;
done_testing();
