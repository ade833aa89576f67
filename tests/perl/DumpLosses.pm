# The query of docs/troubleshooting.md for the objects that a dump loses.
package DumpLosses;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Utils;

our @EXPORT = qw($QUERY);

our ($QUERY) =
  slurp_file('docs/troubleshooting.md') =~ /^```sql\n(WITH RECURSIVE stored.*?)^```$/ms
  or die 'the page has no query for what a dump loses';

1;
