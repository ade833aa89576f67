/*
 * A library that a test loads into a server before all others (LD_PRELOAD), so that it can hold processes that the
 * server starts. HeldChildren.pm uses it; scripts/test-server builds it.
 *
 * A new process of PostgreSQL calls prctl(PR_SET_PDEATHSIG) early: it has the settings and the blocked signals of the
 * postmaster, and no handlers of its own. While the file exists that HELD_CHILDREN_FILE names, a process waits there.
 * It first makes a file of the same name with a dot and its PID.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int
prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list		list;
	const char *file = getenv("HELD_CHILDREN_FILE");

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_PDEATHSIG && file && access(file, F_OK) == 0)
	{
		char		own[4096];

		snprintf(own, sizeof own, "%s.%d", file, (int) getpid());
		close(open(own, O_CREAT | O_WRONLY, 0600));
		while (access(file, F_OK) == 0)
			usleep(10000);
	}
	return syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
