/* operand_copy.h - copies an operand's steps of f16 or bf16 to LDS by cp.async;
 * lines are aligned to 16 bytes */
#pragma once

#include "nvidia/copy/async_copy.h"

/*
 * Copies by `Threads` threads from thread `First` on. L is the layout of a step
 * in LDS:
 *
 *   along           true if lines run along K
 *   lines, pieces   lines of a step; pieces of 16 bytes of a line
 *   line_nbytes     from line to line, 8 apart or more
 *   place(line, piece)
 */
template <typename T, class L, u32 Threads, u32 First = 0>
struct OperandCopy : L {
    static constexpr u32 k = L::along ? L::pieces * 8 : L::lines;
    static constexpr u32 rows = L::along ? L::lines : L::pieces * 8;
    static constexpr u32 pass_lines = Threads / L::pieces;
    static constexpr u32 passes = div_up(L::lines, pass_lines);
    static_assert(pass_lines % 8 == 0, "passes have the same permutation");
    /* lines of the last pass, copied by all threads or by the first ones */
    static constexpr u32 last_lines = L::lines - (passes - 1) * pass_lines;

    const T *from; /* this thread's piece in the matrix */
    u64 pass_step; /* elements from pass to pass */
    u64 step;
    u32 lds; /* this thread's piece in a stage */
    /* Lines along K: the piece's first k, and the passes in which this thread
     * has a row. Else: the piece's bytes inside the matrix, and this thread's
     * first line. */
    u32 along_at, across;
    bool ends;  /* this thread has a line of the last pass */
    bool whole; /* no row of the tile is missing */

    OperandCopy() = default;
    DEV_MEMBER OperandCopy(const T *matrix, u32 row0, u32 nrows, u32 ld, u32 k0)
    {
        const u32 t = threadIdx.x - First;
        const u32 line = t / L::pieces;
        const u32 piece = t % L::pieces, column = piece * 8;
        const u32 extent = nrows - row0;

        ends = last_lines == pass_lines || line < last_lines;
        whole = extent >= rows;
        lds = L::place(line, piece);
        along_at = L::along ? column : nbytes_of(column, extent);
        across = !L::along       ? line
                 : extent > line ? div_up(extent - line, pass_lines)
                                 : 0;
        pass_step = (u64)pass_lines * ld;
        step = L::along ? k : (u64)k * ld;
        from = matrix + (L::along ? (u64)(row0 + line) * ld + k0 + column
                                  : (u64)(k0 + line) * ld + row0 + column);
    }
    static DEV_MEMBER bool fits(const T *matrix, u32 ld, u32 batch, i64 stride)
    {
        return is_aligned(matrix, 16) && ld % 8 == 0 &&
               (batch == 1 || stride % 8 == 0);
    }
    static DEV_MEMBER u32 nbytes_of(u32 begin, u32 end)
    {
        return end > begin ? min_of(end - begin, 8u) * 2 : 0;
    }
    DEV_MEMBER bool has_line(u32 pass) const
    {
        return pass + 1 < passes || passes == 1 || ends;
    }
    /* Starts copying a step; zeros fill the part of K behind `left`. */
    DEV_MEMBER void copy(u32 stage, u32 left)
    {
        if (passes == 1 && !ends)
            return;
        if (!whole || left < k) {
            copy_end(stage, left);
            return;
        }
        UNROLL
        for (u32 i = 0; i < passes; i++)
            copy_pass(stage, i, has_line(i));
    }
    /* One pass of a step that is entirely in the matrix, if `go`. */
    DEV_MEMBER void copy_pass(u32 stage, u32 i, bool go)
    {
        async_copy_16_if(go, stage + lds + i * pass_lines * L::line_nbytes,
                         from + i * pass_step);
    }
    /* a step that is perhaps not */
    DEV_MEMBER void copy_end(u32 stage, u32 left)
    {
        const u32 n = L::along ? nbytes_of(along_at, left) : along_at;

        UNROLL
        for (u32 i = 0; i < passes; i++) {
            const bool is_in =
                L::along ? i < across : across + i * pass_lines < left;

            if (has_line(i))
                async_copy_part(stage + lds + i * pass_lines * L::line_nbytes,
                                from + i * pass_step, is_in ? n : 0);
        }
    }
    DEV_MEMBER void next()
    {
        from += step;
    }
};

/*
 * The same for an operand whose rows are given by a list; lines run along K.
 * Lines without a row keep their old content in LDS, because their results are
 * not stored.
 */
template <typename T, class L, u32 Threads> struct ListedCopy : L {
    static constexpr u32 k = L::pieces * 8;
    static constexpr u32 pass_lines = Threads / L::pieces;
    static constexpr u32 passes = L::lines / pass_lines;
    static_assert(L::along && pass_lines % 8 == 0 &&
                      passes * pass_lines == L::lines,
                  "passes have the same permutation");

    const T *from[passes]; /* this thread's pieces, or null */
    u32 lds, column, at;

    ListedCopy() = default;
    /* row(line): the row's address, or null */
    template <class Row> DEV_MEMBER explicit ListedCopy(Row row)
    {
        const u32 line = threadIdx.x / L::pieces;
        const u32 piece = threadIdx.x % L::pieces;

        lds = L::place(line, piece);
        at = column = piece * 8;
        UNROLL
        for (u32 i = 0; i < passes; i++)
            from[i] = row(line + i * pass_lines);
    }
    /* Starts copying a step; zeros fill the part of K behind `left`. */
    DEV_MEMBER void copy(u32 stage, u32 left)
    {
        const u32 n = left > column ? min_of(left - column, 8u) * 2 : 0;

        UNROLL
        for (u32 i = 0; i < passes; i++) {
            const u32 to = stage + lds + i * pass_lines * L::line_nbytes;

            if (left >= k)
                async_copy_16_if(from[i] != nullptr, to, from[i] + at);
            else if (from[i])
                async_copy_part(to, from[i] + at, n);
        }
    }
    DEV_MEMBER void next()
    {
        at += k;
    }
};
