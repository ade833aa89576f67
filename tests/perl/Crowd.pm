# Clients in processes of their own, which write and read beside each other until the test says that
# it is enough.
package Crowd;

use strict;
use warnings;

use Exporter qw(import);
use IPC::Open3;
use POSIX ();

our @EXPORT =
  qw(connect_as ask disconnect in_a_process write_line pick lines_in have_ended first_difference);

# A psql that a process of the test talks to. What it prints, errors too, is read by lines.
sub connect_as {
	my ($node, $name) = @_;
	local $ENV{PGAPPNAME} = $name;
	my $pid = open3(my $in, my $out, undef, 'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d',
		$node->connstr('postgres'));
	$in->autoflush(1);
	return { pid => $pid, in => $in, out => $out };
}

# What a client gets for its statements, by lines; undefined when its session was ended.
sub ask {
	my ($client, @statements) = @_;
	my @lines;
	print { $client->{in} } map { "$_\n" } @statements, '\echo =';
	while (defined(my $line = readline $client->{out})) {
		chomp $line;
		return \@lines if $line eq '=';
		push @lines, $line;
	}
	return;
}

sub disconnect {
	my ($client) = @_;
	close $client->{$_} for 'in', 'out';
	waitpid $client->{pid}, 0;
	return;
}

# Runs a function in a process of its own, which ends when the test does.
sub in_a_process {
	my ($work) = @_;
	my $pid = fork;
	die "could not fork: $!" unless defined $pid;
	return $pid if $pid;
	$SIG{PIPE} = 'IGNORE';
	my $is_done = eval { $work->(); 1 };
	print STDERR $@ unless $is_done;
	# Neither the test's plan nor its servers are this process's to end.
	POSIX::_exit($is_done ? 0 : 1);
}

sub write_line {
	my ($file, @lines) = @_;
	open my $handle, '>>', $file or die "could not write $file: $!";
	print $handle map { "$_\n" } @lines;
	close $handle or die "could not write $file: $!";
	return;
}

sub pick { my (@of) = @_; return $of[ rand @of ] }

sub lines_in {
	my ($file) = @_;
	open my $handle, '<', $file or return 0;
	my $lines = 0;
	$lines++ while defined(my $line = readline $handle);
	return $lines;
}

sub have_ended {
	my (@pids) = @_;
	my @failed = grep { waitpid($_, 0) != $_ || $? != 0 } @pids;
	die 'processes of the test have failed' if @failed;
	return;
}

# Says in what the rows that a reader has read differ from those of the table.
sub first_difference {
	my ($read, $rows) = @_;
	my %read;
	$read{$_}++ for @$read;
	my @lost = grep { !$read{$_} } @$rows;
	my @repeated = grep { $read{$_} > 1 } sort keys %read;
	my %row = map { $_ => 1 } @$rows;
	my @foreign = grep { !$row{$_} } @$read;
	return sprintf 'lost %d (%s), repeated %d (%s), not in the table %d (%s)', map {
		(scalar @$_, join ' ', grep { defined } @$_[ 0 .. 4 ])
	} \@lost, \@repeated, \@foreign;
}

1;
