/* party.c - processes that agree, by the caller's gather between them
 *
 * A member that fails sets its record's status and takes part in the remaining
 * gathers, so all members make the same gathers, and all return an error.
 */
#include "internal.h"

#include <stdlib.h>

/* In front of a member's bytes. */
struct record {
    int32_t status;
    uint32_t nbytes; /* of the data behind the record */
};

/* Records of all members, each `each` bytes long. */
static kpk_status gather(const struct kpk_i_party *party, const void *mine,
                         void *all, size_t each)
{
    const int failed = party->gather(party->caller, mine, all, each);

    if (!failed)
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_ARG,
                      "the caller's gather returned %d on rank %lu: the %lu "
                      "ranks cannot meet",
                      failed, (unsigned long)party->rank,
                      (unsigned long)party->members);
}

/* Takes the records apart; fails if a member has. */
static kpk_status read_all(const struct kpk_i_party *party, const char *records,
                           size_t nbytes, const char *what, void *all)
{
    for (uint32_t m = 0; m < party->members; m++) {
        const char *at = records + m * (sizeof(struct record) + nbytes);
        struct record r;

        memcpy(&r, at, sizeof(r));
        if (r.nbytes != nbytes)
            return kpk_i_fail(KPK_ERR_ARG,
                              "rank %lu makes another call than rank %lu, or "
                              "the gather brought other bytes than its",
                              (unsigned long)m, (unsigned long)party->rank);
        if (r.status != KPK_OK)
            return kpk_i_fail((kpk_status)r.status,
                              "rank %lu cannot %s: %s. Its process has the "
                              "message",
                              (unsigned long)m, what,
                              kpk_status_string((kpk_status)r.status));
        if (nbytes && all)
            memcpy((char *)all + m * nbytes, at + sizeof(r), nbytes);
    }
    return KPK_OK;
}

/* The status that all members return: the first failed member's. */
static kpk_status first_failure(const struct kpk_i_party *party,
                                const char *records, size_t nbytes,
                                kpk_status own)
{
    for (uint32_t m = 0; m < party->members; m++) {
        struct record r;

        memcpy(&r, records + m * (sizeof(r) + nbytes), sizeof(r));
        if (r.nbytes != nbytes)
            return own;
        if (r.status != KPK_OK)
            return (kpk_status)r.status;
    }
    return own;
}

kpk_status kpk_i_party_meet(const struct kpk_i_party *party, kpk_status own,
                            const char *what, const void *mine, size_t nbytes,
                            void *all)
{
    const size_t each = sizeof(struct record) + nbytes;
    const struct record r = {(int32_t)own, (uint32_t)nbytes};
    char *records = malloc((party->members + 1) * each);
    char *of_own;
    kpk_status st;

    if (!records) /* the other members get no record, either */
        return kpk_i_fail(KPK_ERR_NOMEM, "no memory to meet %lu ranks",
                          (unsigned long)party->members);
    of_own = records + party->members * each;
    memcpy(of_own, &r, sizeof(r));
    if (nbytes && mine)
        memcpy(of_own + sizeof(r), mine, nbytes);
    if (own == KPK_OK) {
        st = gather(party, of_own, records, each);
        if (st == KPK_OK)
            st = read_all(party, records, nbytes, what, all);
    } else { /* the message stays the own failure's */
        st = own;
        if (party->gather(party->caller, of_own, records, each) == 0)
            st = first_failure(party, records, nbytes, own);
    }
    free(records);
    return st;
}

void kpk_i_party_wait(const struct kpk_i_party *party)
{
    const struct record r = {KPK_OK, 0};
    struct record *all = calloc(party->members, sizeof(*all));

    if (all)
        (void)party->gather(party->caller, &r, all, sizeof(r));
    free(all);
}

/* ---- memory -------------------------------------------------------------- */

static kpk_status import_all(const struct kpk_i_party *party,
                             kpk_instance *inst, const kpk_ipc_memory *memory,
                             char **of)
{
    kpk_status st = KPK_OK;

    for (uint32_t m = 0; m < party->members && st == KPK_OK; m++) {
        void *there = NULL;

        if (m == party->rank)
            continue;
        st = kpk_ipc_import(inst, &memory[m], &there);
        of[m] = there;
    }
    return st;
}

kpk_status kpk_i_party_share(const struct kpk_i_party *party,
                             kpk_instance *inst, char **of)
{
    kpk_ipc_memory *all = calloc(party->members, sizeof(*all));
    kpk_ipc_memory own = {{0}};
    kpk_status st = KPK_OK;

    if (!all)
        st = kpk_i_fail(KPK_ERR_NOMEM,
                        "no memory to share memory among %lu "
                        "ranks",
                        (unsigned long)party->members);
    if (st == KPK_OK)
        st = kpk_ipc_export(inst, of[party->rank], &own);
    st =
        kpk_i_party_meet(party, st, "share its memory", &own, sizeof(own), all);
    if (st == KPK_OK) {
        st = import_all(party, inst, all, of);
        st = kpk_i_party_meet(party, st, "reach the memory of the others", NULL,
                              0, NULL);
        if (st != KPK_OK)
            kpk_i_party_unshare(party, inst, of);
    }
    free(all);
    return st;
}

void kpk_i_party_unshare(const struct kpk_i_party *party, kpk_instance *inst,
                         char **of)
{
    for (uint32_t m = 0; m < party->members; m++)
        if (m != party->rank) {
            (void)kpk_ipc_close(inst, of[m]);
            of[m] = NULL;
        }
}
