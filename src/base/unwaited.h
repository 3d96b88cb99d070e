/* unwaited.h - finds write-backs of the L2 cache that no wait follows
 *
 * On gfx90a, gfx942 and gfx950 a release begins with buffer_wbl2, and s_waitcnt
 * says when it is done. LLVM 22.1.8 leaves the wait out where nothing else is
 * under way: the flag that follows may then be seen before the data. Upstream
 * has mended it (llvm-project, pull request 178316).
 *
 * Code is read from the beginning of each function of the symbol table, along
 * each branch, up to the next store, atomic or end of the program. A call or a
 * return ends the search, as does code that is no instruction of these
 * processors. Each reported write-back has a path without a wait.
 */
#ifndef KPK_BASE_UNWAITED_H
#define KPK_BASE_UNWAITED_H

#include <stddef.h>
#include <stdint.h>

/* `offset` is from the beginning of the function; the name is in the data, or
 * "?" if it is not printable. */
typedef void unwaited_report(void *user, const char *function, uint64_t offset);

/*
 * unwaited_find() reports each place of a code object, in the order of its
 * symbols. Bytes that are no code object, or one for other processors, have
 * none; memory for a function may be short, then it is left out.
 */
void unwaited_find(const void *data, size_t nbytes, unwaited_report *report,
                   void *user);

/* The end of a warning, after the place: the meaning and the remedy. */
#define UNWAITED_ADVICE                                                        \
    "no wait follows its buffer_wbl2, so a flag may be seen before the data. " \
    "The compiler left it out; put asm volatile(\"s_waitcnt vmcnt(0)\" ::: "   \
    "\"memory\") behind the fence, or use fence_release() of device.h"

#endif
