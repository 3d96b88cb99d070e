/* host_type.h - the host's types for kernels' parameters
 *
 * A host compiler knows neither the kernel's structs nor its small floats, so
 * a launcher is written in types that C and C++ have:
 *
 *   int, u32 (a typedef) ...   int32_t, uint32_t: integers by their size;
 *                              size_t and the names of <stdint.h> stay
 *   _Float16, __half, __bf16   kpk_f16, kpk_bf16, likewise, from kpack/types.h
 *   float4, dim3 ...           kpk_float4, kpk_uint3: likewise
 *   an enum                    its integer type
 *   a struct, by value         a struct with the same members, written into
 *                              the header as kpk_MODULE_NAME; an array of bytes
 *                              if C cannot express it (base classes, bit
 *                              fields, alignment)
 *   T *, T &                   a pointer to the host's type for T; void * if T
 *                              is a struct or a function
 *
 * A file types.csv beside the kernels overrides all this: a row `type,host,
 * header` gives a type's host type and the header that declares it.
 */
#ifndef KPK_GEN_HOST_TYPE_H
#define KPK_GEN_HOST_TYPE_H

#include <stdio.h>

#include "read/csv.h"
#include "read/ir.h"

#define HOST_TEXT_MAX 1024

struct host_types;

/* `module` begins the names of structs; `table` is types.csv or NULL. */
struct host_types *host_types_new(const struct ir *ir, const char *module,
                                  const struct csv *table);
void host_types_free(struct host_types *h);

/*
 * host_declare() writes the declaration of a parameter, "const float *inp",
 * and notes the structs and headers that the declaration needs. An empty name
 * gives the type alone. False, and the C++ type's name in `out`, if C has no
 * such type.
 */
bool host_declare(struct host_types *h, unsigned type, const char *name,
                  char out[HOST_TEXT_MAX]);

/* The size of a type as a kernel's argument. */
unsigned long long host_nbytes(const struct host_types *h, unsigned type);

/* Write the text before the declarations: #include lines, struct definitions.
 */
void host_write_includes(FILE *f, const struct host_types *h);
void host_write_structs(FILE *f, const struct host_types *h);

/* The structs' names less kpk_. */
size_t host_nstructs(const struct host_types *h);
const char *host_struct_name(const struct host_types *h, size_t i);

/* A C++ name as part of a C name: each run of characters that C refuses becomes
 * one '_'. */
void host_squeeze(const char *name, char *out, size_t nbytes);

#endif
