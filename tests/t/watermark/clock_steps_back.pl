# What a server has reported stays true: the watermark does not fall and no ID is generated below
# it, although the clock steps back, in the same life of the server or while it is down.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Prepared;
use StateFile;
use Test::More;
use Watermark;

my ($clock, $server, $ledger);
sub watermark { return watermark_in($server->observer) }

sub least_time {
	my ($id_type, @ids) = @_;
	my $least = 'min(' . in_micros("$id_type->{name}_timestamp(id)") . ')';
	my $ids = "'{" . join(',', @ids) . "}'::$id_type->{type}\[]";
	return $server->observer->query_safe("SELECT $least FROM unnest($ids) AS id");
}

# Reports a watermark, ends the server ("none": it goes on) and steps the clock back from $base.
sub step_back {
	my ($how, $base, $back) = @_;
	my $node = $server->node;
	passes($server->observer, clock_in($server->observer), 'a watermark is reported');
	$ledger->use_all($node);
	my $ahead = clock_in($server->observer) + 1_500_000;
	passes($server->observer, $ahead, 'the watermark goes on while no ID is generated');
	my $reported = watermark();
	cmp_ok(
		$reported * 1000,
		'<=',
		until_of(state_of($node)),
		'the watermark is not past the horizon on disk');
	$server->stop($how) if $how ne 'none';
	$clock->step($base - $back);
	$server->start if $how ne 'none';
	cmp_ok(watermark(), '>=', $reported, 'the watermark does not fall when the clock steps back');

	my %given = $ledger->ask_each($node);
	for my $id_type (@ID_TYPES) {
		my $name = $id_type->{name};
		my ($error, @ids) = @{ $given{$name} };
		if ($error ne '') {
			my $behind = qr/ERROR:  58000: the clock is [\d.]+ (?:ms|s|min) behind/;
			like($error, $behind, "$name IDs wait for the clock");
			next;
		}
		my $least = least_time($id_type, @ids);
		cmp_ok($least, '>=', $reported, "$name IDs are not below the watermark");
	}
	cmp_ok(watermark(), '>=', $reported, 'the watermark does not fall beside calls for IDs');
	# A horizon that was written to a slow disk is up to 10 s ahead.
	$clock->step($base + 15);
	my $last = watermark();
	%given = $ledger->all_generate($node, 'there are IDs when the clock is past the watermark');
	for my $id_type (@ID_TYPES) {
		my $least = least_time($id_type, @{ $given{ $id_type->{name} } });
		cmp_ok($least, '>=', $last, "these $id_type->{name} IDs are not below the watermark");
	}
	passes(
		$server->observer,
		clock_in($server->observer),
		'the watermark goes on when the clock is past it');
	is($ledger->twice, '', 'no ID repeats');
	return;
}

# Each kill needs a server on which the watermark was not called before.
my @backs = (0.05, 2, 3600);
for
  my $case ((map { [ $_, @backs ] } 'none', 'fast', 'immediate'), (map { [ 'kill', $_ ] } @backs))
{
	my ($how, @steps) = @$case;
	my $name = "stepped_${how}_" . int($steps[0] * 100);
	$clock = FakedClock->new($name, "log_statement = none\nflakeid.max_clock_wait = '100ms'\n");
	# Each step comes long after all that was before, so that the other timeline of sno is free.
	my $base = -7200;
	$clock->step($base);
	$server = Prepared->start_node($clock->node, $clock->environment);
	create_tables($clock->node);
	$ledger = Ledger->new($name);
	$ledger->use_all($clock->node);
	for my $back (@steps) {
		$base += 7200;
		$clock->step($base);
		if ($how eq 'kill') {
			# Without a call sno continues in its other timeline. So it is the watermark that
			# prevents that.
			is($ledger->ask_in($server->writer, $SNO, 3), '', 'sno generates IDs');
			$clock->step($base - $back);
			my $error = $ledger->ask_in($server->other, $SNO, 3);
			is($error, '',
				"$back s: where the watermark was not called sno does not wait for the clock")
			  if $back > 1;
			$clock->step($base);
		}
		my $end = $how eq 'none' ? 'on a running server' : "while the server is down ($how)";
		subtest "the clock steps back by $back s $end" => sub { step_back($how, $base, $back) };
	}
	$server->stop('fast');
}

done_testing();
