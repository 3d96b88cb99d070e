/* nearest.c - which of some names a mistyped word is nearest to
 *
 * Letters that are missing, too many, wrong or exchanged with their neighbour
 * count 1 each (the optimal string alignment distance). A name is near if a
 * third of the word's letters, rounded up, turn it into the name.
 */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 64 }; /* longer words and names are near to nothing */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    /* Rows i - 2, i - 1 and i: edits from a's first i letters to b's first j */
    size_t rows[3][LONGEST + 1];

    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        const size_t *before = rows[(i - 1) % 3];
        size_t *row = rows[i % 3];

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = least(before[j - 1] + (a[i - 1] != b[j - 1]),
                           1 + least(before[j], row[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], 1 + rows[(i - 2) % 3][j - 2]);
        }
    }
    return rows[na % 3][nb];
}

struct nearest nearest_to(const char *word)
{
    return (struct nearest){.word = word,
                            .distance = (strlen(word) + 2) / 3 + 1};
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    const size_t na = strlen(nearest->word), nb = strlen(name);
    size_t edits;

    if (na > LONGEST || nb > LONGEST)
        return;
    edits = distance(nearest->word, na, name, nb);
    if (edits >= nearest->distance)
        return;
    nearest->distance = edits;
    nearest->name = name;
}

const char *nearest_hint(struct nearest *nearest)
{
    if (nearest->name)
        (void)snprintf(nearest->hint, sizeof(nearest->hint),
                       ". Did you mean \"%s\"?", nearest->name);
    return nearest->hint;
}
