/* os.h - what POSIX and Windows do differently: locks, libraries, memory
 *
 * os_posix.c and os_windows.c define all of it; a build takes one of them. No
 * other file of the runtime asks which system it is compiled for. Texts are
 * UTF-8 on both.
 */
#ifndef KPK_OS_H
#define KPK_OS_H

#include "internal.h"

#ifndef _WIN32
#include <pthread.h>
#endif

#pragma GCC visibility push(hidden)

/* ---- locks --------------------------------------------------------------- */

/* All of one type begin as the constant of that type, which may be copied into
 * place, and need no end. */
#ifdef _WIN32
typedef struct { /* of an SRWLOCK */
    void *word;
} kpk_i_mutex, kpk_i_rwlock;
typedef struct { /* of an INIT_ONCE */
    void *word;
} kpk_i_once;
/* clang-format off */
#define KPK_I_MUTEX_FRESH {NULL}
#define KPK_I_RWLOCK_FRESH {NULL}
#define KPK_I_ONCE_FRESH {NULL}
/* clang-format on */
#else
typedef pthread_mutex_t kpk_i_mutex;
typedef pthread_rwlock_t kpk_i_rwlock;
typedef pthread_once_t kpk_i_once;
#define KPK_I_MUTEX_FRESH PTHREAD_MUTEX_INITIALIZER
#define KPK_I_RWLOCK_FRESH PTHREAD_RWLOCK_INITIALIZER
#define KPK_I_ONCE_FRESH PTHREAD_ONCE_INIT
#endif

void kpk_i_lock(kpk_i_mutex *mutex);
bool kpk_i_try_lock(kpk_i_mutex *mutex);
void kpk_i_unlock(kpk_i_mutex *mutex);

/* Read by many at once, or written by one. */
void kpk_i_read_lock(kpk_i_rwlock *lock);
void kpk_i_read_unlock(kpk_i_rwlock *lock);
void kpk_i_write_lock(kpk_i_rwlock *lock);
void kpk_i_write_unlock(kpk_i_rwlock *lock);

/* The first caller runs `call`; simultaneous callers wait until it returns. */
void kpk_i_run_once(kpk_i_once *once, void (*call)(void));

/* Has `in_child` called in each child of fork(); does nothing on Windows. */
void kpk_i_at_fork(void (*in_child)(void));

/* ---- libraries ----------------------------------------------------------- */

/* A driver's library: the names and places of its files. */
struct kpk_i_library {
    const char *stem;   /* of a file's name, before a number */
    int newest, oldest; /* numbers to look for */
    /* Folders to look in after the loader's own, each with its separator, and
     * NULL. */
    const char *const *folders;
    const char *root;   /* has a folder for each release; may be NULL */
    const char *absent; /* message: it is in none of these places */
    const char *advice; /* message: what to do about it */
};
extern const struct kpk_i_library kpk_i_hip_library;
extern const struct kpk_i_library kpk_i_cuda_library;
extern const struct kpk_i_library kpk_i_rccl_library;
extern const struct kpk_i_library kpk_i_nccl_library;

/* The folder and the file's name: libamdhip64.so.7, amdhip64_7.dll. A `number`
 * below 0: the name without a number. */
void kpk_i_library_name(const struct kpk_i_library *library, const char *folder,
                        int number, char *out, size_t nbytes);

/* Calls with each release's folder below the root, the newest first, until a
 * call returns true. Returns whether one did. */
typedef bool kpk_i_release(const struct kpk_i_library *library,
                           const char *folder, void *what);
bool kpk_i_each_release(const struct kpk_i_library *library,
                        kpk_i_release *call, void *what);

/* The process as a whole: the program, its libraries and preloaded ones. */
#define KPK_I_PROCESS ((void *)0)

/* The handle of a file, or NULL. A name without a folder is looked for where
 * the system keeps libraries. */
void *kpk_i_library_open(const char *name);
/* Why the thread's last call failed; NULL if the system does not say. */
const char *kpk_i_library_error(void);
/* Whether kpk_i_library_open() failed because there is no such file. */
bool kpk_i_library_is_absent(const char *name, const char *error);
void kpk_i_library_close(void *handle);

/* The handle of copy number `i` of a library that is in the process, however it
 * came there, to be closed; NULL if there are not so many. */
void *kpk_i_library_loaded(const struct kpk_i_library *library, size_t i);

/* The address of a function or an object, or NULL. */
void *kpk_i_library_symbol(void *handle, const char *name);

/* The name of the file of a handle, or of an address in one; NULL if that is
 * not known. */
const char *kpk_i_library_file(void *handle);
const char *kpk_i_file_with(const void *address);

/* ---- the process --------------------------------------------------------- */

/* An address for each shared object, and for the program. */
const void *kpk_i_object_with(const void *address);
bool kpk_i_is_in_program(const void *address);
bool kpk_i_program_is_static(void);

/* A variable of the environment; NULL where it is not set, or must not count:
 * in a program with more rights than its user. Valid until the thread's next
 * call. */
const char *kpk_i_secure_getenv(const char *name);

/* Maps all pages of fresh memory at once, where the system can. */
void kpk_i_touch_pages(void *memory, size_t nbytes);

#pragma GCC visibility pop

#endif
