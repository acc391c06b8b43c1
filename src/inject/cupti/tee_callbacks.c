/* SPDX-License-Identifier: Apache-2.0 */
/* The subscription of the other client: ours is the one that CUPTI knows, and gets the callbacks of
 * both. What it has enabled stays enabled in CUPTI until it leaves, and is filtered here. */
#include <stdatomic.h>

#include "inject/cupti/tee.h"
#include "inject/cupti/tee_client.h"

enum { DOMAINS = 8, MOST_FUNCTIONS = 2048, INVALID_PARAMETER = 1 };

static struct {
    const struct ss_cupti *cupti;
    void *ours; /* the subscription */
    _Atomic(ss_cupti_callback *) callback;
    void *user; /* set before `callback` */
    _Atomic bool wants[DOMAINS][MOST_FUNCTIONS];
} client;

void ss_cupti_tee_set_subscriber(const struct ss_cupti *cupti, void *subscriber)
{
    client.cupti = cupti;
    client.ours = subscriber;
}

static uint32_t subscribe(void **subscriber, ss_cupti_callback *callback, void *user)
{
    if (subscriber == NULL || callback == NULL) {
        return INVALID_PARAMETER;
    }
    if (atomic_load(&client.callback) != NULL) {
        return SS_CUPTI_OTHER_SUBSCRIBER;
    }
    client.user = user;
    atomic_store_explicit(&client.callback, callback, memory_order_release);
    *subscriber = &client;
    return SS_CUPTI_OK;
}

static bool is_valid(const void *subscriber, int domain)
{
    return subscriber == &client && domain > 0 && domain < DOMAINS;
}

static uint32_t enable(uint32_t is_enabled, void *subscriber, int domain, uint32_t function)
{
    if (!is_valid(subscriber, domain) || function >= MOST_FUNCTIONS) {
        return INVALID_PARAMETER;
    }
    atomic_store(&client.wants[domain][function], is_enabled != 0);
    return is_enabled != 0 ? client.cupti->EnableCallback(1, client.ours, domain, function)
                           : SS_CUPTI_OK;
}

/* CUPTI refuses numbers that are not functions. */
static uint32_t enable_domain(uint32_t is_enabled, void *subscriber, int domain)
{
    if (!is_valid(subscriber, domain)) {
        return INVALID_PARAMETER;
    }
    for (uint32_t function = 1; function < MOST_FUNCTIONS; function++) {
        (void)enable(is_enabled, subscriber, domain, function);
    }
    return SS_CUPTI_OK;
}

static uint32_t unsubscribe(void *subscriber)
{
    if (subscriber != &client) {
        return INVALID_PARAMETER;
    }
    for (int domain = 1; domain < DOMAINS; domain++) {
        enable_domain(0, subscriber, domain);
    }
    atomic_store(&client.callback, NULL);
    return SS_CUPTI_OK;
}

void ss_cupti_tee_enable_callbacks(void)
{
    for (int domain = 1; domain < DOMAINS && atomic_load(&client.callback) != NULL; domain++) {
        for (uint32_t function = 0; function < MOST_FUNCTIONS; function++) {
            if (atomic_load(&client.wants[domain][function])) {
                client.cupti->EnableCallback(1, client.ours, domain, function);
            }
        }
    }
}

void ss_cupti_tee_callback(int domain, uint32_t function, const void *data)
{
    ss_cupti_callback *callback = atomic_load_explicit(&client.callback, memory_order_acquire);
    if (callback != NULL && domain > 0 && domain < DOMAINS && function < MOST_FUNCTIONS &&
        atomic_load(&client.wants[domain][function])) {
        callback(client.user, domain, function, data);
    }
}

const struct ss_cupti_tee_call ss_cupti_tee_subscription_calls[SS_CUPTI_TEE_SUBSCRIPTION_CALLS] = {
    {"cuptiSubscribe", (void (*)(void))subscribe},
    {"cuptiUnsubscribe", (void (*)(void))unsubscribe},
    {"cuptiEnableCallback", (void (*)(void))enable},
    {"cuptiEnableDomain", (void (*)(void))enable_domain},
};
