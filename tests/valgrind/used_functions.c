/*
 * A library that sessions load, so that a test knows which functions of flakeid they use. It writes
 * each name, once for each process, into the file that the environment names as USED_FUNCTIONS.
 *
 * PostgreSQL asks the first hook below whenever it looks a function up in order to call it: for the
 * executor, the planner, an index or a type. The hook always declines. If it did not, PostgreSQL
 * would put a function of its own before flakeid's, and flakeid knows some of its functions by their
 * addresses.
 *
 * The name of a function in C is that of its symbol. Functions in SQL can have the same name, so
 * the number of arguments follows.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/syscache.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

typedef struct
{
	Oid			function;
	bool		noted;
	char		name[2 * NAMEDATALEN];
} Entry;

static HTAB *entries;
static needs_fmgr_hook_type next_needs_hook;
static fmgr_hook_type next_hook;

static void
write_name(Entry *entry)
{
	const char *path = getenv("USED_FUNCTIONS");
	char		line[2 * NAMEDATALEN + 2];
	int			file;

	if (entry->noted || path == NULL)
		return;
	entry->noted = true;
	snprintf(line, sizeof line, "%s\n", entry->name);
	file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (file < 0 || write(file, line, strlen(line)) != (ssize_t) strlen(line))
		elog(PANIC, "could not write \"%s\": %m", path);
	close(file);
}

/* Notes a function of flakeid, or one in SQL. */
static void
note(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	Entry	   *entry;
	bool		found;
	bool		is_null;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->prolang == SQLlanguageId || form->prolang == ClanguageId)
	{
		char		name[2 * NAMEDATALEN];
		bool		ours = true;

		if (form->prolang == SQLlanguageId)
			snprintf(name, sizeof name, "%s/%d", NameStr(form->proname), form->pronargs);
		else
		{
			Datum		value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &is_null);

			ours = !is_null && strstr(TextDatumGetCString(value), "flakeid") != NULL;
			value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &is_null);
			strlcpy(name, TextDatumGetCString(value), sizeof name);
		}
		if (ours)
		{
			entry = hash_search(entries, &function, HASH_ENTER, &found);
			/* Another function can have the object ID of one that was dropped. */
			if (!found || strcmp(entry->name, name) != 0)
			{
				entry->noted = false;
				strlcpy(entry->name, name, sizeof entry->name);
			}
			write_name(entry);
		}
	}
	ReleaseSysCache(tuple);
}

static bool
needs_hook(Oid function)
{
	note(function);
	return next_needs_hook && next_needs_hook(function);
}

/* PostgreSQL calls this for a function with settings, and does not ask the hook above about it. */
static void
hook(FmgrHookEventType event, FmgrInfo *function, Datum *argument)
{
	if (event == FHET_START)
		note(function->fn_oid);
	if (next_hook)
		next_hook(event, function, argument);
}

void
_PG_init(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(Entry)};

	entries = hash_create("functions", 1024, &control, HASH_ELEM | HASH_BLOBS);
	next_needs_hook = needs_fmgr_hook;
	needs_fmgr_hook = needs_hook;
	next_hook = fmgr_hook;
	fmgr_hook = hook;
}
