# Builds and installs flakeid for one PostgreSQL at a time, the one that PG_CONFIG names:
#
#     make PG_CONFIG=/path/to/pg_config && sudo make install PG_CONFIG=/path/to/pg_config
#
# cargo builds the library. This file adds what cargo does not know: the folders of PostgreSQL, and the install script,
# which consists of files of sql/.

# If the user names a PG_CONFIG, `make run`, `make test` and `make lint` use only that server, and set no other up.
ifneq ($(filter command environment,$(firstword $(origin PG_CONFIG))),)
GIVEN_PG_CONFIG := $(PG_CONFIG)
endif
PG_CONFIG ?= $(or $(wildcard $(shell scripts/pg_config 15)),pg_config)
PG_CONFIG_PATH := $(shell command -v $(PG_CONFIG))
PG_MAJOR := $(if $(PG_CONFIG_PATH),$(shell $(PG_CONFIG) --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'))
MAJORS := $(shell scripts/pg_config --majors)

CARGO ?= cargo
ANY_RUST := $(shell scripts/any-rust)
INSTALL ?= install
TARGET := $(or $(CARGO_TARGET_DIR),target)

VERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" flakeid.control)
# The parts of the install script, in their order. A .sql.in is a template of scripts/expand-sql.
SQL_FILES := $(addprefix sql/, library.sql planner.sql partitions.sql flake.sql \
	sno.sql.in flake128.sql.in guid_local.sql.in guid.sql.in uniqueid.sql.in uuidv7.sql.in copy.sql.in \
	flake_type.sql.in public_form.sql.in \
	identity.sql statistics.sql lease.sql watermark.sql)
# The parts of flakeid_reader, which is no part of the extension: functions in SQL for servers without flakeid.
READER_FILES := $(addprefix sql/reader/, common.sql.in flake.sql.in uuidv7.sql.in sno.sql.in flake128.sql.in guid_common.sql.in \
	guid.sql.in guid_local.sql.in uniqueid.sql.in)
READER := $(TARGET)/package/flakeid_reader--$(VERSION).sql
READER_FOR_TLE := $(TARGET)/package/flakeid_reader-pg_tle--$(VERSION).sql
# Update scripts from one version to the next. One that adds an ID type is a template until its version is released. The
# install scripts of earlier versions in sql/released are for tests.
RELEASED_UPDATES := $(wildcard sql/released/flakeid--*--*.sql)
UPDATE_TEMPLATES := $(wildcard sql/flakeid--*.sql.in)
SOURCES := $(shell find $(wildcard Cargo.toml Cargo.lock .cargo src crates) -type f)

# The features of the library. ETCD= leaves out the leasing of generator IDs from etcd; then the build needs no protoc.
ETCD ?= etcd
comma := ,
FEATURES := pg$(PG_MAJOR)$(if $(ETCD),$(comma)etcd)

# The profile of cargo: release for users, fast-build for `make run`.
PROFILE ?= release

# cargo writes the libraries of all versions to one file. So each is copied to a folder of its own. The
# headers of a server with assertions differ from those of a release, and its library for valgrind has
# line numbers.
CONFIGURE := $(if $(PG_CONFIG_PATH),$(shell $(PG_CONFIG) --configure))
KIND := $(if $(findstring USE_VALGRIND,$(CONFIGURE)),-valgrind,$(if $(findstring --enable-cassert,$(CONFIGURE)),-assertions))
STAGE := $(TARGET)/pg$(PG_MAJOR)$(if $(ETCD),,-without-etcd)$(KIND)$(if $(filter release,$(PROFILE)),,-$(PROFILE))
BUILT := $(STAGE)/flakeid.so
INSTALL_SCRIPT := $(STAGE)/flakeid--$(VERSION).sql
UPDATE_SCRIPTS := $(UPDATE_TEMPLATES:sql/%.in=$(STAGE)/%)

# The folders of PostgreSQL; with prefix= a directory of its own, for dynamic_library_path and extension_control_path.
# PGXS would append postgresql to some of these, and on Debian it takes the folders of PostgreSQL all the same.
PKGLIBDIR = $(DESTDIR)$(if $(prefix),$(prefix)/lib,$(shell $(PG_CONFIG) --pkglibdir))
EXTENSIONDIR = $(DESTDIR)$(if $(prefix),$(prefix)/share,$(shell $(PG_CONFIG) --sharedir))/extension
PG_REGRESS = $(dir $(shell $(PG_CONFIG) --pgxs))../../src/test/regress/pg_regress
REGRESS = $(sort $(patsubst tests/pg_regress/sql/%.sql,%,$(wildcard tests/pg_regress/sql/*.sql)))

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.PHONY: all build install uninstall installcheck run test test-stress test-failover test-assertions test-postgres test-valgrind test-fuzz test-miri test-arm64 test-versions test-analytics lint lint-text lint-supply lint-code bench bench-against package package-test package-source-test image-test dist dist-source clean help
.PHONY: check-major check-prefix reader

all: build

build: check-major $(BUILT) $(INSTALL_SCRIPT) $(UPDATE_SCRIPTS) ## build for the PostgreSQL of PG_CONFIG

$(BUILT): $(SOURCES)
	PGRX_PG_CONFIG_PATH=$(PG_CONFIG_PATH) $(CARGO) build $(ANY_RUST) --profile $(PROFILE) --no-default-features --features $(FEATURES)
	@mkdir -p $(STAGE)
	@cp $(TARGET)/$(PROFILE)/libflakeid.so $@

$(INSTALL_SCRIPT): Makefile scripts/expand-sql $(SQL_FILES) $(wildcard sql/*.sql.in) flakeid.control
	@mkdir -p $(STAGE)
	@printf '%s\n' '\echo Use "CREATE EXTENSION flakeid" to load this file. \quit' >$@
	@awk -f scripts/expand-sql $(SQL_FILES) >>$@

$(UPDATE_SCRIPTS): $(STAGE)/%: sql/%.in scripts/expand-sql $(wildcard sql/*.sql.in)
	@mkdir -p $(STAGE)
	@awk -f scripts/expand-sql $< >$@

# One file creates a schema with the functions, and the other registers them as an extension of pg_tle.
reader: $(READER) $(READER_FOR_TLE) ## build the functions in SQL that read IDs on a server without flakeid

$(READER): Makefile scripts/expand-sql $(wildcard sql/reader/*.sql.in) flakeid.control
	@mkdir -p $(@D)
	@printf '%s\n' '-- flakeid_reader $(VERSION), for psql and other clients: run this file in a database.' '' >$@
	@awk -f scripts/expand-sql sql/reader/common.sql.in | sed -n '1,/^$$/p' >>$@
	@printf '%s\n' 'BEGIN;' 'CREATE SCHEMA IF NOT EXISTS flakeid_reader;' '' >>$@
	@awk -f scripts/expand-sql $(READER_FILES) | sed '1,/^$$/d' >>$@
	@printf '%s\n' '' 'COMMIT;' >>$@

$(READER_FOR_TLE): Makefile scripts/expand-sql $(wildcard sql/reader/*.sql.in) flakeid.control
	@mkdir -p $(@D)
	@printf '%s\n' '-- flakeid_reader $(VERSION), for pg_tle: run this file, then CREATE EXTENSION flakeid_reader.' '' >$@
	@printf '%s\n' "SELECT pgtle.install_extension('flakeid_reader', '$(VERSION)', 'reads the IDs of flakeid', \$$flakeid\$$" >>$@
	@awk -f scripts/expand-sql $(READER_FILES) | sed "s/flakeid_reader\./@extschema@./g; s/'flakeid_reader'/'@extschema@'/" >>$@
	@printf '%s\n' "\$$flakeid\$$);" >>$@

check-major:
	$(if $(PG_CONFIG_PATH),,$(error there is no $(PG_CONFIG): pass PG_CONFIG=/path/to/pg_config, or run scripts/setup 15 to set up a server))
	$(if $(filter $(MAJORS),$(PG_MAJOR)),,$(error flakeid is for PostgreSQL $(MAJORS), but $(PG_CONFIG) is $(shell $(PG_CONFIG) --version)))
	@:

check-prefix:
	$(if $(filter-out /%,$(firstword $(prefix))),$(error prefix must be an absolute path, as PostgreSQL takes no other))
	@:

# Removes scripts that this version does not install. A user who may create an extension could still run them.
install: check-prefix build ## install it into that PostgreSQL, or into prefix=/its/own/directory; DESTDIR is honored
	$(INSTALL) -d '$(PKGLIBDIR)' '$(EXTENSIONDIR)'
	rm -f '$(EXTENSIONDIR)'/flakeid--*.sql
	$(INSTALL) -m 755 $(BUILT) '$(PKGLIBDIR)'
	$(INSTALL) -m 644 flakeid.control $(INSTALL_SCRIPT) $(UPDATE_SCRIPTS) $(RELEASED_UPDATES) '$(EXTENSIONDIR)'

uninstall: check-prefix check-major ## remove it from there; prefix= and DESTDIR are honored
	rm -f '$(PKGLIBDIR)/flakeid.so' '$(EXTENSIONDIR)/flakeid.control' '$(EXTENSIONDIR)'/flakeid--*.sql

# The output has a folder of its own. If there were a sql/ beside it, pg_regress would read its tests from there.
installcheck: check-major ## run the SQL tests on a running server that preloads it
	@mkdir -p $(TARGET)/installcheck
	$(PG_REGRESS) --bindir='$(shell $(PG_CONFIG) --bindir)' \
		--inputdir=tests/pg_regress --outputdir=$(TARGET)/installcheck \
		--dbname=contrib_regression --load-extension=flakeid $(REGRESS)

run: ## set up, build, and try it: pgbench with 8 clients on a private server
	@scripts/run $(GIVEN_PG_CONFIG)

test: ## set up, and run every test on every version of PostgreSQL
	@scripts/test $(GIVEN_PG_CONFIG)

test-stress: ## run the tests many times on a slow machine: TESTS=, TIMES=, CONDITIONS= for a part
	@TIMES='$(TIMES)' CONDITIONS='$(CONDITIONS)' scripts/test-stress $(PG_CONFIG) $(TESTS)

test-failover: ## change the leader of a Patroni cluster in ROUNDS=10: a quarter of an hour
	@ROUNDS='$(ROUNDS)' scripts/test-failover $(GIVEN_PG_CONFIG)

test-assertions: ## run the tests on a PostgreSQL 18 with assertions, which it builds from source
	@scripts/test-assertions $(PARTS)

test-postgres: ## run PostgreSQL's own tests on that server with flakeid loaded: SUITES="regress isolation" for a part
	@scripts/test-postgres $(SUITES)

test-valgrind: ## run tests of all SQL functions and kinds of sessions under valgrind: TESTS= for a part
	@scripts/test-valgrind $(TESTS)

test-fuzz: ## fuzz what is read from disk, wire and users: FUZZ_SECONDS=600 each; TARGETS=state_file for a part
	@scripts/test-fuzz $(TARGETS)

test-miri: ## run tests of the core under miri, an interpreter that knows Rust's memory model
	@scripts/test-miri

test-versions: ## change between this library and the last release's, which it builds: TESTS= for a part
	@scripts/test-versions $(TESTS)

test-analytics: ## fetch DuckDB, ClickHouse, Spark, pandas, polars and dbt, and read IDs there
	@scripts/test-analytics $(GIVEN_PG_CONFIG)

test-arm64: ## build for arm64, and run tests there under qemu, as root: TESTS= for a part
	@scripts/test-arm64 $(TESTS)

# With the same profile clippy uses the results of the build scripts of `make build`. Reading the headers of
# PostgreSQL takes the longest time of all. Code that depends on no version is checked in one version.
LINT_PG_CONFIGS := $(or $(GIVEN_PG_CONFIG),$(wildcard $(foreach major,$(MAJORS),$(shell scripts/pg_config $(major)))))
LINT_WORDS := $(wildcard README.md docs CHANGELOG.md CONTRIBUTING.md ARCHITECTURE.md SECURITY.md Makefile build.rs \
	src crates fuzz/src fuzz/fuzz_targets sql tests examples packaging scripts)
lint: lint-text lint-supply lint-code ## check the code and the documentation

lint-text: ## the part without a compiler: formats, columns, layers of the code, words
	scripts/lint-words $(LINT_WORDS)
	tests/lint/layers
	tests/lint/search-logs
	tests/lint/valgrind-logs
	scripts/layers
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path examples/tokio-postgres/Cargo.toml --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	tests/lint/wrap-comments
	scripts/wrap-comments --check build.rs $$(find src crates fuzz/src -name '*.rs')
	tests/lint/perl
	scripts/lint-perl
	@# A statement of the SQL tests that PostgreSQL cannot parse tests nothing.
	test -d tests/pg_regress/expected && ! grep -rn 'syntax error at' tests/pg_regress/expected

lint-supply: ## the part on dependencies: licenses, duplicates, known vulnerabilities
	scripts/lint-supply

lint-code: ## the part with a compiler: clippy and rustdoc
	$(CARGO) clippy $(ANY_RUST) -p flakeid-core -p flakeid-formats --profile $(PROFILE) --all-targets -- -D warnings
	RUSTFLAGS='--cfg loom' $(CARGO) clippy $(ANY_RUST) -p flakeid-core --profile $(PROFILE) --test loom --target-dir $(TARGET)/loom \
		-- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc $(ANY_RUST) -p flakeid-core -p flakeid-formats --profile $(PROFILE) --no-deps --document-private-items
	$(CARGO) clippy --locked --manifest-path examples/tokio-postgres/Cargo.toml --target-dir $(TARGET)/examples -- -D warnings
	@for pg_config in $(LINT_PG_CONFIGS); do \
		major=$$($$pg_config --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'); \
		export PGRX_PG_CONFIG_PATH=$$(command -v $$pg_config) RUSTDOCFLAGS='-D warnings'; \
		set -x -- $(ANY_RUST) -p flakeid --profile $(PROFILE) --no-default-features --features; \
		$(CARGO) clippy --all-targets "$$@" pg$$major,etcd -- -D warnings || exit; \
		[ $$pg_config = $(lastword $(LINT_PG_CONFIGS)) ] || continue; \
		$(CARGO) clippy --all-targets "$$@" pg$$major -- -D warnings || exit; \
		$(CARGO) doc --no-deps --document-private-items "$$@" pg$$major,etcd || exit; \
	done

bench: ## measure the speed on a private server: half an hour; SECTIONS="calls sort" for a part
	@SECTIONS='$(SECTIONS)' scripts/bench $(GIVEN_PG_CONFIG)

# The other build is preloaded by its path, which the user postgres must be able to read.
bench-against: install ## compare the cost of an ID with another build: LIBRARY=/path/to/its/flakeid.so
	scripts/cluster $(PG_CONFIG) -c shared_preload_libraries=$(abspath $(LIBRARY)) -- \
		sh -c 'BENCH_OLD_HOST="$$PGHOST" exec "$$@"' sh \
		scripts/cluster $(PG_CONFIG) -c shared_preload_libraries=flakeid -- \
		tests/bench/against $(abspath $(LIBRARY))

package: ## build Debian packages into target/package
	@scripts/package $(GIVEN_PG_CONFIG)

package-test: ## build the one for PostgreSQL 15, and try it on a Debian of its own; as root
	@tests/package/run $(DEB)

dist-source: ## write the tarballs for distributions into target/package: sources, crates, Debian's folder
	@scripts/versions
	@git diff --quiet HEAD -- || { echo 'make dist-source: commit first, as it takes what git has' >&2; exit 1; }
	@scripts/dist-source

package-source-test: ## build Debian's package and the RPM from them, without a network; as root
	@tests/package/source-build

image-test: ## build the image volume with the package for PostgreSQL 18 and mount it: DEB=; as root, with buildah
	@tests/package/image-volume $(DEB)

# The archive has the files of git, and nothing that was built.
dist: ## build the archive for PGXN into target/package
	@scripts/versions
	@git diff --quiet HEAD -- || { echo 'make dist: commit first, as it takes what git has' >&2; exit 1; }
	@mkdir -p $(TARGET)/package
	git archive --format=zip --prefix=flakeid-$(VERSION)/ -o $(TARGET)/package/flakeid-$(VERSION).zip HEAD

clean: ## remove what was built
	$(CARGO) clean

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST) | expand -t 20
	@echo
	@echo 'PG_CONFIG=$(PG_CONFIG) is the PostgreSQL that make uses, unless you name another one.'
