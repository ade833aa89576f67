# An installation of PostgreSQL to do with as one likes: links to the files of the one under test,
# which stays as it is, but for the server itself and what belongs to flakeid.
package Installation;

use strict;
use warnings;

use File::Basename qw(basename dirname);
use File::Copy     qw(copy);
use File::Path     qw(make_path);
use PostgreSQL::Test::Utils;

# Of the server with this pg_config, by default of the one in the PATH.
sub new {
	my ($class, $name, $pg_config) = @_;
	$pg_config //= 'pg_config';
	my $root = PostgreSQL::Test::Utils::tempdir($name);
	my %dir;
	for my $which ('bindir', 'pkglibdir', 'sharedir') {
		chomp($dir{$which} = `$pg_config --$which`);
	}
	my $prefix = dirname($dir{bindir});

	# A server finds its files by where it lies itself; so all lie to each other as they did.
	# Programs of a wheel find their libraries in the same way.
	my @trees = grep { -d } $prefix, $dir{sharedir}, glob(dirname(dirname($prefix)) . '/*.libs');
	for my $tree (@trees) {
		next if -e "$root$tree";
		make_path(dirname("$root$tree"));
		system('cp', '-as', $tree, "$root$tree") == 0 or die "could not link $tree";
	}
	my $self = bless {
		version => `$pg_config --version` =~ /^PostgreSQL (\d+)/,
		path => "$root$prefix",
		library => "$root$dir{pkglibdir}/flakeid.so",
		extension => "$root$dir{sharedir}/extension",
		original => "$dir{pkglibdir}/flakeid.so",
	}, $class;
	# A link would be followed to where it leads.
	for my $program ('postgres', 'pg_ctl') {
		$self->_replace("$dir{bindir}/$program", "$root$dir{bindir}/$program");
		chmod 0755, "$root$dir{bindir}/$program";
	}
	$self->put_library;
	return $self;
}

# Puts a file into place as packages do, by its name. A process that has the old one open keeps it.
sub _replace {
	my ($self, $from, $to) = @_;
	copy($from, "$to.new") or die "could not copy $from: $!";
	rename "$to.new", $to  or die "could not rename $to.new: $!";
	return;
}

# The install scripts of earlier versions, which `make install` leaves out. Their functions have the
# library's name as they had it then.
sub put_released {
	my ($self) = @_;
	for my $script (grep { !/--.*--/ } glob 'sql/released/flakeid--*.sql') {
		copy($script, $self->{extension}) or die "could not copy $script: $!";
	}
	for my $version ('0.6.0', '0.6.1', '0.7.0') {
		PostgreSQL::Test::Utils::append_to_file(
			"$self->{extension}/flakeid--$version.control",
			"module_pathname = '\$libdir/flakeid'\n");
	}
	return $self;
}

# Moves flakeid to a directory of its own, with the folders of `make install prefix=`. Returns the
# directory.
sub move_out {
	my ($self) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir("own_$self->{version}");
	make_path("$directory/lib", "$directory/share/extension");
	for my $file ($self->{library}, glob "$self->{extension}/flakeid[.-]*") {
		my $folder = $file eq $self->{library} ? 'lib' : 'share/extension';
		copy($file, "$directory/$folder") or die "could not copy $file: $!";
		unlink $file                      or die "could not remove $file: $!";
	}
	chmod 0755, "$directory/lib/flakeid.so";
	return $directory;
}

# The library under test, or another one that was built.
sub put_library {
	my ($self, $other) = @_;
	$self->_replace($other // $self->{original}, $self->{library});
	return;
}

sub remove_library {
	my ($self) = @_;
	unlink $self->{library} or die "could not remove $self->{library}: $!";
	return;
}

# The library under test as another version would be, with a version of as many characters; or,
# without one, as another build of its own. It has them in one place: the version, a plus sign, 16
# digits for the build.
sub put_library_of {
	my ($self, $version, $other) = @_;
	my $bytes = PostgreSQL::Test::Utils::slurp_file($self->{original});
	if (defined $other) {
		die "$version and $other differ in length" if length $version != length $other;
		$bytes =~ s/\Q$version\E(?=\+[0-9a-f]{16}\0)/$other/ or die "the library has no $version";
	}
	else {
		$bytes =~ s/(\Q$version\E\+)[0-9a-f]{16}(?=\0)/${1}0123456789abcdef/
		  or die "the library has no $version";
	}
	open my $file, '>:raw', "$self->{library}.new" or die "could not open $self->{library}.new: $!";
	print $file $bytes;
	close $file or die "could not write $self->{library}.new: $!";
	rename "$self->{library}.new", $self->{library}
	  or die "could not rename $self->{library}.new: $!";
	return;
}

# Returns the files of the library that a session has.
sub files_in {
	my ($session) = @_;
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	my %mapped = map { m{ (/\S*/flakeid\.so)$} ? ($1 => 1) : () } split /\n/,
	  PostgreSQL::Test::Utils::slurp_file("/proc/$pid/maps");
	return sort keys %mapped;
}

# Returns everything that belongs to the extension in a database, with what its own catalog has of
# it.
sub objects_in {
	my ($node, $database) = @_;
	return $node->safe_psql($database, <<'SQL');
SELECT pg_describe_object(d.classid, d.objid, d.objsubid), comments.comment,
	pg_get_functiondef(f.oid), f.proacl, f.procost, f.prorows, f.prosupport::regproc,
	pg_get_viewdef(c.oid), c.relacl,
	to_jsonb(t) - '{oid,typrelid,typarray,typelem,typbasetype,typnamespace,typowner}'::text[],
	t.typbasetype::regtype,
	to_jsonb(o) - ('{oid,oprnamespace,oprowner,oprleft,oprright,oprresult,oprcom,oprnegate,oprcode}'
		::text[]),
	o.oprresult::regtype, o.oprcom::regoperator, o.oprnegate::regoperator, o.oprcode::regprocedure,
	s.castfunc::regprocedure, s.castcontext, s.castmethod,
	k.opcdefault, k.opcintype::regtype, k.opckeytype::regtype
FROM pg_depend d
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
LEFT JOIN pg_proc f ON d.classid = 'pg_proc'::regclass AND f.oid = d.objid AND f.prokind <> 'a'
LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
LEFT JOIN pg_operator o ON d.classid = 'pg_operator'::regclass AND o.oid = d.objid
LEFT JOIN pg_cast s ON d.classid = 'pg_cast'::regclass AND s.oid = d.objid
LEFT JOIN pg_opclass k ON d.classid = 'pg_opclass'::regclass AND k.oid = d.objid,
LATERAL (SELECT obj_description(d.objid, d.classid::regclass::text) AS comment) AS comments
WHERE e.extname = 'flakeid' AND d.deptype = 'e'
ORDER BY 1
SQL
}

1;
