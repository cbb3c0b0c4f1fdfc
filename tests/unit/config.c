/*
 * config.c - shapes, config.json in both spellings, refusals by name
 */
#include "tests/unit/test.h"

#include <math.h>
#include <unistd.h>

#include "model/config.h"
#include "stream/json.h"
#include "train/options.h"

/* Parameters of the presets with a vocabulary of 50257, by hand. */
static void
presets(void **state)
{
	static const struct {
		enum preset p;
		int64_t params;
	} t[] = {
		{PRESET_1M, 50257LL * 128 + 4 * (128 * 128 * 2 + 128 * 64 * 2
			+ 3 * 128 * 384 + 256) + 128},
		{PRESET_124M, 50257LL * 768 + 12 * (4 * 768 * 768
			+ 3 * 768 * 2048 + 1536) + 768},
		{PRESET_1B, 50257LL * 2048 + 16LL * (2 * 2048 * 2048
			+ 2 * 2048 * 512 + 3 * 2048 * 8192 + 4096) + 2048},
	};
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(t); i++) {
		struct model_config c = {.vocab = 50257, .max_pos = 64};
		struct err e = {0};

		config_preset(&c, t[i].p);
		assert_int_equal(config_check(&c, &e), 0);
		assert_int_equal(config_params(&c), t[i].params);
		assert_int_equal(config_vocab_padded(&c), 50304);
	}
}

/* Operations of windows with documents of known lengths, by hand. */
static void
operations(void **state)
{
	/* documents of 3, 1 and 4 tokens; one of 8 */
	static const int32_t mask[16] = {0, 0, 0, 3, 4, 4, 4, 4};
	static const int32_t none[16] = {0};
	static const struct {
		const int32_t *start;
		int64_t window, from;
		double pairs[3];	/* of each layer */
	} t[] = {
		/* n (n + 1) / 2 for each document */
		{none, 0, 0, {72, 72, 72}},
		{mask, 0, 0, {6 + 1 + 10 + 36, 53, 53}},
		/* 2 n - 1, and 3 n - 3 from 2 on */
		{none, 2, 0, {30, 30, 30}},
		{mask, 2, 0, {5 + 1 + 7 + 15, 28, 28}},
		{mask, 3, 1, {53, 6 + 1 + 9 + 21, 37}},
		{mask, 3, 2, {53, 53, 37}},
		{mask, 3, 3, {53, 53, 53}},
		{mask, 3, 9, {53, 53, 53}},
		{mask, 8, 0, {53, 53, 53}},
	};
	/* q, k, v, o; gate, up, down; the head */
	double matrices = 3 * (10 * 16 + 2 * 10 * 8 + 16 * 10 + 3 * 10 * 14) +
		50 * 10;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(t); i++) {
		struct model_config c = {.vocab = 50, .hidden = 10,
			.layers = 3, .heads = 4, .kv_heads = 2, .head_dim = 4,
			.inter = 14, .window = t[i].window,
			.window_from = t[i].from};
		double want = 6 * matrices * 16 + 3 * 4 * (4 * 4) *
			(t[i].pairs[0] + t[i].pairs[1] + t[i].pairs[2]);

		assert_true(config_flops(&c, 2, 8, t[i].start) == want);
		c.tie = 1;
		assert_true(config_flops(&c, 2, 8, t[i].start) == want);
	}
}

static void
write_config(const char *dir, const char *text)
{
	test_write(test_path(dir, "config.json"), text, strlen(text));
}

#define SHAPE "\"vocab_size\":100,\"hidden_size\":16,\"num_hidden_layers\":2," \
	"\"num_attention_heads\":4,\"intermediate_size\":24,"

static void
reads_both_spellings(void **state)
{
	struct model_config c;
	struct err e = {0};

	write_config(*state, "{" SHAPE "\"model_type\":\"llama\","
		     "\"rope_theta\":5e5,\"torch_dtype\":\"bfloat16\"}");
	assert_int_equal(config_load(&c, *state, &e), 0);
	assert_true(c.rope_theta == 5e5 && c.kv_heads == 4 &&
		    c.head_dim == 4 && !c.tie && !c.qk_norm && c.bos == -1);
	write_config(*state, "{" SHAPE "\"model_type\":\"qwen3\",\"head_dim\":"
		     "8,\"num_key_value_heads\":2,\"tie_word_embeddings\":true,"
		     "\"rope_parameters\":{\"rope_type\":\"default\","
		     "\"rope_theta\":1e6},\"dtype\":\"float32\","
		     "\"eos_token_id\":[7,8]}");
	assert_int_equal(config_load(&c, *state, &e), 0);
	assert_true(c.rope_theta == 1e6 && c.kv_heads == 2 &&
		    c.head_dim == 8 && c.tie && c.qk_norm && c.eos == 7);
	assert_true(config_is_eos(&c, 7) && config_is_eos(&c, 8) &&
		    !config_is_eos(&c, 9));
	write_config(*state, "{" SHAPE "\"model_type\":\"llama\","
		     "\"rope_scaling\":{\"rope_type\":\"default\","
		     "\"rope_theta\":5e5}}");
	assert_int_equal(config_load(&c, *state, &e), 0);
	assert_true(c.rope_theta == 5e5);
}

/* transformers' generate() stops by generation_config.json where it has EOS. */
static void
ends_of_text(void **state)
{
	const char *gen = "{\"bos_token_id\":1,\"eos_token_id\":[5,6,7]}";
	struct model_config c;
	struct buf b = {0};
	struct err e = {0};

	write_config(*state, "{" SHAPE "\"model_type\":\"llama\","
		     "\"bos_token_id\":0,\"eos_token_id\":9}");
	test_write(test_path(*state, "generation_config.json"), gen,
		   strlen(gen));
	assert_int_equal(config_load(&c, *state, &e), 0);
	assert_true(c.bos == 0 && c.eos == 5 && config_is_eos(&c, 7) &&
		    !config_is_eos(&c, 9));
	config_json(&c, &b);
	test_write(test_path(*state, "config.json"), b.p, b.n);
	unlink(test_path(*state, "generation_config.json"));
	assert_int_equal(config_load(&c, *state, &e), 0);
	assert_true(config_is_eos(&c, 5) && config_is_eos(&c, 6) &&
		    config_is_eos(&c, 7) && c.neos_more == 2);
	buf_clear(&b);
}

/* What is written reads back as the same, and has both spellings. */
static void
round_trip(void **state)
{
	struct model_config c = {.vocab = 1000, .max_pos = 512, .bos = 3,
		.eos = -1, .dtype = K_BF16, .init_std = 0.02}, d;
	struct buf b = {0};
	struct err e = {0};
	int qk;

	for (qk = 0; qk < 2; qk++) {
		config_preset(&c, PRESET_10M);
		c.rope_theta = 123456.789;
		c.qk_norm = qk;
		buf_reset(&b);
		config_json(&c, &b);
		test_write(test_path(*state, "config.json"), b.p, b.n);
		if (config_load(&d, *state, &e) < 0)
			fail_msg("%s", e.msg);
		assert_int_equal(d.hidden, c.hidden);
		assert_int_equal(d.kv_heads, c.kv_heads);
		assert_int_equal(d.max_pos, 512);
		assert_int_equal(d.bos, 3);
		assert_int_equal(d.eos, -1);
		assert_int_equal(d.qk_norm, qk);
		assert_true(d.rope_theta == c.rope_theta && d.tie);
		buf_putc(&b, '\0');
		assert_non_null(strstr(b.p, "\"rope_theta\": 123456.789,"));
		assert_non_null(strstr(b.p, "\"rope_parameters\""));
		assert_non_null(strstr(b.p, "\"torch_dtype\": \"bfloat16\""));
		assert_non_null(strstr(b.p, "\"dtype\": \"bfloat16\""));
	}
	buf_clear(&b);
}

static void
refused_by_name(void **state)
{
	static const struct {
		const char *text, *word;
	} t[] = {
		{"\"model_type\":\"gpt2\"", "model_type"},
		{"\"model_type\":\"llama\",\"attention_bias\":true",
		 "attention_bias"},
		{"\"model_type\":\"llama\",\"mlp_bias\":true", "mlp_bias"},
		{"\"model_type\":\"llama\",\"hidden_act\":\"gelu\"",
		 "hidden_act"},
		{"\"model_type\":\"llama\",\"rope_scaling\":{\"rope_type\":"
		 "\"llama3\",\"factor\":8}", "low_freq_factor is missing"},
		{"\"model_type\":\"llama\",\"rope_scaling\":{\"type\":"
		 "\"linear\"}", "rope_scaling.factor is missing"},
		{"\"model_type\":\"llama\",\"rope_scaling\":{\"type\":"
		 "\"linear\",\"factor\":0}", "rope_scaling.factor is 0"},
		{"\"model_type\":\"llama\",\"rope_parameters\":{\"rope_type\":"
		 "\"yarn\",\"rope_theta\":1e4}",
		 "rope_parameters.factor is missing"},
		{"\"model_type\":\"llama\",\"rope_scaling\":{\"rope_type\":"
		 "\"longrope\",\"factor\":8}", "\"longrope\""},
		{"\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"su\"}",
		 "rope_scaling has the type \"su\""},
		{"\"model_type\":\"llama\",\"rope_scaling\":{\"type\":"
		 "\"linear\",\"rope_type\":\"dynamic\",\"factor\":2}",
		 "the rope_type \"dynamic\", but the type \"linear\""},
		{"\"model_type\":\"llama\",\"rope_scaling\":{\"type\":"
		 "\"default\",\"mrope_section\":[16,24,24]}",
		 "mrope_section"},
		{"\"model_type\":\"llama\",\"rope_scaling\":{\"type\":"
		 "\"linear\",\"factor\":2},\"rope_parameters\":{\"rope_type\":"
		 "\"linear\",\"factor\":4}", "differ"},
		{"\"model_type\":\"llama\",\"rope_theta\":1e4,"
		 "\"rope_parameters\":{\"rope_theta\":5e5}", "rope_theta"},
		{"\"model_type\":\"llama\",\"partial_rotary_factor\":0.5",
		 "partial_rotary"},
		{"\"model_type\":\"llama\",\"quantization_config\":{}",
		 "quantization"},
		{"\"model_type\":\"llama\",\"use_sliding_window\":true",
		 "sliding"},
		{"\"model_type\":\"qwen3\",\"layer_types\":["
		 "\"sliding_attention\"]", "layer_types"},
		{"\"model_type\":\"qwen3\",\"use_sliding_window\":true,"
		 "\"layer_types\":[\"sliding_attention\",\"full_attention\"]",
		 "layer_types"},
		{"\"model_type\":\"mistral\",\"sliding_window\":0",
		 "sliding_window"},
		{"\"model_type\":\"llama\",\"num_key_value_heads\":3",
		 "not a multiple"},
		{"\"model_type\":\"llama\",\"head_dim\":5", "odd"},
		{"\"model_type\":\"llama\",\"rms_norm_eps\":0", "norm eps"},
		{"\"model_type\":\"llama\",\"rms_norm_eps\":\"x\"",
		 "rms_norm_eps"},
	};
	size_t i;

	for (i = 0; i < TEST_COUNT(t); i++) {
		struct model_config c;
		struct err e = {0};
		char text[600];

		snprintf(text, sizeof text, "{" SHAPE "%s}", t[i].text);
		write_config(*state, text);
		if (config_load(&c, *state, &e) == 0)
			fail_msg("accepted: %s", t[i].text);
		if (!strstr(e.msg, t[i].word) || !strstr(e.msg, "config.json"))
			fail_msg("%s: message \"%s\"", t[i].text, e.msg);
	}
}

/* Scaling that scales nothing is fine: null, or the type "default". */
static void
default_scaling_is_none(void **state)
{
	struct model_config c;
	struct err e = {0};

	write_config(*state, "{" SHAPE "\"model_type\":\"llama\","
		     "\"rope_scaling\":null,\"attention_dropout\":0.0,"
		     "\"rope_parameters\":{\"rope_type\":\"default\","
		     "\"rope_theta\":2e4,\"partial_rotary_factor\":1.0}}");
	if (config_load(&c, *state, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(c.rope_theta == 2e4);
}

/* ---- options.h ---- */

static void
file_and_line(void **state)
{
	const char *path = test_path(*state, "c.json");
	const char *text = "{\"seq_len\": 128, \"batch-size\": 3, \"lr\": "
		"0.5, \"tie_embeddings\": false, \"order\": \"random\","
		" \"data\": [\"a\", \"b\"]}";
	struct options o;
	struct arg rows[OPTIONS_MAX];
	struct err e = {0};
	size_t n, i;

	options_init(&o);
	n = options_table(&o, rows);
	o.batch_size = 7;
	for (i = 0; i < n; i++)
		if (!strcmp(rows[i].name, "batch-size"))
			*rows[i].given = 1;
	test_write(path, text, strlen(text));
	if (options_load(&o, path, 0, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(o.seq_len, 128);
	assert_int_equal(o.batch_size, 7);	/* the command line wins */
	assert_true(o.lr == 0.5 && !o.tie_embeddings);
	assert_int_equal(o.order, ORDER_RANDOM);
	assert_int_equal(o.data.n, 2);
	assert_string_equal(o.data.v[1], "b");
}

static void
bad_files(void **state)
{
	static const char *const t[][2] = {
		{"{\"learning_rate\": 1}", "learning_rate"},
		{"{\"lr\": \"x\"}", "lr"},
		{"{\"steps\": 1.5}", "steps"},
		{"{\"steps\": -1}", "out of range"},
		{"{\"resume\": \"x\"}", "resume"},
		{"{\"order\": \"best\"}", "order"},
		{"{\"data\": \"x\"}", "array"},
		{"{\"doc_mask\": 1}", "true or false"},
		{"[]", "object"},
	};
	const char *path = test_path(*state, "c.json");
	size_t i;

	for (i = 0; i < TEST_COUNT(t); i++) {
		struct options o;
		struct err e = {0};

		options_init(&o);
		test_write(path, t[i][0], strlen(t[i][0]));
		assert_int_equal(options_load(&o, path, 0, &e), -1);
		if (!strstr(e.msg, t[i][1]))
			fail_msg("%s: message \"%s\"", t[i][0], e.msg);
	}
}

/* What is stored loads to the same; every option is there. */
static void
stored_options(void **state)
{
	const char *path = test_path(*state, "c.json");
	struct options o, p;
	struct buf b = {0}, c = {0};
	struct err e = {0};

	options_init(&o);
	o.preset = PRESET_10M;
	o.seq_len = 77;
	o.lr = 0.1 + 0.2;
	o.tokenizer = "a \"b\"";
	o.qk_norm = 1;
	buf_putc(&b, '{');
	options_json(&o, &b);
	buf_putc(&b, '}');
	test_write(path, b.p, b.n);
	options_init(&p);
	if (options_load(&p, path, 0, &e) < 0)
		fail_msg("%s", e.msg);
	buf_putc(&c, '{');
	options_json(&p, &c);
	buf_putc(&c, '}');
	assert_int_equal(b.n, c.n);
	assert_memory_equal(b.p, c.p, b.n);
	assert_true(p.lr == o.lr);
	buf_clear(&b);
	buf_clear(&c);
}

static void
resolves(void **state)
{
	struct options o;
	struct model_config c;
	struct err e = {0};

	(void)state;
	options_init(&o);
	o.seq_len = 256;
	assert_int_equal(options_resolve(&o, NULL, 1000, &c, &e), -1);
	assert_non_null(strstr(e.msg, "no shape"));
	e.set = 0;
	o.preset = PRESET_10M;
	o.layers = 3;
	o.batch_size = 40;
	assert_int_equal(options_resolve(&o, NULL, 1000, &c, &e), 0);
	assert_true(c.hidden == 384 && c.layers == 3 && c.kv_heads == 2 &&
		    c.head_dim == 64 && c.vocab == 1000 && c.max_pos == 256);
	assert_int_equal(o.micro_batch, 16);
	assert_true(fabs(o.min_lr - 1e-4) < 1e-18);
	o.micro_batch = 0;
	o.accum = 3;
	assert_int_equal(options_resolve(&o, NULL, 1000, &c, &e), 0);
	assert_int_equal(o.micro_batch, 14);
	assert_int_equal(options_resolve(&o, NULL, 1001, &c, &e), -1);
	assert_non_null(strstr(e.msg, "1000 ids"));
}

static void
override(void **state)
{
	struct options o, cmd;
	struct arg rows[OPTIONS_MAX];
	struct buf changed = {0};
	struct err e = {0};
	size_t n, i;

	(void)state;
	options_init(&o);
	options_init(&cmd);
	n = options_table(&cmd, rows);
	for (i = 0; i < n; i++)
		if (!strcmp(rows[i].name, "lr") ||
		    !strcmp(rows[i].name, "steps"))
			*rows[i].given = 1;
	cmd.steps = 5;
	assert_int_equal(options_override(&o, &cmd, &changed, &e), 0);
	assert_int_equal(o.steps, 5);
	buf_putc(&changed, '\0');
	assert_string_equal(changed.p, "steps 1000 5\n");
	cmd.lr = 9;
	assert_int_equal(options_override(&o, &cmd, &changed, &e), -1);
	assert_non_null(strstr(e.msg, "--lr is 9, the run has 0.001"));
	e.set = 0;
	cmd.allow_changed_config = 1;
	assert_int_equal(options_override(&o, &cmd, &changed, &e), 0);
	assert_true(o.lr == 9);
	buf_clear(&changed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(presets),
		TEST_IN_FOLDER(operations),
		TEST_IN_FOLDER(reads_both_spellings),
		TEST_IN_FOLDER(ends_of_text),
		TEST_IN_FOLDER(round_trip),
		TEST_IN_FOLDER(refused_by_name),
		TEST_IN_FOLDER(default_scaling_is_none),
		TEST_IN_FOLDER(file_and_line),
		TEST_IN_FOLDER(bad_files),
		TEST_IN_FOLDER(stored_options),
		TEST_IN_FOLDER(resolves),
		TEST_IN_FOLDER(override),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
