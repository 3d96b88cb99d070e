/* cache.h - the types in which K and V of earlier tokens are stored */
#ifndef MODEL_CACHE_H
#define MODEL_CACHE_H

enum cache_type { CACHE_F16, CACHE_Q8_0, CACHE_Q4_0, NCACHE_TYPES };

extern const char *const cache_names[NCACHE_TYPES];

#endif
