/*
 * safetensors.h - named tensors in a file, as Hugging Face writes them
 *
 * A file is: u64 little-endian N, N bytes of JSON, the data.  The JSON maps
 * each name to {"dtype","shape","data_offsets":[begin,end]}; offsets count
 * from the first byte after the JSON.  A model may be in several such files,
 * listed by model.safetensors.index.json.
 *
 * st_open() checks everything: header length (at most 100 MB), JSON, known
 * dtype, size = product of shape x width, no overlap or gap between tensors, no
 * name twice, no bytes left over.  Files are mapped, not copied; data may start
 * at an odd address, so read it with st_f32() or memcpy().
 *
 * A struct st is read-only after st_open(); any thread may use it.
 */
#ifndef ASSAY_SAFETENSORS_H
#define ASSAY_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum st_dtype {
	ST_F32, ST_BF16, ST_F16, ST_F64, ST_I64, ST_I32, ST_I16, ST_I8, ST_U64,
	ST_U32, ST_U16, ST_U8, ST_BOOL, ST_F8_E4M3, ST_F8_E5M2, ST_NDTYPES
};

enum { ST_MAX_DIMS = 8, ST_MAX_HEADER = 100000000, ST_ALIGN = 64 };

struct st_tensor {
	const char *name;	/* NUL-terminated; owned by the st */
	enum st_dtype dtype;
	int ndim;		/* 0: a scalar */
	uint64_t shape[ST_MAX_DIMS];	/* row-major */
	uint64_t n;		/* elements */
	uint64_t bytes;		/* n x width */
	const char *data;	/* mapped, may be unaligned; NULL if writing */
	const char *file;	/* for messages */
};

struct st {
	struct st_tensor *v;	/* by name (strcmp order) */
	size_t n;
	void *priv;
};

/*
 * Open one .safetensors file, or a folder: its model.safetensors, else the
 * files of its model.safetensors.index.json, which must hold exactly the
 * tensors listed.  NULL: error, with file and offset or name.
 */
struct st *st_open(const char *path, struct err *e);
void st_close(struct st *s);		/* NULL is fine */

const struct st_tensor *st_find(const struct st *s, const char *name);

/*
 * Elements [at, at+n) as float, from F32, BF16, F16 or F64 (rounded to
 * nearest); -1 for another dtype.  The caller keeps at + n <= t->n.
 */
int st_f32(const struct st_tensor *t, uint64_t at, size_t n, float *out,
	   struct err *e);

/*
 * Elements [at, at+n) will not be read again soon: their pages need not stay
 * in memory.
 */
void st_drop(const struct st_tensor *t, uint64_t at, size_t n);

/* 1: every matrix (tensor of two dimensions) has that dtype. */
int st_matrices_are(const struct st *s, enum st_dtype d);

const char *st_dtype_name(enum st_dtype d);
size_t st_dtype_size(enum st_dtype d);

/* Fill in a tensor to be written: 1 or 2 dimensions (cols 0: one). */
void st_describe(struct st_tensor *t, const char *name, enum st_dtype d,
		 uint64_t rows, uint64_t cols);

/*
 * The bytes before the data of a file with v[0..n) in this order: length, JSON
 * with "__metadata__":{"format":"pt"}, spaces until the data starts at a
 * multiple of ST_ALIGN.
 */
void st_header(const struct st_tensor *v, size_t n, struct buf *out);

#endif
