// SPDX-License-Identifier: MIT
// Puts memory of its own where the output's addresses are, works there, and copies nothing back:
// whoever reads through these addresses sees the work, also what is done later.
#include "hostile.cuh"

template <typename Function>
static Function* driver(const char* name) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

/// False where the memory is none that can be mapped anew.
static bool remap(CUdeviceptr inside) {
  const auto range = driver<decltype(cuMemGetAddressRange)>("cuMemGetAddressRange_v2");
  const auto unmap = driver<decltype(cuMemUnmap)>("cuMemUnmap");
  const auto create = driver<decltype(cuMemCreate)>("cuMemCreate");
  const auto map = driver<decltype(cuMemMap)>("cuMemMap");
  const auto access = driver<decltype(cuMemSetAccess)>("cuMemSetAccess");
  CUdeviceptr base = 0;
  size_t bytes = 0;
  if (range(&base, &bytes, inside) != CUDA_SUCCESS) return false;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle own = 0;
  if (create(&own, bytes, &properties, 0) != CUDA_SUCCESS) return false;
  if (unmap(base, bytes) != CUDA_SUCCESS) return false;
  if (map(base, bytes, 0, own, 0) != CUDA_SUCCESS) return false;
  CUmemAccessDesc open{};
  open.location = properties.location;
  open.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access(base, bytes, &open, 1) == CUDA_SUCCESS;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (plan.calls == 1) {
    cudaDeviceSynchronize();
    if (!remap(reinterpret_cast<CUdeviceptr>(args.out))) return WB_FAILED;
  }
  return hostile::honest(plan, args);
}
