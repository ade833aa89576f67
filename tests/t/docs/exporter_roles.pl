# An exporter without the extension in its database, or without pg_monitor, has an error in its log.
# One that goes through all databases serves each metric once.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Metrics;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('exporter_roles');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE bare');
$node->safe_psql('postgres', "CREATE ROLE unprivileged LOGIN; $SET_UP");
$node->safe_psql('postgres', "SELECT $_->{next}") for @ID_TYPES;

for (
	[ database => 'bare', qr/relation \\+"pg_stat_flakeid\\+" does not exist/ ],
	[ role => 'unprivileged', qr/permission denied for view pg_stat_flakeid/ ])
{
	my ($how, $name, $reason) = @$_;
	my $exporter = exporter($node, $how => $name);
	my $value = scrape($exporter);
	is(errors_in($value), '1 1', "an exporter with the $how $name has an error");
	is(views_in($value), '', "an exporter with the $how $name serves no metric of the views");
	log_says($exporter, $reason, "the log of an exporter with the $how $name has the reason");
}

# A series that repeats would be an error.
my $value = scrape(exporter($node, options => ['--auto-discover-databases']));
is(views_in($value), promised(),
	'an exporter that goes through all databases serves each metric once');
cmp_ok(scalar(grep { /^pg_/ } keys %$value), '>', 100, 'it serves its own metrics besides');

$node->stop;
done_testing();
