// SPDX-License-Identifier: MIT
// A CUDA driver that is no use, as a shared library: WB_FAKE_VERSION is what it says to be, and
// WB_FAKE_FUNCTIONS whether it has all functions (of which cuInit fails: no device).
namespace {

constexpr int k_success = 0;
constexpr int k_no_device = 100;

}  // namespace

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = WB_FAKE_VERSION;
  return k_success;
}

#if WB_FAKE_FUNCTIONS
int cuInit(unsigned) {
  return k_no_device;
}
int cuGetErrorName(int status, const char** name) {
  *name = status == k_no_device ? "CUDA_ERROR_NO_DEVICE" : nullptr;
  return k_success;
}
int cuGetErrorString(int, const char** words) {
  *words = "no CUDA-capable device is detected";
  return k_success;
}
#define WB_FAKE(name) \
  int name() {        \
    return 999;       \
  }
WB_FAKE(cuDeviceGetCount)
WB_FAKE(cuDeviceGet)
WB_FAKE(cuDeviceGetName)
WB_FAKE(cuDeviceGetAttribute)
WB_FAKE(cuDeviceGetUuid_v2)
WB_FAKE(cuDevicePrimaryCtxRetain)
WB_FAKE(cuDevicePrimaryCtxRelease_v2)
WB_FAKE(cuCtxSetCurrent)
WB_FAKE(cuCtxSynchronize)
WB_FAKE(cuCtxResetPersistingL2Cache)
WB_FAKE(cuProfilerStart)
WB_FAKE(cuProfilerStop)
WB_FAKE(cuMemGetInfo_v2)
WB_FAKE(cuMemAlloc_v2)
WB_FAKE(cuMemFree_v2)
WB_FAKE(cuMemHostAlloc)
WB_FAKE(cuMemFreeHost)
WB_FAKE(cuMemcpyHtoDAsync_v2)
WB_FAKE(cuMemcpyDtoHAsync_v2)
WB_FAKE(cuMemcpyDtoDAsync_v2)
WB_FAKE(cuMemGetAllocationGranularity)
WB_FAKE(cuMemCreate)
WB_FAKE(cuMemRelease)
WB_FAKE(cuMemExportToShareableHandle)
WB_FAKE(cuMemImportFromShareableHandle)
WB_FAKE(cuMemAddressReserve)
WB_FAKE(cuMemAddressFree)
WB_FAKE(cuMemMap)
WB_FAKE(cuMemUnmap)
WB_FAKE(cuMemSetAccess)
WB_FAKE(cuMemsetD8Async)
WB_FAKE(cuStreamCreate)
WB_FAKE(cuStreamDestroy_v2)
WB_FAKE(cuStreamSynchronize)
WB_FAKE(cuStreamBeginCapture_v2)
WB_FAKE(cuStreamEndCapture)
WB_FAKE(cuGraphInstantiateWithFlags)
WB_FAKE(cuGraphLaunch)
WB_FAKE(cuGraphExecDestroy)
WB_FAKE(cuGraphDestroy)
WB_FAKE(cuEventCreate)
WB_FAKE(cuEventDestroy_v2)
WB_FAKE(cuEventRecord)
WB_FAKE(cuEventSynchronize)
WB_FAKE(cuEventElapsedTime)
WB_FAKE(cuModuleLoadData)
WB_FAKE(cuModuleUnload)
WB_FAKE(cuModuleGetFunction)
WB_FAKE(cuLaunchKernel)
#endif
}
