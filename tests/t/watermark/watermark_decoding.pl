# Logical decoding has snapshots for which there is no watermark. An output plugin that calls
# flakeid_watermark gets an error.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $dir = PostgreSQL::Test::Utils::tempdir('plugin');
append_to_file("$dir/calls_watermark.c", <<'C');
#include "postgres.h"
#include "fmgr.h"
#include "catalog/namespace.h"
#include "nodes/value.h"
#include "nodes/pg_list.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);

static void
startup(LogicalDecodingContext *ctx, OutputPluginOptions *options, bool is_init)
{
	options->output_type = OUTPUT_PLUGIN_TEXTUAL_OUTPUT;
}

static void
begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
}

static void
change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
	   ReorderBufferChange *change)
{
	List	   *name = list_make2(makeString("public"), makeString("flakeid_watermark"));
	Oid			function = LookupFuncName(name, 0, NULL, false);

	OutputPluginPrepareWrite(ctx, true);
	appendStringInfo(ctx->out, "%lld", (long long) DatumGetInt64(OidFunctionCall0(function)));
	OutputPluginWrite(ctx, true);
}

static void
commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr commit_lsn)
{
}

void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = startup;
	cb->begin_cb = begin;
	cb->change_cb = change;
	cb->commit_cb = commit;
}
C
chomp(my $headers = `pg_config --includedir-server`);
my @compile = (
	'cc', '-shared', '-fPIC', '-I', $headers, '-o', "$dir/calls_watermark.so",
	"$dir/calls_watermark.c");
my $said = '';
IPC::Run::run(\@compile, '<', '/dev/null', '>&', \$said)
  or plan skip_all => "there is no compiler for a plugin: $said";

my $node = server_with_tables('decoding', <<"END", allows_streaming => 'logical');
dynamic_library_path = '$dir:\$libdir'
END
# Newer minor versions have a list of the libraries that are plugins.
my $has_list = "SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'";
if ($node->safe_psql('postgres', $has_list)) {
	$node->append_conf('postgresql.conf', "output_plugin_libraries = 'calls_watermark'");
	$node->restart;
}
$node->safe_psql('postgres', <<~'SQL');
	SELECT pg_create_logical_replication_slot('calls', 'calls_watermark');
	INSERT INTO flakes DEFAULT VALUES
	SQL
like(
	error_of($node, "SELECT * FROM pg_logical_slot_get_changes('calls', NULL, NULL)"),
	qr/ERROR:  55000: .*\n/,
	'flakeid_watermark in logical decoding is an error');
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('calls')");
my $observer = session($node);
passes($observer, clock_in($observer), 'the watermark follows the clock after logical decoding');
$observer->quit;
$node->stop;
done_testing();
