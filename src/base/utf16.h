/* utf16.h - Windows' texts are UTF-16, kpack's UTF-8 */
#ifndef KPK_BASE_UTF16_H
#define KPK_BASE_UTF16_H

#include <errno.h>
#include <stdbool.h>
#include <wchar.h>
/* must precede windows.h */
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

enum { UTF16_MAX = 4096 };

/* False, with "" and a reason in errno, for what is no text or has no room. */
static inline bool utf16_of(const char *text, wchar_t out[UTF16_MAX])
{
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out,
                            UTF16_MAX) > 0)
        return true;
    out[0] = L'\0';
    errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : EINVAL;
    return false;
}

static inline bool utf16_to_utf8(const wchar_t *text, char *out, size_t nbytes)
{
    if (WideCharToMultiByte(CP_UTF8, 0, text, -1, out, (int)nbytes, NULL,
                            NULL) > 0)
        return true;
    out[0] = '\0';
    errno = ENAMETOOLONG;
    return false;
}

#endif
