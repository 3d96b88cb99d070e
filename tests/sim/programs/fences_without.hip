/* fences_without.hip - fences.hip without its releases */
#define WITHOUT_RELEASE
#include "fences.hip"
