/*
 * careless.c - a copying program as it should not be: looks at nothing
 *
 * tests/faults/run must find a fault of each kind in it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
main(void)
{
	int in = open("docs.jsonl", O_RDONLY);
	int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	char *p = malloc(4096);
	ssize_t n;

	memset(p, 0, 4096);
	while ((n = read(in, p, 4096)) > 0)
		(void)!write(out, p, (size_t)n);
	fsync(out);
	close(out);
	return 0;
}
