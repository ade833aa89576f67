# Sessions that work at the same time, however fast or slow the machine is: none begins before all
# are there, and none ends before all have begun. Each works in rounds: as many as it has to, and
# then on until a round of its own has begun after every session's first one was over.
package AtOnce;

use strict;
use warnings;

use Exporter qw(import);
use IPC::Run;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep);

our @EXPORT = qw(at_once);

my $times = 0;

# Runs sessions, each described by a hash; returns what they print. `round` is what PL/pgSQL does in
# a round; the number of the round is in the variable `round`, from 0. `rounds` is how many there
# are at least. `declare` has more variables, and `after` what is done after the last round.
sub at_once {
	my ($node, @sessions) = @_;
	my $name = 'at_once_' . ++$times;
	my ($go, $over) = map { "${name}_$_" } 'go', 'over';
	my $dir = PostgreSQL::Test::Utils::tempdir($name);
	my (@runs, @outputs);
	for my $nr (0 .. $#sessions) {
		my $session = $sessions[$nr];
		my ($declare, $after) = map { $session->{$_} // '' } 'declare', 'after';
		my $rounds = $session->{rounds} // 1;
		append_to_file("$dir/$nr.sql", <<"SQL");
DO \$work\$
DECLARE
	round integer := 0;
	last boolean;
	$declare
BEGIN
	PERFORM set_config('application_name', '$name is there', false);
	WHILE (pg_stat_file('$go', true)).size IS NULL LOOP
		PERFORM pg_sleep(0.002);
	END LOOP;
	LOOP
		last := round + 1 >= $rounds AND (pg_stat_file('$over', true)).size IS NOT NULL;
		$session->{round};
		IF round = 0 THEN
			PERFORM set_config('application_name', '$name has begun', false);
		END IF;
		EXIT WHEN last;
		round := round + 1;
		-- A session that only waits for the others slows down, so as not to fill the disk.
		IF round > $rounds THEN
			PERFORM pg_sleep(0.05 * (round - $rounds));
		END IF;
	END LOOP;
	$after
END
\$work\$;
SQL
		push @runs,
		  IPC::Run::start(
			[
				'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d',
				$node->connstr($session->{database} || 'postgres'),
				'-f', "$dir/$nr.sql"
			],
			'<',
			\undef,
			'>&',
			\$outputs[$nr],
			IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	}
	for my $step ([ 'is there', $go ], [ 'has begun', $over ]) {
		my ($what, $file) = @$step;
		my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
		# A session's workers have its name.
		while (
			@sessions > $node->safe_psql(
				'postgres',
				"SELECT count(*) FROM pg_stat_activity WHERE application_name = '$name $what'"
				  . " AND backend_type = 'client backend'"))
		{
			my @gone = grep { !$runs[$_]->pumpable || !$runs[$_]->pump_nb } 0 .. $#runs;
			next unless @gone || time() > $until;
			append_to_file($node->data_dir . "/$_", '') for $go, $over;
			die "not every session $what:\n" . join "\n", map { $_ // '' } @outputs[@gone];
		}
		continue {
			sleep 0.02;
		}
		append_to_file($node->data_dir . "/$file", '');
	}
	for my $nr (0 .. $#runs) {
		$runs[$nr]->finish or die "session $nr failed:\n$outputs[$nr]";
	}
	return @outputs;
}

1;
