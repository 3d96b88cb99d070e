/* mat_vec_loop.h - rows of a GGUF matrix times Q8_1 columns: the main loop */
#pragma once

#include "early.h"
#include "nvidia/quantized/q8_1_mma.h"
#include "quantized/mat_vec_rows.h"

/*
 * The rows that a workgroup makes: a job at row0 and, where workers are
 * persistent, more jobs `step` rows further each. lane, warp and group are
 * threadIdx and blockIdx.x.
 */
struct Jobs {
    u32 lane, warp, group;
    u32 row0, step;
};

/*
 * A job is Feed::rows rows. It loops over K in steps, of which a warp takes
 * every stride'th; `splits` warps share a row, and a step has `parts` stages of
 * rows. Feeds (mat_vec_feeds.h) differ in how a warp gets its bytes and in the
 * unit that multiplies:
 *
 *   begin()        starts loading the first stages of a job
 *   begin_step()   loads a step's columns to registers, if they stay there
 *   wait()         waits until the next stage is loaded
 *   multiply()     adds the stage's products to a lane's sums
 *   release()      frees the stage and starts loading one more
 *
 * With on_lanes, every lane has its part of each sum of one row and column, and
 * lanes are added up at the end. Other feeds' sums lie as mma_32() leaves them.
 */
template <class F, int N, class Feed> struct MatVecLoop {
    static constexpr u32 rows = Feed::rows, splits = Feed::splits;
    static constexpr u32 warps = vec_warps<N>;
    typedef float Part[splits][N * rows]; /* [column, row] */

    struct Lds {
        typename Feed::Lds feed;
        Part part[Feed::loops ? 2 : 1]; /* of this job and the one before */
    };

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, const Jobs &jobs)
    {
        const u32 nrows = (u32)m.nrows;

        if (jobs.row0 >= nrows)
            return;

        Feed feed(lds.feed, m, jobs);
        u32 current = 0;

        NO_UNROLL
        for (u32 row0 = jobs.row0; row0 < nrows; row0 += jobs.step) {
            float sums[Feed::parts][Feed::nsums] = {};

            feed.begin(m, row0);
            NO_UNROLL
            for (int step = feed.first(); step < feed.steps();
                 step += Feed::stride) {
                feed.begin_step(step);
                UNROLL
                for (int part = 0; part < Feed::parts; part++) {
                    feed.wait();
                    feed.multiply(sums[part], step);
                    feed.release(step);
                }
            }
            if (Feed::loops && begins_early && row0 + jobs.step >= nrows)
                let_next_launch_begin(); /* no more loads follow */
            put(lds.part[current], sums, m, feed, jobs, row0);
            join(lds.part[current], m, jobs, row0);
            if (!Feed::loops)
                return;
            current ^= 1;
        }
    }

  private:
    template <typename T>
    static DEV_MEMBER void store(const MatVec<T> &m, u32 row, u32 col,
                                 float sum)
    {
        if (row < (u32)m.nrows)
            m.dst[(N == 1 ? 0 : col * m.dst_stride) + row] = convert<T>(sum);
    }

    /* Passes a warp's sums to the warps that share its rows, or to memory. */
    template <typename T>
    static DEV_MEMBER void
    put(Part &part, const float (&sums)[Feed::parts][Feed::nsums],
        const MatVec<T> &m, const Feed &feed, const Jobs &jobs, u32 row0)
    {
        if constexpr (Feed::on_lanes) {
            constexpr int total = Feed::parts * Feed::nsums;
            float flat[total];
            int index;

            UNROLL
            for (int i = 0; i < total; i++)
                flat[i] = sums[i / Feed::nsums][i % Feed::nsums];

            const float sum = sum_lanes<16>(flat, (int)jobs.lane, index);
            const u32 row = feed.row_of((u32)index / N), col = (u32)index % N;

            if (index >= total)
                return;
            if constexpr (splits == 1)
                store(m, row0 + row, col, sum);
            else
                part[feed.split()][col * rows + row] = sum;
        } else {
            UNROLL
            for (u32 i = 0; i < 4; i++) {
                const u32 col = 2 * (jobs.lane & 3) + i % 2;

                if (N == 8 || col < N)
                    part[feed.split()][col * rows + jobs.lane / 4 + i / 2 * 8] =
                        sums[0][i];
            }
        }
    }

    /* the sums of all splits, to memory */
    template <typename T>
    static DEV_MEMBER void join(const Part &part, const MatVec<T> &m,
                                const Jobs &jobs, u32 row0)
    {
        if constexpr (splits > 1) {
            __syncthreads();
            UNROLL
            for (u32 first = 0; first < N * rows; first += 32 * warps) {
                const u32 at = first + jobs.warp * 32 + jobs.lane;
                const u32 row = row0 + at % rows, col = at / rows;
                const bool is_one = at < N * rows && row < (u32)m.nrows;
                float sum = 0;

                UNROLL
                for (u32 s = 0; is_one && s < splits; s++)
                    sum += part[s][at];
                if constexpr (!Feed::on_lanes)
                    redo_sums<F>(sum, m, (int)row, (int)col);
                if (is_one)
                    store(m, row, col, sum);
            }
        }
    }
};
