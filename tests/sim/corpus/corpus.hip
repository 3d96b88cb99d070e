/* corpus.hip - all device code of the corpus, one code object per target */
#include "control.h"
#include "floating.h"
#include "groups.h"
#include "integer.h"
#include "ocml.h"
