/*
 * gpt2_bin - write random weights of GPT-2 124M as llm.c reads them
 *
 * usage: gpt2_bin FILE
 *
 * 256 int32: magic, version 3, positions, ids, layers, heads, width, padded
 * ids; then fp32 tensors, each for all layers: embeddings of ids and of
 * positions, norm 1, qkv, attention's output, norm 2, up, down (weight before
 * bias), last norm.  Weights are drawn as GPT-2's are, with deviation 0.02
 * (two matrices a layer less); the padded ids are zero.  A step costs the same
 * whatever the weights are.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { POSITIONS = 1024, IDS = 50257, LAYERS = 12, HEADS = 12, WIDTH = 768,
	PADDED = 50304 };

static uint64_t state = 1;

/* Twelve uniform numbers make one that is nearly normal. */
static float
normal(float deviation)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(state >> 40) / (1 << 24);
	}
	return deviation * (float)sum;
}

/* n numbers: normal about 0 when deviation > 0, else all of them value. */
static void
put(FILE *f, size_t n, float deviation, float value)
{
	float row[WIDTH];	/* WIDTH divides every n */

	for (size_t i = 0; i < n; i += WIDTH) {
		for (int k = 0; k < WIDTH; k++)
			row[k] = deviation > 0 ? normal(deviation) : value;
		fwrite(row, sizeof row, 1, f);
	}
}

static void
write_model(FILE *f)
{
	int32_t head[256] = { 20240326, 3, POSITIONS, IDS, LAYERS, HEADS,
		WIDTH, PADDED };
	const float d = 0.02f, less = d / sqrtf(2 * LAYERS);
	const size_t c = WIDTH, l = LAYERS;

	fwrite(head, sizeof head, 1, f);
	put(f, IDS * c, d, 0);
	put(f, (PADDED - IDS) * c, 0, 0);
	put(f, POSITIONS * c, d, 0);
	put(f, l * c, 0, 1);		/* norm 1 */
	put(f, l * c, 0, 0);
	put(f, l * 3 * c * c, d, 0);	/* qkv */
	put(f, l * 3 * c, 0, 0);
	put(f, l * c * c, less, 0);	/* attention's output */
	put(f, l * c, 0, 0);
	put(f, l * c, 0, 1);		/* norm 2 */
	put(f, l * c, 0, 0);
	put(f, l * 4 * c * c, d, 0);	/* up */
	put(f, l * 4 * c, 0, 0);
	put(f, l * c * 4 * c, less, 0);	/* down */
	put(f, l * c, 0, 0);
	put(f, c, 0, 1);		/* last norm */
	put(f, c, 0, 0);
}

int
main(int argc, char **argv)
{
	FILE *f;

	if (argc != 2) {
		fputs("usage: gpt2_bin FILE\n", stderr);
		return 2;
	}
	f = fopen(argv[1], "wb");
	if (!f) {
		perror(argv[1]);
		return 2;
	}
	write_model(f);
	if (ferror(f) | fclose(f)) {
		perror(argv[1]);
		return 2;
	}
	return 0;
}
