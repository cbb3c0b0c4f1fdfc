/*
 * args: numbers, and whole command lines
 *
 * args_parse() ends the process where something is wrong, so each command
 * line is parsed in a child, whose status and words are looked at.
 */
#include <sys/wait.h>

#include "tests/unit/test.h"

#include "base/args.h"

static int64_t seq_len;
static double lr;
static int bos, split, given, fast;
static const char *out, *key;
static struct arg_list special;

static const char *const splits[] = { "gpt2", "cl100k", NULL };

static struct arg joined[] = {
	OPT_GROUP("Things"),
	OPT_STRS("special", &special, "T", "token"),
	OPT_STR("key", &key, "KEY", "key's name", .brief = 1,
		.of = "seq-len fast"),
	OPT_END
};

static const struct arg table[] = {
	OPT_GROUP("Things"),
	OPT_STR("output", &out, "FILE", "where to", .letter = 'o'),
	OPT_INT("seq-len", &seq_len, "N", 1, 1 << 20, "tokens",
		.given = &given),
	OPT_GROUP("More"),
	OPT_REAL("lr", &lr, "X", 0, 1, "rate"),
	OPT_BOOL("bos", &bos, "BOS"),
	OPT_ENUM("split", &split, NULL, splits, "how"),
	OPT_FLAG("fast", &fast, "no tests"),
	OPT_TABLE(joined),
	OPT_END
};

static const char *const exclude[] = {
	"lr split output", "no-bos: fast special", NULL
};

static const struct args toy = {
	"toy", "[options] [FILE...]", "does nothing", "toy a", table, exclude
};

static void
put_result(int argc, char **argv, int first)
{
	printf("%lld %g %d %d %s %zu %d%d%d j%d", (long long)seq_len, lr, bos,
	       split, out ? out : "-", special.n, given, args_common.quiet,
	       args_common.verbose, args_common.threads);
	for (int i = first; i < argc; i++)
		printf(" [%s]", argv[i]);
	printf("\n");
}

/* Parse a line of words in a child; what it printed, and its status. */
static const char *
parse(const char *line, int *status)
{
	static char text[65536];
	char words[1024], *argv[64] = { "toy" };
	int fd[2], argc = 1;
	size_t n = 0;
	ssize_t k;

	snprintf(words, sizeof words, "%s", line);
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	assert_int_equal(pipe(fd), 0);
	fflush(stdout);
	if (fork() == 0) {
		dup2(fd[1], 1);
		dup2(fd[1], 2);
		close(fd[0]);
		seq_len = 2048;
		lr = 1e-3;
		bos = 1;
		int first = args_parse(&toy, argc, argv);

		args_check(&toy);
		put_result(argc, argv, first);
		fflush(stdout);
		_exit(0);
	}
	close(fd[1]);
	while ((k = read(fd[0], text + n, sizeof text - 1 - n)) > 0)
		n += (size_t)k;
	close(fd[0]);
	text[n] = 0;
	wait(status);
	*status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 1000;
	return text;
}

static void
good_lines(void **state)
{
	static const struct {
		const char *line, *want;
	} t[] = {
		{ "-j1", "2048 0.001 1 0 - 0 000 j1\n" },
		{ "a --seq-len 4Ki b -j 3 c",
		  "4096 0.001 1 0 - 0 100 j3 [a] [b] [c]\n" },
		{ "--seq-len=12 --lr=0.5 --no-bos --key k -j1",
		  "12 0.5 0 0 - 0 100 j1\n" },
		{ "--split cl100k --bos --fast --key k -j1",
		  "2048 0.001 1 1 - 0 000 j1\n" },
		{ "-qvj2 -o y -oy --threads=1 --special a --special=b",
		  "2048 0.001 1 0 y 2 011 j1\n" },
		{ "-j1 -- --lr -o -", "2048 0.001 1 0 - 0 000 j1 [--lr] [-o] "
		  "[-]\n" },
		{ "- -j1 --output=", "2048 0.001 1 0  0 000 j1 [-]\n" },
	};
	int status;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(t); i++) {
		assert_string_equal(parse(t[i].line, &status), t[i].want);
		assert_int_equal(status, 0);
	}
}

static void
bad_lines(void **state)
{
	static const struct {
		const char *line, *want;
	} t[] = {
		{ "--nope", "unknown option --nope" },
		{ "--seq", "unknown option --seq " },
		{ "-x", "unknown option -x" },
		{ "--no-output", "unknown option --no-output" },
		{ "--seq-len", "--seq-len needs a value (N)" },
		{ "-o", "-o needs a value (FILE)" },
		{ "--bos=1", "--bos takes no value" },
		{ "--seq-len 0", "0 is out of range (1 to 1048576)" },
		{ "--seq-len 2M", "2M is out of range" },
		{ "--seq-len 1.5", "'1.5' is not an integer" },
		{ "--seq-len 3K", "'3K' has an unknown suffix" },
		{ "--seq-len x", "'x' is not an integer" },
		{ "--lr 2", "2 is out of range (0 to 1)" },
		{ "--lr nan", "'nan' is not a number" },
		{ "--lr 0x1p-3", "'0x1p-3' is not a number" },
		{ "--lr 1e999", "'1e999' is not a number" },
		{ "--split qwen", "'qwen' is not one of gpt2, cl100k" },
		{ "-j 0", "0 is out of range (1 to 1024)" },
		{ "--completion sh", "'sh' is not bash, zsh or fish" },
		{ "--lr 1 -o x", "--lr and --output exclude each other" },
		{ "--no-bos --fast", "--no-bos and --fast exclude each other" },
		{ "-o x -oy", "--output is given twice, as 'x' and 'y'" },
		{ "--key x", "--key needs --seq-len or --fast" },
	};
	int status;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(t); i++) {
		const char *text = parse(t[i].line, &status);

		if (!strstr(text, t[i].want) || strncmp(text, "toy: ", 5) ||
		    !strstr(text, "\nusage: toy [options] [FILE...]\n"))
			fail_msg("%s: %s", t[i].line, text);
		assert_int_equal(status, 2);
	}
}

static void
help_shows_what_holds(void **state)
{
	int status;
	const char *text = parse("--seq-len 1Mi --help", &status);

	(void)state;
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "usage: toy [options] [FILE...]\n"));
	assert_non_null(strstr(text, "\nThings:\n"));
	assert_non_null(strstr(text, "tokens [1Mi]\n"));
	assert_non_null(strstr(text, "--[no-]bos"));
	assert_non_null(strstr(text, "BOS [on]\n"));
	assert_non_null(strstr(text, "--split gpt2|cl100k"));
	assert_non_null(strstr(text, "rate [0.001]\n"));
	assert_null(strstr(text, "completion"));
	/* one heading for both parts of a group, brief rows at its end */
	assert_non_null(strstr(text, "token\n  --key KEY\nMore:\n"));
	assert_non_null(strstr(text, ", -q, -v, -h, --version\n"
			       "Example: toy a\n"));
	text = parse("--version", &status);
	assert_int_equal(status, 0);
	assert_memory_equal(text, "toy ", 4);
	assert_non_null(strstr(text, "Unicode 16.0"));
	text = parse("--options", &status);
	assert_memory_equal(text, "--output -o\n--seq-len\n--lr\n"
			    "--bos --no-bos\n", 41);
}

static void
completions(void **state)
{
	int status;

	(void)state;
	assert_non_null(strstr(parse("--completion zsh", &status),
			       "\t'--key=[key'\\''s name]:KEY:' \\\n"));
	assert_non_null(strstr(parse("--completion zsh", &status),
			       "'-o+[where to]:FILE:_files'"));
	assert_non_null(strstr(parse("--completion fish", &status),
			       "complete -c toy -l split -x -a 'gpt2 cl100k' "
			       "-d 'how'\n"));
	assert_non_null(strstr(parse("--completion fish", &status),
			       "complete -c toy -l key -x "
			       "-d 'key\\'s name'\n"));
	assert_int_equal(status, 0);
}

static void
numbers(void **state)
{
	static const struct {
		const char *s;
		int64_t want;	/* or -1 with bad */
		int bad;
	} t[] = {
		{ "0", 0, 0 }, { "+5", 5, 0 }, { "-5", -5, 0 },
		{ "4k", 4000, 0 }, { "4M", 4000000, 0 },
		{ "4G", 4000000000, 0 }, { "4Ki", 4096, 0 },
		{ "4Mi", 4 << 20, 0 }, { "8Gi", 8ll << 30, 0 },
		{ "9223372036854775807", INT64_MAX, 0 },
		{ "-9223372036854775808", INT64_MIN, 0 },
		{ "9223372036854775808", 0, 1 }, { "9223372036854776k", 0, 1 },
		{ "", 0, 1 }, { "-", 0, 1 }, { "1.5", 0, 1 }, { "1e3", 0, 1 },
		{ "4K", 0, 1 }, { "4ki", 0, 1 }, { "4kB", 0, 1 },
		{ " 4", 0, 1 }, { "4 ", 0, 1 }, { "0x10", 0, 1 },
		{ "--4", 0, 1 },
	};
	const char *what;
	int64_t v;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(t); i++) {
		if ((args_int(t[i].s, &v, &what) < 0) != t[i].bad)
			fail_msg("'%s'", t[i].s);
		if (!t[i].bad)
			assert_int_equal(v, t[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_lines),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(help_shows_what_holds),
		cmocka_unit_test(completions),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
