/* SPDX-License-Identifier: Apache-2.0 */
/* For test_injection: a library that cuInit loads. It counts kernels and the launches that its
   callbacks see, by domain, and writes the counts into $INJECTED_OUTPUT as the program exits. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

static unsigned runtime_launches, driver_launches, same_correlation;
static uint32_t runtime_correlation;

static void on_launch(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                      const void *data)
{
    const CUpti_CallbackData *call = data;
    (void)user;
    (void)cbid;
    if (call->callbackSite != CUPTI_API_ENTER) {
        return;
    }
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
        runtime_launches++;
        runtime_correlation = call->correlationId;
    } else {
        driver_launches++;
        same_correlation += call->correlationId == runtime_correlation;
    }
}

static void write_counts(void)
{
    cudaDeviceSynchronize();
    cuptiActivityFlushAll(1);
    FILE *file = fopen(getenv("INJECTED_OUTPUT"), "w");
    if (file != NULL) {
        fprintf(file, "%zu %u %u %u", client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
                runtime_launches, driver_launches, same_correlation);
        fclose(file);
    }
}

int InitializeInjection(void)
{
    CUpti_SubscriberHandle handle;
    cuptiSubscribe(&handle, on_launch, NULL);
    cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API,
                        CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API,
                        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    cuptiActivityRegisterCallbacks(client_request, client_complete);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    atexit(write_counts);
    return 1;
}
