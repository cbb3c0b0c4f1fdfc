/*
 * race.c - that ThreadSanitizer sees into a team, and only what is wrong
 *
 * Built and run with SANITIZE=thread alone.  Three teams of four, each in a
 * process of its own: one whose tiles write their own words, one where two
 * tiles write the same word, one whose caller left the word to a thread that
 * it did not wait for.  The sanitizer ends a process with 66.
 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 64, REPORTED = 66 };

static long words[N];

static void
team(int shared)
{
	#pragma omp parallel num_threads(4)
	{
		int thread = omp_get_thread_num();

		#pragma omp for schedule(dynamic, 1) nowait
		for (int i = 0; i < N; i++) {
			usleep(100);
			words[shared ? 0 : i] += thread;
		}
	}
}

static void
own_words(void)
{
	words[1] = 7;
	team(0);
	words[1] += words[2];
}

static void
same_word(void)
{
	team(1);
}

static void *
write_late(void *arg)
{
	words[1] = 7;
	return arg;
}

static void
not_waited_for(void)
{
	pthread_t t;

	pthread_create(&t, NULL, write_late, NULL);
	team(0);
	pthread_join(t, NULL);
}

static int
status(void (*fn)(void))
{
	int s = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(2);
		fn();
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &s, 0) != pid || !WIFEXITED(s))
		return -1;
	return WEXITSTATUS(s);
}

static int
check(int n, const char *what, void (*fn)(void), int expected)
{
	int s = status(fn);

	printf("%s %d - %s\n", s == expected ? "ok" : "not ok", n, what);
	if (s != expected)
		printf("# status %d, expected %d\n", s, expected);
	return s != expected;
}

int
main(void)
{
	int bad = 0;

	printf("1..3\n");
	bad |= check(1, "tiles with words of their own", own_words, 0);
	bad |= check(2, "two tiles, one word", same_word, REPORTED);
	bad |= check(3, "a thread beside the team", not_waited_for, REPORTED);
	return bad;
}
