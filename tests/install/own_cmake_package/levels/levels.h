/* levels.h - makes samples quieter, on the first GPU */
#ifndef LEVELS_H
#define LEVELS_H

/* Halves n samples: 0, or -1 with a sentence on stderr. */
int levels_halve(float *samples, unsigned n);

#endif
