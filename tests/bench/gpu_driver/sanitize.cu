// SPDX-License-Identifier: MIT
// Runs one variant on a few small problems without PyTorch, for compute-sanitizer:
//   nvcc -std=c++17 sanitize.cu -o sanitize -ldl
//   compute-sanitizer --tool memcheck ./sanitize ./kernel.so f16
// Inputs are a fixed pattern; results are not judged here (driver.py does), only that they are
// finite. Exit 0 also when the variant refuses a problem; the counts are printed.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "../../../kernels/common/sdpa_abi.h"

namespace {

struct Case {
  int batch, heads_q, heads_kv, seq_q, seq_kv, dim, causal;
  int mask = WB_MASK_NONE;  // one [seq_q, seq_kv] for all heads
};

// Tile borders, empty rows, splits, packed groups; small enough for racecheck.
const Case k_cases[] = {
    {1, 2, 1, 1, 300, 64, 0},       {1, 4, 1, 1, 700, 128, 0},   {1, 4, 2, 5, 333, 128, 2},
    {1, 2, 2, 33, 70, 64, 1},       {1, 2, 1, 90, 20, 64, 2},    {1, 1, 1, 65, 65, 40, 1},
    {1, 4, 1, 16, 260, 128, 2},     {1, 2, 2, 20, 40, 512, 1},   {1, 1, 1, 17, 70, 1024, 0},
    {1, 1, 1, 150, 150, 64, 0},     {1, 2, 2, 300, 300, 64, 1},  {2, 2, 1, 150, 280, 64, 2, 1},
    {1, 2, 1, 130, 200, 128, 0, 2}, {1, 3, 1, 140, 200, 512, 1}, {1, 150, 150, 70, 130, 64, 1},
    {1, 70, 10, 300, 260, 96, 1},   {1, 2, 1, 150, 190, 256, 1},
};

float to_float(float x) {
  return x;
}
float to_float(__half x) {
  return __half2float(x);
}
float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <typename T>
std::vector<T> pattern(size_t n, unsigned seed) {
  std::vector<T> values(n);
  for (T& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = T(float(seed >> 16) / 32768.0f - 1.0f);
  }
  return values;
}

bool failed(cudaError_t error, const char* attempted) {
  if (error != cudaSuccess) std::fprintf(stderr, "%s: %s\n", attempted, cudaGetErrorString(error));
  return error != cudaSuccess;
}

template <typename T>
int run(void* library, int dtype) {
  const auto create =
      reinterpret_cast<decltype(&wb_sdpa_plan_create)>(dlsym(library, "wb_sdpa_plan_create"));
  const auto bytes = reinterpret_cast<decltype(&wb_sdpa_workspace_bytes)>(
      dlsym(library, "wb_sdpa_workspace_bytes"));
  const auto forward =
      reinterpret_cast<decltype(&wb_sdpa_forward)>(dlsym(library, "wb_sdpa_forward"));
  const auto destroy =
      reinterpret_cast<decltype(&wb_sdpa_plan_destroy)>(dlsym(library, "wb_sdpa_plan_destroy"));
  const auto last_error =
      reinterpret_cast<decltype(&wb_sdpa_last_error)>(dlsym(library, "wb_sdpa_last_error"));
  int ran = 0, refused = 0;
  for (const Case& c : k_cases) {
    wb_sdpa_problem p = {};
    p.struct_size = sizeof(p);
    p.abi_version = 1;  // that of a dense forward
    p.dtype = dtype;
    p.causal = c.causal;
    p.batch = c.batch;
    p.heads_q = c.heads_q;
    p.heads_kv = c.heads_kv;
    p.seq_q = c.seq_q;
    p.seq_kv = c.seq_kv;
    p.dim = p.dim_v = c.dim;
    p.q = p.out = {int64_t(c.heads_q) * c.seq_q * c.dim, int64_t(c.seq_q) * c.dim, c.dim};
    p.k = p.v = {int64_t(c.heads_kv) * c.seq_kv * c.dim, int64_t(c.seq_kv) * c.dim, c.dim};
    p.mask = c.mask;
    p.mask_strides = {0, 0, c.seq_kv};
    p.scale = 1.0 / std::sqrt(double(c.dim));
    p.want_lse = 1;
    wb_sdpa_plan* plan = nullptr;
    const int status = create(&p, &plan);
    if (status == WB_UNSUPPORTED) {
      ++refused;
      continue;
    }
    if (status != WB_OK) return std::fprintf(stderr, "plan: %s\n", last_error()), 1;
    const size_t n_q = size_t(c.batch) * c.heads_q * c.seq_q * c.dim;
    const size_t n_k = size_t(c.batch) * c.heads_kv * c.seq_kv * c.dim;
    const std::vector<T> q = pattern<T>(n_q, 1), k = pattern<T>(n_k, 2), v = pattern<T>(n_k, 3);
    const size_t n_mask = size_t(c.seq_q) * c.seq_kv;  // bools: 0 and 1; numbers: the pattern
    const std::vector<T> numbers = pattern<T>(n_mask, 4);
    std::vector<unsigned char> bools(n_mask);
    for (size_t i = 0; i < n_mask; ++i) bools[i] = i % 3 != 0;
    void* mask = nullptr;
    T *dq, *dk, *dv, *out;
    float* lse;
    void* workspace = nullptr;
    if (failed(cudaMalloc(&dq, n_q * sizeof(T)), "q") ||
        failed(cudaMalloc(&dk, n_k * sizeof(T)), "k") ||
        failed(cudaMalloc(&dv, n_k * sizeof(T)), "v") ||
        failed(cudaMalloc(&out, n_q * sizeof(T)), "out") ||
        failed(cudaMalloc(&lse, n_q / c.dim * 4), "lse") ||
        failed(cudaMalloc(&mask, n_mask * sizeof(T)), "mask")) {
      return 1;
    }
    if (bytes(plan) > 0 && (failed(cudaMalloc(&workspace, bytes(plan)), "workspace") ||
                            failed(cudaMemset(workspace, 0, bytes(plan)), "workspace"))) {
      return 1;
    }
    cudaMemcpy(dq, q.data(), n_q * sizeof(T), cudaMemcpyHostToDevice);
    cudaMemcpy(dk, k.data(), n_k * sizeof(T), cudaMemcpyHostToDevice);
    cudaMemcpy(dv, v.data(), n_k * sizeof(T), cudaMemcpyHostToDevice);
    if (c.mask == WB_MASK_BOOL) {
      cudaMemcpy(mask, bools.data(), n_mask, cudaMemcpyHostToDevice);
    } else {
      cudaMemcpy(mask, numbers.data(), n_mask * sizeof(T), cudaMemcpyHostToDevice);
    }
    wb_sdpa_args args = {};
    args.struct_size = sizeof(args);
    args.q = dq;
    args.k = dk;
    args.v = dv;
    args.mask = c.mask == WB_MASK_NONE ? nullptr : mask;
    args.out = out;
    args.lse = lse;
    args.workspace = workspace;
    for (int call = 0; call < 2; ++call) {
      if (forward(plan, &args) != WB_OK) {
        return std::fprintf(stderr, "forward: %s\n", last_error()), 1;
      }
    }
    if (failed(cudaDeviceSynchronize(), "forward")) return 1;
    std::vector<T> got(n_q);
    cudaMemcpy(got.data(), out, n_q * sizeof(T), cudaMemcpyDeviceToHost);
    for (const T& value : got) {
      if (!std::isfinite(to_float(value))) return std::fprintf(stderr, "not finite\n"), 1;
    }
    for (void* p : {static_cast<void*>(dq), static_cast<void*>(dk), static_cast<void*>(dv),
                    static_cast<void*>(out), static_cast<void*>(lse), mask, workspace}) {
      cudaFree(p);
    }
    destroy(plan);
    ++ran;
  }
  std::printf("%d ran, %d refused\n", ran, refused);
  return ran > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: sanitize KERNEL.so f32|f16|bf16\n"), 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  if (std::strcmp(argv[2], "f32") == 0) return run<float>(library, WB_F32);
  if (std::strcmp(argv[2], "f16") == 0) return run<__half>(library, WB_F16);
  return run<__nv_bfloat16>(library, WB_BF16);
}
