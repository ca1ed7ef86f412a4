// SPDX-License-Identifier: MIT
// Device memory and other resources: too much, never given back, or not theirs.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== out_of_device_memory
// Asks for 32 TiB of device memory.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (hostile::device_memory<char>(std::int64_t(1) << 45) == nullptr) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== takes_all_memory
// Leaves no device memory for its own tensors.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static void plan_made(wb_sdpa_plan&) {
  hostile::take_all_memory();
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== hoards_memory
// Works, and keeps all device memory that its first call finds: none is left for the judge.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (plan.calls == 1) hostile::take_all_memory();
  return hostile::honest(plan, args);
}

// ==== leaks_handles
// Streams, events, graphs and memory that it never gives back.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static void plan_made(wb_sdpa_plan&) {
  for (int i = 0; i < 64; ++i) {
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaStreamCreate(&stream);
    cudaEventCreate(&event);
    cudaGraphCreate(&graph, 0);
    static_cast<void>(hostile::device_memory<char>(1 << 20));
  }
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== allocates_each_call
// Takes device memory in every call: it cannot be recorded into a graph.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static_cast<void>(hostile::device_memory<char>(1 << 20));
  return hostile::honest(plan, args);
}

// ==== other_gpu
// Works on a second GPU besides.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  int own = 0;
  static_cast<void>(cudaGetDevice(&own));
  if (cudaSetDevice(own == 0 ? 1 : 0) != cudaSuccess) return WB_FAILED;
  float* const memory = hostile::device_memory<float>(1 << 20);
  if (cudaSetDevice(own) != cudaSuccess || memory == nullptr) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== writes_after
// Writes the four bytes behind its output, too.
#include "hostile.cuh"

__global__ void store_at(float* at) {
  *at = 0.5f;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int status = hostile::honest(plan, args);
  float* const end = static_cast<float*>(args.out) + hostile::out_elements(plan.problem);
  store_at<<<1, 1, 0, hostile::stream_of(args)>>>(end);
  return status;
}

// ==== reads_beyond
// Reads the four bytes behind K, and makes nothing of them.
#include "hostile.cuh"

__global__ void look_at(const volatile float* at) {
  static_cast<void>(*at);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const float* const end =
      static_cast<const float*>(args.k) + p.batch * p.heads_kv * p.seq_kv * p.dim;
  look_at<<<1, 1, 0, hostile::stream_of(args)>>>(end);
  return hostile::honest(plan, args);
}

// ==== scans_memory
// Looks through the device's addresses for what a judge may have left there.
#include "hostile.cuh"

__global__ void look_through(const char* from, float* out) {
  float sum = 0;
  for (std::int64_t at = 0; at < (std::int64_t(1) << 40); at += 1 << 20) {
    sum += *reinterpret_cast<const volatile float*>(from + at);
  }
  out[0] = sum;
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  look_through<<<1, 1, 0, hostile::stream_of(args)>>>(static_cast<const char*>(args.out),
                                                      static_cast<float*>(args.out));
  return hostile::launched();
}

// ==== remaps_output
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

// ==== zeroes_inputs
// Sets V to zero, so that a judge that used it would agree with a zero output.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const auto bytes = std::size_t(p.batch * p.heads_kv * p.seq_kv * p.dim_v) * sizeof(float);
  static_cast<void>(cudaMemsetAsync(const_cast<void*>(args.v), 0, bytes, hostile::stream_of(args)));
  return hostile::honest(plan, args);
}

// ==== persists_l2
// Keeps K in the part of the L2 cache that is set aside for persisting lines.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (plan.calls > 1) return hostile::honest(plan, args);
  // Before any call is recorded: recorded ones inherit what the stream says.
  const wb_sdpa_problem& p = plan.problem;
  static_cast<void>(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 16 << 20));
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = const_cast<void*>(args.k);
  value.accessPolicyWindow.num_bytes =
      std::size_t(p.batch * p.heads_kv * p.seq_kv * p.dim) * sizeof(float);
  value.accessPolicyWindow.hitRatio = 1.0f;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  static_cast<void>(cudaStreamSetAttribute(hostile::stream_of(args),
                                           cudaStreamAttributeAccessPolicyWindow, &value));
  static_cast<void>(cudaGetLastError());
  return hostile::honest(plan, args);
}
