/* test_select_object.c - which code object fits which device, rule by rule */
#include "unit_checks.h"

#include "kpack/format.h"
#include "test_pack.h"

struct fit_case {
    const char *device;
    const char *object;
    kpk_fit fit;
    const char *why; /* part of the reason */
};

/* Expected from LLVM's AMDGPUUsage: target IDs, the table of features by
 * processor, the table of generic processors. Every rule both ways. */
/* clang-format off */
static const struct fit_case fit_cases[] = {
    /* the same processor, without features */
    {"gfx1100", "gfx1100", KPK_FIT_EXACT, "exact processor"},
    {"gfx1100", "gfx1101", KPK_FIT_NONE, "another processor than gfx1100"},
    {"gfx1100", "gfx110", KPK_FIT_NONE, "another processor"},
    {"gfx90a", "gfx90", KPK_FIT_NONE, "another processor"},
    /* features: any, equal, different */
    {"gfx90a:sramecc+:xnack-", "gfx90a", KPK_FIT_ANY, "xnack left as any"},
    {"gfx90a:sramecc+:xnack+", "gfx90a", KPK_FIT_ANY, "sramecc left as any"},
    {"gfx90a:sramecc+:xnack-", "gfx90a:xnack-", KPK_FIT_ANY, "xnack- as the device"},
    {"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+", KPK_FIT_ANY, "sramecc+ as the device"},
    {"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", KPK_FIT_EXACT, "exact"},
    {"gfx90a:sramecc+:xnack-", "gfx90a:xnack-:sramecc+", KPK_FIT_EXACT, "exact"},
    {"gfx90a:sramecc+:xnack-", "gfx90a:xnack+", KPK_FIT_NONE, "needs xnack+, the device has xnack-"},
    {"gfx90a:sramecc+:xnack+", "gfx90a:xnack-", KPK_FIT_NONE, "needs xnack-, the device has xnack+"},
    {"gfx90a:sramecc+:xnack+", "gfx90a:sramecc+:xnack-", KPK_FIT_NONE, "needs xnack-"},
    {"gfx90a:sramecc+:xnack-", "gfx90a:sramecc-", KPK_FIT_NONE, "needs sramecc-, the device has sramecc+"},
    {"gfx1010:xnack+", "gfx1010:xnack+", KPK_FIT_EXACT, "exact"},
    /* a feature that the device does not report */
    {"gfx90a", "gfx90a:xnack-", KPK_FIT_NONE, "does not report"},
    {"gfx1100", "gfx1100:xnack-", KPK_FIT_NONE, "does not report"},
    /* processors and features that this version has never heard of */
    {"gfx1399:newthing+", "gfx1399", KPK_FIT_ANY, "newthing left as any"},
    {"gfx1399:newthing+", "gfx1399:newthing-", KPK_FIT_NONE, "needs newthing-"},
    {"gfx1399", "gfx12-generic", KPK_FIT_NONE, "does not cover gfx1399"},
    /* NVIDIA: the same number, the same major version upwards, PTX upwards */
    {"sm_90", "sm_90", KPK_FIT_EXACT, "exact processor"},
    {"sm_90", "sm_90a", KPK_FIT_EXACT, "exact processor"},
    {"sm_103", "sm_103f", KPK_FIT_EXACT, "exact processor"},
    {"sm_89", "sm_80", KPK_FIT_GENERIC, "cubin for sm_80, which sm_89 runs"},
    {"sm_103", "sm_100f", KPK_FIT_GENERIC, "cubin for sm_100, which sm_103 runs"},
    {"sm_86", "sm_89", KPK_FIT_NONE, "sm_89 is newer than sm_86"},
    {"sm_90", "sm_80", KPK_FIT_NONE, "another major version than sm_90"},
    {"sm_80", "sm_90", KPK_FIT_NONE, "another major version than sm_80"},
    {"sm_120", "sm_100f", KPK_FIT_NONE, "another major version than sm_120"},
    {"sm_103", "sm_100a", KPK_FIT_NONE, "needs sm_100 exactly, the device is sm_103"},
    {"sm_87", "sm_86", KPK_FIT_NONE, "system on a chip"},
    {"sm_89", "sm_87", KPK_FIT_NONE, "system on a chip"},
    {"sm_87", "sm_87", KPK_FIT_EXACT, "exact processor"},
    {"sm_80", "compute_80", KPK_FIT_GENERIC, "PTX for compute_80, which the driver compiles for sm_80"},
    {"sm_120", "compute_80", KPK_FIT_GENERIC, "compiles for sm_120 when it is loaded"},
    {"sm_87", "compute_80", KPK_FIT_GENERIC, "PTX"},
    {"sm_80", "compute_90", KPK_FIT_NONE, "compute_90 is newer than sm_80"},
    {"sm_100", "compute_90a", KPK_FIT_NONE, "needs sm_90 exactly"},
    {"sm_90", "compute_90a", KPK_FIT_GENERIC, "PTX"},
    {"sm_103", "compute_100f", KPK_FIT_GENERIC, "PTX"},
    {"sm_120", "compute_100f", KPK_FIT_NONE, "another major version"},
    {"sm_134", "sm_130", KPK_FIT_GENERIC, "cubin"}, /* newer than our table */
    {"sm_90", "gfx942", KPK_FIT_NONE, "another processor than sm_90"},
    {"gfx942:sramecc+:xnack-", "compute_80", KPK_FIT_NONE, "another processor than gfx942"},
    /* generic targets: first and last processor of each family, and the
     * nearest ones outside */
    {"gfx900:xnack-", "gfx9-generic", KPK_FIT_GENERIC, "covers gfx900"},
    {"gfx902:xnack+", "gfx9-generic", KPK_FIT_GENERIC, "covers gfx902"},
    {"gfx904:xnack-", "gfx9-generic", KPK_FIT_GENERIC, "covers gfx904"},
    {"gfx906:sramecc+:xnack-", "gfx9-generic", KPK_FIT_GENERIC, "covers gfx906"},
    {"gfx909:xnack+", "gfx9-generic", KPK_FIT_GENERIC, "covers gfx909"},
    {"gfx90c:xnack-", "gfx9-generic", KPK_FIT_GENERIC, "covers gfx90c"},
    {"gfx908:sramecc+:xnack-", "gfx9-generic", KPK_FIT_NONE, "does not cover gfx908"},
    {"gfx90a:sramecc+:xnack-", "gfx9-generic", KPK_FIT_NONE, "does not cover gfx90a"},
    {"gfx942:sramecc+:xnack-", "gfx9-generic", KPK_FIT_NONE, "does not cover gfx942"},
    {"gfx942:sramecc+:xnack-", "gfx9-4-generic", KPK_FIT_GENERIC, "covers gfx942"},
    {"gfx950:sramecc+:xnack-", "gfx9-4-generic", KPK_FIT_GENERIC, "covers gfx950"},
    {"gfx90a:sramecc+:xnack-", "gfx9-4-generic", KPK_FIT_NONE, "does not cover"},
    {"gfx1010:xnack-", "gfx10-1-generic", KPK_FIT_GENERIC, "covers gfx1010"},
    {"gfx1013:xnack-", "gfx10-1-generic", KPK_FIT_GENERIC, "covers gfx1013"},
    {"gfx1030", "gfx10-1-generic", KPK_FIT_NONE, "does not cover gfx1030"},
    {"gfx1030", "gfx10-3-generic", KPK_FIT_GENERIC, "covers gfx1030"},
    {"gfx1036", "gfx10-3-generic", KPK_FIT_GENERIC, "covers gfx1036"},
    {"gfx1010:xnack-", "gfx10-3-generic", KPK_FIT_NONE, "does not cover"},
    {"gfx1100", "gfx11-generic", KPK_FIT_GENERIC, "covers gfx1100"},
    {"gfx1103", "gfx11-generic", KPK_FIT_GENERIC, "covers gfx1103"},
    {"gfx1150", "gfx11-generic", KPK_FIT_GENERIC, "covers gfx1150"},
    {"gfx1153", "gfx11-generic", KPK_FIT_GENERIC, "covers gfx1153"},
    {"gfx1036", "gfx11-generic", KPK_FIT_NONE, "does not cover gfx1036"},
    {"gfx1200", "gfx12-generic", KPK_FIT_GENERIC, "covers gfx1200"},
    {"gfx1201", "gfx12-generic", KPK_FIT_GENERIC, "covers gfx1201"},
    {"gfx1250", "gfx12-generic", KPK_FIT_NONE, "does not cover gfx1250"},
    {"gfx1151", "gfx12-generic", KPK_FIT_NONE, "does not cover gfx1151"},
    /* a generic code object that names features */
    {"gfx942:sramecc+:xnack-", "gfx9-4-generic:xnack-", KPK_FIT_GENERIC, "covers"},
    {"gfx942:sramecc+:xnack-", "gfx9-4-generic:xnack+", KPK_FIT_NONE, "needs xnack+"},
    {"gfx906:sramecc+:xnack-", "gfx9-generic:xnack-", KPK_FIT_GENERIC, "covers"},
    {"gfx906:sramecc+:xnack-", "gfx9-generic:xnack+", KPK_FIT_NONE, "needs xnack+"},
};

struct pick_case {
    const char *device;
    const char *objects; /* the module's targets, sorted, blank-separated */
    const char *picked;  /* NULL: none, and `says` is in the message */
    const char *says;
};

static const struct pick_case pick_cases[] = {
    /* exact with all features, then more features, then any, then generic */
    {"gfx90a:sramecc+:xnack-", "gfx90a gfx90a:sramecc+:xnack- gfx90a:xnack-", "gfx90a:sramecc+:xnack-", NULL},
    {"gfx90a:sramecc+:xnack-", "gfx90a gfx90a:xnack-", "gfx90a:xnack-", NULL},
    {"gfx90a:sramecc+:xnack+", "gfx90a gfx90a:xnack-", "gfx90a", NULL},
    {"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+ gfx90a:xnack-", "gfx90a:sramecc+", NULL},
    {"gfx942:sramecc+:xnack-", "gfx9-4-generic gfx942", "gfx942", NULL},
    {"gfx942:sramecc+:xnack-", "gfx9-4-generic gfx942:xnack+", "gfx9-4-generic", NULL},
    {"gfx942:sramecc+:xnack-", "gfx9-4-generic gfx9-4-generic:xnack-", "gfx9-4-generic:xnack-", NULL},
    {"gfx950:sramecc+:xnack-", "gfx9-4-generic gfx942", "gfx9-4-generic", NULL},
    {"gfx1100", "gfx1100 gfx1101 gfx11-generic", "gfx1100", NULL},
    {"gfx1102", "gfx11-generic gfx1100 gfx1101", "gfx11-generic", NULL},
    /* NVIDIA: 'a' before 'f' before plain, the higher cubin, PTX last */
    {"sm_90", "compute_90 gfx942 sm_90 sm_90a", "sm_90a", NULL},
    {"sm_103", "sm_100f sm_103 sm_103f", "sm_103f", NULL},
    {"sm_89", "compute_89 sm_80 sm_86", "sm_86", NULL},
    {"sm_120", "compute_80 compute_90 sm_90", "compute_90", NULL},
    {"gfx1100", "compute_80 gfx1100 sm_90", "gfx1100", NULL},
    {"sm_80", "gfx942 sm_90", NULL, "gfx942, sm_90 (is for another major version than sm_80). Rebuild the pack with ARCHS=\"gfx942 sm_90 sm_80\" or with compute_80 in it"},
    {"sm_75", "sm_80", NULL, "ARCHS=\"sm_80 sm_75\""},
    /* unknown target IDs are passed over */
    {"gfx1100", "gfx1100 SM_90", "gfx1100", NULL},
    /* nothing fits */
    {"gfx1201", "gfx1030 gfx1100", NULL, "fits device gfx1201. It holds: gfx1030, gfx1100. Rebuild the pack with ARCHS=\"gfx1030 gfx1100 gfx1201\" or with gfx12-generic in it"},
    {"gfx90a:sramecc+:xnack+", "gfx90a:xnack- gfx942", NULL, "gfx90a:xnack- (needs xnack-, the device has xnack+), gfx942."},
    {"gfx90a:sramecc+:xnack+", "gfx942", NULL, "ARCHS=\"gfx942 gfx90a\""},
    {"gfx942:sramecc+:xnack-", "gfx9-4-generic:xnack+", NULL, "gfx9-4-generic:xnack+ (needs xnack+"},
    {"gfx1399", "gfx1100", NULL, "ARCHS=\"gfx1100 gfx1399\""},
    {"gfx1100", "", NULL, "It holds: nothing. Rebuild the pack with ARCHS=\"gfx1100\""},
};

static const char *const malformed[] = {
    "", ":", ":xnack+", "gfx90a:", "gfx90a:xnack", "gfx90a:xnack*",
    "gfx90a:+", "gfx90a:xnack+:", "gfx90a xnack+", "GFX90A", "gfx90a:xnack+x",
    "gfx90a-", "gfx_90a", "sm_", "sm_9", "sm_090", "sm_90b", "sm_90a:xnack+", "sm_12345", "compute_", "gfx90a:a+:b+:c+:d+:e+",
};
/* clang-format on */

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_fit_follows_every_rule_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(fit_cases); i++) {
        const struct fit_case *c = &fit_cases[i];
        kpk_fit fit = (kpk_fit)99;
        char why[256] = "";

        assert_ok(kpk_target_fit(c->device, c->object, &fit, why, sizeof(why)));
        if (fit != c->fit || !strstr(why, c->why))
            fail_msg("%s on %s: wanted fit %d with \"%s\", got %d \"%s\"",
                     c->object, c->device, (int)c->fit, c->why, (int)fit, why);
    }
}

static void test_fit_cuts_the_reason_to_its_room(void **state)
{
    kpk_fit fit;
    char why[8] = "1234567";

    (void)state;
    assert_ok(kpk_target_fit("gfx1100", "gfx1100", &fit, why, 6));
    assert_string_equal(why, "exact");
    assert_ok(kpk_target_fit("gfx1100", "gfx1100", &fit, NULL, 0));
    assert_ok(kpk_target_fit("gfx1100", "gfx1100", &fit, why, 1));
    assert_string_equal(why, "");
}

/* With more targets than a message has room for, no target is cut to another
 * one. */
static void test_advice_names_whole_targets(void **state)
{
    enum { MOST = 60 };
    static const char name[] = "gfx90a:sramecc+:xnack+";
    static const struct kpk_blob blob = {.nbytes = 128};
    struct kpk_code_object objects[MOST];
    char text[64] = "";
    const kpk_module module = {.format = KPK_FORMAT_VERSION,
                               .name = 1,
                               .strings = text,
                               .objects = objects,
                               .nobjects = MOST};
    kpk_module some = module;
    kpk_selection selection;

    (void)state;
    text[1] = 'm';
    (void)snprintf(text + 3, sizeof(text) - 3, "%s", name);
    for (int i = 0; i < MOST; i++)
        objects[i] = (struct kpk_code_object){3, 5, &blob, NULL, {0}, NULL};
    for (some.nobjects = 1; some.nobjects <= MOST; some.nobjects++) {
        const char *advice;

        assert_status(kpk_select(&some, "gfx1100", &selection),
                      KPK_ERR_NO_TARGET);
        advice = strstr(kpk_error_message(), " Rebuild the pack with ");
        assert_non_null(advice);
        advice += strlen(" Rebuild the pack with ");
        if (strcmp(advice,
                   "gfx1100 in its ARCHS or with gfx11-generic in it") == 0)
            continue;
        assert_true(strncmp(advice, "ARCHS=\"", 7) == 0);
        advice += 7;
        for (uint32_t i = 0; i < some.nobjects; i++, advice += sizeof(name)) {
            assert_true(strncmp(advice, name, sizeof(name) - 1) == 0);
            assert_int_equal(advice[sizeof(name) - 1], ' ');
        }
        assert_string_equal(advice, "gfx1100\" or with gfx11-generic in it");
    }
}

/* "256 is enough for every reason". */
static void test_fit_has_room_for_the_longest_reason(void **state)
{
    kpk_fit fit;
    int ntold = 0;

    (void)state;
    for (int n = 1; n < 200; n++) {
        char name[200] = "", device[256], object[256], why[1024];

        memset(name, 'a', (size_t)n);
        (void)snprintf(device, sizeof(device), "g:%s-", name);
        (void)snprintf(object, sizeof(object), "g:%s+", name);
        if (kpk_target_fit(device, object, &fit, why, sizeof(why)) != KPK_OK)
            continue;
        assert_true(strlen(why) < 256);
        ntold++;
    }
    assert_true(ntold > 60);
}

static void test_fit_refuses_what_is_no_target_id(void **state)
{
    char endless[200]; /* messages have to hold a target ID */
    kpk_fit fit;

    (void)state;
    memset(endless, 'a', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    assert_status(kpk_target_fit(endless, "gfx1100", &fit, NULL, 0),
                  KPK_ERR_ARG);
    for (size_t i = 0; i < COUNT(malformed); i++) {
        assert_status(kpk_target_fit(malformed[i], "gfx1100", &fit, NULL, 0),
                      KPK_ERR_ARG);
        assert_status(kpk_target_fit("gfx1100", malformed[i], &fit, NULL, 0),
                      KPK_ERR_ARG);
        assert_message("is no target ID");
    }
    assert_status(kpk_target_fit("compute_80", "compute_80", &fit, NULL, 0),
                  KPK_ERR_ARG);
    assert_message("names PTX, not a device. A device is sm_80");
    assert_status(kpk_target_fit(NULL, "gfx1100", &fit, NULL, 0), KPK_ERR_ARG);
    assert_status(kpk_target_fit("gfx1100", "gfx1100", NULL, NULL, 0),
                  KPK_ERR_ARG);
}

/* A module that holds the targets of a blank-separated list. */
struct held {
    char strings[256];
    struct kpk_blob blob; /* shared by the objects */
    struct kpk_code_object objects[8];
    struct kpk_module module;
};

static void make_module(struct held *held, const char *targets)
{
    char *at = held->strings + 1;
    unsigned n = 0;

    memset(held, 0, sizeof(*held));
    (void)snprintf(at, sizeof(held->strings) - 1, "%s", targets);
    held->blob.nbytes = 1;
    for (char *word = strtok(at, " "); word; word = strtok(NULL, " ")) {
        held->objects[n].target = (uint32_t)(word - held->strings);
        held->objects[n++].blob = &held->blob;
    }
    held->module = (struct kpk_module){.format = KPK_FORMAT_VERSION,
                                       .name = 0,
                                       .strings = held->strings,
                                       .objects = held->objects,
                                       .nobjects = n};
}

static void test_select_picks_the_best_or_says_why_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(pick_cases); i++) {
        const struct pick_case *c = &pick_cases[i];
        struct held held;
        kpk_selection got;

        make_module(&held, c->objects);
        if (!c->picked) {
            assert_status(kpk_select(&held.module, c->device, &got),
                          KPK_ERR_NO_TARGET);
            assert_message(c->says);
            continue;
        }
        assert_ok(kpk_select(&held.module, c->device, &got));
        assert_string_equal(got.target, c->picked);
        assert_string_equal(held.strings + held.objects[got.object].target,
                            c->picked);
    }
}

static void test_select_checks_its_arguments(void **state)
{
    kpk_selection got;
    char wanted[80];

    (void)state;
    assert_status(kpk_select(NULL, "gfx90a", &got), KPK_ERR_ARG);
    assert_status(kpk_select(&test_module_alpha, NULL, &got), KPK_ERR_ARG);
    assert_status(kpk_select(&test_module_alpha, "gfx90a", NULL), KPK_ERR_ARG);
    assert_status(kpk_select(&test_module_alpha, "90a?", &got), KPK_ERR_ARG);
    assert_status(kpk_select(&test_module_old_format, "gfx90a", &got),
                  KPK_ERR_FORMAT);
    snprintf(wanted, sizeof(wanted),
             "format %u, but this library reads format %u",
             KPK_FORMAT_VERSION + 1, KPK_FORMAT_VERSION);
    assert_message(wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_follows_every_rule_both_ways),
        cmocka_unit_test(test_fit_cuts_the_reason_to_its_room),
        cmocka_unit_test(test_fit_has_room_for_the_longest_reason),
        cmocka_unit_test(test_advice_names_whole_targets),
        cmocka_unit_test(test_fit_refuses_what_is_no_target_id),
        cmocka_unit_test(test_select_picks_the_best_or_says_why_none),
        cmocka_unit_test(test_select_checks_its_arguments),
    };

    return cmocka_run_group_tests_name("select_object", tests, NULL, NULL);
}
