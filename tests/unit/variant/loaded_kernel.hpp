// SPDX-License-Identifier: MIT
// A built CPU kernel loaded into the test process, and one call of it on a problem. Tests may load
// kernels; the host library never does.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "problem/inputs.hpp"
#include "sdpa_abi.h"
#include "support/catch.hpp"

namespace wb::test {

/// 256-byte aligned, as the ABI promises.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size_bytes)
      : m_size_bytes(size_bytes),
        m_data(static_cast<std::byte*>(std::aligned_alloc(256, (size_bytes / 256 + 1) * 256))) {
    REQUIRE(m_data != nullptr);
    std::memset(m_data.get(), 0, m_size_bytes);
  }
  explicit AlignedBytes(std::span<const std::byte> from) : AlignedBytes(from.size()) {
    std::copy(from.begin(), from.end(), m_data.get());
  }
  [[nodiscard]] std::byte* data() const { return m_data.get(); }
  [[nodiscard]] std::span<std::byte> bytes() const { return {m_data.get(), m_size_bytes}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t m_size_bytes;
  std::unique_ptr<std::byte, Free> m_data;
};

inline wb_strides strides_of(problem::Layout layout, std::int64_t heads, std::int64_t rows,
                             std::int64_t dim) {
  if (layout == problem::Layout::bhsd) return {heads * rows * dim, rows * dim, dim};
  return {heads * rows * dim, dim, heads * dim};
}

inline wb_sdpa_problem abi_problem(const problem::Problem& p, bool want_lse) {
  wb_sdpa_problem abi{};
  abi.struct_size = sizeof abi;
  abi.abi_version = 1;  // that of a dense forward
  abi.dtype = static_cast<std::int32_t>(p.dtype);
  abi.causal = static_cast<std::int32_t>(p.causal);
  abi.mask = static_cast<std::int32_t>(p.mask);
  abi.batch = p.B;
  abi.heads_q = p.Hq;
  abi.heads_kv = p.Hkv;
  abi.seq_q = p.Sq;
  abi.seq_kv = p.Skv;
  abi.dim = p.D;
  abi.dim_v = p.Dv;
  abi.q = strides_of(p.layout, p.Hq, p.Sq, p.D);
  abi.k = strides_of(p.layout, p.Hkv, p.Skv, p.D);
  abi.v = strides_of(p.layout, p.Hkv, p.Skv, p.Dv);
  abi.out = strides_of(p.layout, p.Hq, p.Sq, p.Dv);
  abi.mask_strides = {p.Sq * p.Skv, 0, p.Skv};  // [B, 1, Sq, Skv]
  abi.scale = problem::effective_scale(p);
  abi.want_lse = want_lse ? 1 : 0;
  abi.device = -1;
  return abi;
}

class LoadedKernel {
 public:
  explicit LoadedKernel(const std::string& path)
      : m_library(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    INFO((m_library ? std::string() : std::string(::dlerror())));
    REQUIRE(m_library != nullptr);
    plan_create = symbol<decltype(&wb_sdpa_plan_create)>("wb_sdpa_plan_create");
    workspace_bytes = symbol<decltype(&wb_sdpa_workspace_bytes)>("wb_sdpa_workspace_bytes");
    forward = symbol<decltype(&wb_sdpa_forward)>("wb_sdpa_forward");
    plan_destroy = symbol<decltype(&wb_sdpa_plan_destroy)>("wb_sdpa_plan_destroy");
    last_error = symbol<decltype(&wb_sdpa_last_error)>("wb_sdpa_last_error");
    build_id = symbol<decltype(&wb_sdpa_build_id)>("wb_sdpa_build_id");
  }
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  ~LoadedKernel() { ::dlclose(m_library); }

  decltype(&wb_sdpa_plan_create) plan_create;
  decltype(&wb_sdpa_workspace_bytes) workspace_bytes;
  decltype(&wb_sdpa_forward) forward;
  decltype(&wb_sdpa_plan_destroy) plan_destroy;
  decltype(&wb_sdpa_last_error) last_error;
  decltype(&wb_sdpa_build_id) build_id;

 private:
  template <typename Function>
  Function symbol(const char* name) {
    void* address = ::dlsym(m_library, name);
    INFO(name);
    REQUIRE(address != nullptr);
    return reinterpret_cast<Function>(address);
  }
  void* m_library;
};

/// One plan on one problem, with everything a call needs.
class PlannedCall {
 public:
  PlannedCall(const LoadedKernel& kernel, const problem::Problem& problem,
              const problem::Inputs& inputs, bool want_lse)
      : m_kernel(kernel),
        m_q(inputs.q),
        m_k(inputs.k),
        m_v(inputs.v),
        m_mask(inputs.mask),
        m_out(problem::out_bytes(problem)),
        m_lse(static_cast<std::size_t>(problem.B * problem.Hq * problem.Sq) * sizeof(float)),
        m_workspace(0) {
    const wb_sdpa_problem abi = abi_problem(problem, want_lse);
    const int status = kernel.plan_create(&abi, &m_plan);
    INFO(kernel.last_error());
    REQUIRE(status == WB_OK);
    m_workspace = AlignedBytes(kernel.workspace_bytes(m_plan));
    args.struct_size = sizeof args;
    args.q = m_q.data();
    args.k = m_k.data();
    args.v = m_v.data();
    args.mask = inputs.mask.empty() ? nullptr : m_mask.data();
    args.out = m_out.data();
    args.lse = want_lse ? reinterpret_cast<float*>(m_lse.data()) : nullptr;
    args.workspace = m_workspace.data();
    args.threads = 1;
  }
  PlannedCall(const PlannedCall&) = delete;
  PlannedCall& operator=(const PlannedCall&) = delete;
  ~PlannedCall() { m_kernel.plan_destroy(m_plan); }

  void run(int threads) {
    args.threads = threads;
    const int status = m_kernel.forward(m_plan, &args);
    INFO(m_kernel.last_error());
    REQUIRE(status == WB_OK);
  }
  [[nodiscard]] std::span<std::byte> out() const { return m_out.bytes(); }
  [[nodiscard]] std::span<const float> lse() const {
    if (args.lse == nullptr) return {};
    return {args.lse, m_lse.bytes().size() / sizeof(float)};
  }
  wb_sdpa_plan* plan() { return m_plan; }
  wb_sdpa_args args{};

 private:
  const LoadedKernel& m_kernel;
  AlignedBytes m_q, m_k, m_v, m_mask, m_out, m_lse, m_workspace;
  wb_sdpa_plan* m_plan = nullptr;
};

}  // namespace wb::test
