/*
 * A library that a test loads before all others (LD_PRELOAD), so that it can step the wall clock of a server and of the
 * processes that the server starts. FakedClock.pm uses it; scripts/test-server builds it.
 *
 * It replaces clock_gettime (for CLOCK_REALTIME and CLOCK_REALTIME_COARSE), gettimeofday and time. All other clocks stay
 * real, as they do when an administrator sets a machine's clock.
 *
 * The file that FAKED_CLOCK_FILE names says what the time is. Each process maps it into its memory when it starts, so a
 * change reaches all of them at once. A reading is a system call and two loads. It takes no lock and allocates no memory:
 * PostgreSQL's signal handlers read the clock, too.
 *
 * The file has 256 entries of 8 bytes, and after them one byte, the number of the entry that counts. A writer fills the
 * next entry first and then changes that byte, so no reader ever sees half an entry. An entry has two parts: its lowest
 * bit is 1 if the clock stands still, and the other bits are a signed number of microseconds. That number is the time
 * since 1970 of a clock that stands still, and otherwise the offset from the real clock.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct file
{
	int64_t		entries[256];
	uint8_t		current;
};

static const struct file *mapped;

__attribute__((constructor)) static void
map_file(void)
{
	static const char message[] = "faked_clock: could not map the file that FAKED_CLOCK_FILE names\n";
	const char *path = getenv("FAKED_CLOCK_FILE");
	int			file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void	   *address = file >= 0 ? mmap(NULL, sizeof(struct file), PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;

	if (address == MAP_FAILED)
	{
		(void) !write(STDERR_FILENO, message, sizeof message - 1);
		_exit(1);
	}
	close(file);
	mapped = address;
}

int
clock_gettime(clockid_t clock, struct timespec *result)
{
	int			code = (int) syscall(SYS_clock_gettime, clock, result);
	int64_t		entry;
	int64_t		nanoseconds;

	/* Constructors of other libraries may run before ours. */
	if (code != 0 || !mapped || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return code;

	entry = __atomic_load_n(&mapped->entries[__atomic_load_n(&mapped->current, __ATOMIC_ACQUIRE)], __ATOMIC_RELAXED);
	if (entry & 1)
		result->tv_sec = result->tv_nsec = 0;
	entry >>= 1;
	nanoseconds = result->tv_nsec + entry % 1000000 * 1000;
	result->tv_sec += entry / 1000000 + nanoseconds / 1000000000;
	result->tv_nsec = nanoseconds % 1000000000;
	if (result->tv_nsec < 0)
	{
		result->tv_sec--;
		result->tv_nsec += 1000000000;
	}
	return 0;
}

int
gettimeofday(struct timeval *restrict result, void *restrict zone)
{
	struct timespec now;

	(void) zone;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	result->tv_sec = now.tv_sec;
	result->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *result)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return (time_t) -1;
	if (result)
		*result = now.tv_sec;
	return now.tv_sec;
}
