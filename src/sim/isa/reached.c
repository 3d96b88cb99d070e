/* reached.c - records which instructions programs run */
#include "reached.h"
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 14 };

/* Hashes of the lines noted so far; 0 marks a free slot. */
static uint32_t noted[SLOTS];

static bool is_new(const char *line)
{
    uint32_t h = 2166136261u;
    size_t at;

    for (const char *p = line; *p; p++)
        h = (h ^ (uint8_t)*p) * 16777619u;
    h = h ? h : 1;
    at = h % SLOTS;
    while (noted[at] && noted[at] != h)
        at = (at + 1) % SLOTS;
    if (noted[at])
        return false;
    noted[at] = h;
    return true;
}

static void note(FILE *file, const struct sim_target *target, const char *text)
{
    char name[MAX_NAME], line[MAX_NAME + 32];

    sim_parse_mnemonic(text, name);
    snprintf(line, sizeof(line), "%s %s\n", target->name, name);
    if (is_new(line))
        fputs(line, file);
}

void sim_coverage_note(const struct sim_target *target, const char *text)
{
    static const char *path;
    static bool asked;
    const char *second = strstr(text, " :: ");
    FILE *file;

    if (!asked)
        path = getenv("KPK_SIM_COVERAGE");
    asked = true;
    if (!path)
        return;
    file = fopen(path, "a");
    if (!file)
        return;
    note(file, target, text);
    if (second)
        note(file, target, second + 4);
    if (fclose(file) != 0)
        perror(path);
}
