/* cards.c - one table of cards, with a source for each number */
#include "cards.h"

#include <string.h>

#define DATA_SHEET "AMD's data sheet"
#define PRODUCT_PAGE "AMD's product page"
#define PROFILER "ROCm Compute Profiler's speed of light"
#define RDNA_PAPER "AMD's RDNA white paper: a line of 128 bytes a clock"
#define SLICES "size of the L2 in slices of 256 KiB (RDNA 2 white paper)"
#define ASSUMED                                                                \
    "assumed, near pointer chases that others published; AMD names none"
#define ONE_DIE "a device of the runtime is one die, or has one that computes"

const struct sim_card sim_cards[] = {
    {.target = "gfx908",
     .name = "MI100",
     .compute_units = {120, DATA_SHEET},
     .clock_mhz = {1502, DATA_SHEET ", peak engine clock"},
     .dram_gbs = {1228.8, DATA_SHEET},
     .dram_latency_ns = {500, ASSUMED},
     .l1_line = {64, PROFILER},
     .l2_channels = {32, "CDNA white paper"},
     .dies = {1, ONE_DIE}},
    {.target = "gfx90a",
     .name = "MI250X (one die)",
     .compute_units = {110, DATA_SHEET ", half of 220"},
     .clock_mhz = {1700, DATA_SHEET ", peak engine clock"},
     .dram_gbs = {1638.4, DATA_SHEET ", half of 3276.8"},
     .dram_latency_ns = {500, ASSUMED},
     .l1_line = {64, PROFILER},
     .l2_channels = {32, "CDNA 2 white paper"},
     .dies = {1, ONE_DIE}},
    {.target = "gfx942",
     .name = "MI300X",
     .compute_units = {304, DATA_SHEET},
     .clock_mhz = {2100, DATA_SHEET ", peak engine clock"},
     .dram_gbs = {5325, DATA_SHEET ", 8192 bits at 5.2 Gbit/s"},
     .dram_latency_ns = {600, ASSUMED},
     .l1_line = {128, PROFILER},
     .l2_channels = {128, "CDNA 3 white paper, 16 on each of 8 dies"},
     .dies = {8, "CDNA 3 white paper, accelerator complex dies"}},
    {.target = "gfx950",
     .name = "MI355X",
     .compute_units = {256, DATA_SHEET},
     .clock_mhz = {2400, DATA_SHEET ", peak engine clock"},
     .dram_gbs = {8192, DATA_SHEET ", 8192 bits at 8 Gbit/s"},
     .dram_latency_ns = {600, ASSUMED},
     .l1_line = {128, PROFILER},
     .l2_channels = {128, "CDNA 4 white paper, 16 on each of 8 dies"},
     .dies = {8, "CDNA 4 white paper, accelerator complex dies"}},
    {.target = "gfx1030",
     .name = "RX 6900 XT",
     .scalar_per_simd = true,
     .compute_units = {80, PRODUCT_PAGE},
     .clock_mhz = {2250, PRODUCT_PAGE ", boost frequency"},
     .dram_gbs = {512, PRODUCT_PAGE},
     .dram_latency_ns = {300, ASSUMED},
     .l1_line = {128, RDNA_PAPER},
     .l2_channels = {16, SLICES},
     .dies = {1, ONE_DIE}},
    {.target = "gfx1100",
     .name = "RX 7900 XTX",
     .scalar_per_simd = true,
     .compute_units = {96, PRODUCT_PAGE},
     .clock_mhz = {2500, PRODUCT_PAGE ", boost frequency"},
     .dram_gbs = {960, PRODUCT_PAGE},
     .dram_latency_ns = {350, ASSUMED},
     .l1_line = {128, RDNA_PAPER},
     .l2_channels = {24, SLICES},
     .dies = {1, ONE_DIE}},
    {.target = "gfx1151",
     .name = "Strix Halo (Radeon 8060S)",
     .scalar_per_simd = true,
     .compute_units = {40, PRODUCT_PAGE " of the Ryzen AI Max+ 395"},
     .clock_mhz = {2900, PRODUCT_PAGE " of the Ryzen AI Max+ 395"},
     .dram_gbs = {256, PRODUCT_PAGE ", 256 bits of LPDDR5X-8000"},
     .dram_latency_ns = {350, ASSUMED},
     .l1_line = {128, RDNA_PAPER},
     .l2_channels = {8, SLICES},
     .dies = {1, ONE_DIE}},
    {.target = "gfx1201",
     .name = "RX 9070 XT",
     .scalar_per_simd = true,
     .compute_units = {64, PRODUCT_PAGE},
     .clock_mhz = {2970, PRODUCT_PAGE ", boost frequency"},
     .dram_gbs = {640, PRODUCT_PAGE},
     .dram_latency_ns = {350, ASSUMED},
     .l1_line = {128, RDNA_PAPER},
     .l2_channels = {32, SLICES},
     .dies = {1, ONE_DIE}},
};
const unsigned sim_ncards = sizeof(sim_cards) / sizeof(sim_cards[0]);

const struct sim_card *sim_card_of(const char *processor)
{
    for (unsigned i = 0; i < sim_ncards; i++)
        if (strcmp(sim_cards[i].target, processor) == 0)
            return &sim_cards[i];
    return NULL;
}
