/* operand_copy.h - how an operand's steps come to LDS on sm_80 and later: by
 * cp.async, where lines are aligned to a copy, or by way of registers */
#pragma once

#include "nvidia/copy/any_piece.h"
#include "nvidia/copy/async_copy.h"

/*
 * By `Threads` threads from thread `First` on, `Once` bytes at a time, which
 * become 16 in LDS if they are more. L says how a step lies there:
 *
 *   along           lines lie along K; else across
 *   lines, pieces   of a step; of a line, 16 bytes each
 *   line_nbytes     from line to line, 8 apart or more
 *   place(line, piece)
 */
template <typename T, class L, u32 Threads, u32 First = 0, u32 Once = 16>
struct OperandCopy : L {
    static constexpr u32 n = Once / sizeof(T); /* numbers of a copy */
    static constexpr u32 of_piece = Once > 16 ? n : per16<T>::value;
    static constexpr u32 length = L::pieces * of_piece; /* of a line */
    static constexpr u32 k = L::along ? length : L::lines;
    static constexpr u32 rows = L::along ? L::lines : length;
    static constexpr u32 pass_lines = Threads / (length / n);
    static constexpr u32 passes = div_up(L::lines, pass_lines);
    /* lines of the last pass, which all threads or the first ones bring */
    static constexpr u32 last_lines = L::lines - (passes - 1) * pass_lines;

    const T *from; /* this thread's numbers in the matrix */
    u64 pass_step; /* elements from pass to pass */
    u64 step;
    u32 lds; /* this thread's place in a stage */
    /* Lines along K: the first k of a copy, and the passes in which this thread
     * has a row. Else: the bytes of a copy inside the matrix, and this thread's
     * first line. */
    u32 along_at, across;
    bool ends;  /* this thread has a line of the last pass */
    bool whole; /* no row of the tile is missing */

    OperandCopy() = default;
    DEV_MEMBER OperandCopy(const T *matrix, u32 row0, u32 nrows, u32 ld, u32 k0)
    {
        const u32 line = first_line(), column = first_column();
        const u32 extent = nrows - row0;

        ends = last_lines == pass_lines || line < last_lines;
        whole = extent >= rows;
        lds = place_of(0);
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
        return is_aligned(matrix, Once) && ld % n == 0 &&
               (batch == 1 || stride % n == 0);
    }
    static DEV_MEMBER u32 first_line()
    {
        return (threadIdx.x - First) / (length / n);
    }
    static DEV_MEMBER u32 first_column()
    {
        return (threadIdx.x - First) % (length / n) * n;
    }
    static DEV_MEMBER u32 nbytes_of(u32 begin, u32 end)
    {
        return end > begin ? min_of(end - begin, n) * (u32)sizeof(T) : 0;
    }
    static DEV_MEMBER u32 place_of(u32 pass)
    {
        const u32 at = first_column();

        return L::place(first_line() + pass * pass_lines, at / of_piece) +
               at % of_piece * sizeof(T);
    }
    /* The place of a pass. Lines 8 apart have the same permutation. */
    DEV_MEMBER u32 at(u32 pass) const
    {
        return pass_lines % 8 == 0 ? lds + pass * pass_lines * L::line_nbytes
                                   : place_of(pass);
    }
    DEV_MEMBER bool has_line(u32 pass) const
    {
        return pass + 1 < passes || passes == 1 || ends;
    }
    /* The bytes of a pass inside the matrix, if a step has `left` of K. */
    DEV_MEMBER u32 there(u32 pass, u32 left) const
    {
        const u32 some = L::along ? nbytes_of(along_at, left) : along_at;
        const bool is_in =
            L::along ? pass < across : across + pass * pass_lines < left;

        return is_in ? some : 0;
    }
    /* Starts copying a step; zeros fill the part of K behind `left`. */
    DEV_MEMBER void copy(u32 stage, u32 left)
    {
        if (passes == 1 && !ends)
            return;
        if (!whole || left < k) {
            UNROLL
            for (u32 i = 0; i < passes; i++) {
                if (has_line(i))
                    copy_part(stage + at(i), from + i * pass_step,
                              there(i, left));
            }
            return;
        }
        UNROLL
        for (u32 i = 0; i < passes; i++) {
            if constexpr (Once == 16)
                async_copy_16_if(has_line(i), stage + at(i),
                                 from + i * pass_step);
            else
                copy_part(stage + at(i), from + i * pass_step, Once);
        }
    }
    static DEV_MEMBER void copy_part(u32 to, const T *from, u32 nbytes)
    {
        if constexpr (Once == 16)
            async_copy_part(to, from, nbytes);
        else
            async_copy_few<Once>(to, from, nbytes);
    }
    DEV_MEMBER void next()
    {
        from += step;
    }
};

/* By way of registers, as pieces that are aligned to an element alone. */
template <typename T, class L, u32 Threads>
struct OperandLoad : OperandCopy<T, L, Threads> {
    typedef OperandCopy<T, L, Threads> Base;
    static_assert(Base::pass_lines % 8 == 0 &&
                      Base::passes * Base::pass_lines == L::lines,
                  "passes are whole, and as far from aligned pieces");

    AnyPiece<false> in[Base::passes];
    u32 loaded; /* of K */

    OperandLoad() = default;
    DEV_MEMBER OperandLoad(const T *matrix, u32 row0, u32 nrows, u32 ld, u32 k0)
        : Base(matrix, row0, nrows, ld, k0)
    {
    }
    static DEV_MEMBER bool fits(const T *, u32, u32, i64)
    {
        return true;
    }
    /* Starts loading the next step, which has `left` of K or more than that. */
    DEV_MEMBER void load(u32 left)
    {
        loaded = left;
        UNROLL
        for (u32 i = 0; i < Base::passes; i++)
            in[i].load(Base::from + i * Base::pass_step,
                       Base::there(i, left) / (u32)sizeof(T));
        Base::next();
    }
    DEV_MEMBER void store(u8 *stage) const
    {
        /* the same in each step, which is a multiple of 16 bytes on */
        const u32 turn = AnyPiece<false>::turn_of(Base::from);

        UNROLL
        for (u32 i = 0; i < Base::passes; i++) {
            Piece v = in[i].get(turn);

            if (L::along && loaded < Base::k)
                v = first_of_piece<T>(v,
                                      Base::nbytes_of(Base::along_at, loaded) /
                                          (u32)sizeof(T));
            *reinterpret_cast<Piece *>(stage + Base::at(i)) = v;
        }
    }
};
