// SPDX-License-Identifier: MIT
#include "worker/variant_api.hpp"

#include <fmt/format.h>

#include "problem/inputs.hpp"
#include "worker/failure.hpp"
#include "worker/library.hpp"

namespace wb::worker {

using problem::Causal;
using problem::MaskKind;
using problem::Tensor;

namespace {

/// All that the workbench asks for so far is a dense forward, which version 1 of the ABI can say;
/// so artifacts built with the header of version 1 run as they did.
constexpr std::int32_t k_dense_forward_version = 1;

wb_strides abi_strides(const problem::TensorStrides& strides) {
  return {strides.batch, strides.head, strides.row};
}

int abi_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return WB_F32;
    case Dtype::f16:
      return WB_F16;
    case Dtype::bf16:
      return WB_BF16;
  }
  return -1;
}

int abi_causal(Causal causal) {
  switch (causal) {
    case Causal::none:
      return WB_CAUSAL_NONE;
    case Causal::top_left:
      return WB_CAUSAL_TOP_LEFT;
    case Causal::bottom_right:
      return WB_CAUSAL_BOTTOM_RIGHT;
  }
  return -1;
}

int abi_mask(MaskKind mask) {
  switch (mask) {
    case MaskKind::none:
      return WB_MASK_NONE;
    case MaskKind::boolean:
      return WB_MASK_BOOL;
    case MaskKind::additive:
      return WB_MASK_ADDITIVE;
  }
  return -1;
}

wb_sdpa_problem abi_problem(const problem::Problem& problem, bool want_lse, std::int32_t device,
                            const problem::CallForm& form) {
  wb_sdpa_problem abi{};
  abi.struct_size = sizeof abi;
  abi.abi_version = k_dense_forward_version;
  abi.dtype = abi_dtype(problem.dtype);
  abi.causal = abi_causal(problem.causal);
  abi.mask = abi_mask(problem.mask);
  abi.batch = problem.B;
  abi.heads_q = problem.Hq;
  abi.heads_kv = problem.Hkv;
  abi.seq_q = problem.Sq;
  abi.seq_kv = problem.Skv;
  abi.dim = problem.D;
  abi.dim_v = problem.Dv;
  abi.q = abi_strides(problem::view_strides(problem, Tensor::q, form.q));
  abi.k = abi_strides(problem::view_strides(problem, Tensor::k, form.k));
  abi.v = abi_strides(problem::view_strides(problem, Tensor::v, form.v));
  abi.out = abi_strides(problem::out_view_strides(problem, form.out));
  if (problem.mask != MaskKind::none) {
    abi.mask_strides = abi_strides(problem::view_strides(problem, Tensor::mask, form.mask));
  }
  abi.scale = problem::effective_scale(problem);
  abi.want_lse = want_lse ? 1 : 0;
  abi.device = device;
  return abi;
}

}  // namespace

Outcome<VariantApi> load_library(const std::string& path, std::string_view build_id) {
  auto library = Library::open(path.c_str(), "no reason");
  if (!library.ok()) {
    return runtime_failure(fmt::format("cannot load the shared library: {}", library.error()));
  }
  VariantApi api;
  library->find("wb_sdpa_plan_create", api.plan_create);
  library->find("wb_sdpa_workspace_bytes", api.workspace_bytes);
  library->find("wb_sdpa_forward", api.forward);
  library->find("wb_sdpa_plan_destroy", api.plan_destroy);
  library->find("wb_sdpa_last_error", api.last_error);
  library->find("wb_sdpa_build_id", api.build_id);
  if (const char* const missing = library->missing(); missing != nullptr) {
    return runtime_failure(
        fmt::format("the library does not export {}; include common/sdpa_abi.h and "
                    "define every function it declares",
                    missing));
  }
  const char* words = api.build_id();
  const std::string_view got = words != nullptr ? words : "";
  if (got != build_id) {
    return runtime_failure(
        fmt::format("build id mismatch: the library says \"{}\", the artifact is "
                    "\"{}\"; wb_sdpa_build_id must return WB_BUILD_ID",
                    printable(got, 80), printable(build_id, 80)));
  }
  return api;
}

Failure call_failure(const VariantApi& api, std::string_view function, int status) {
  const char* words = api.last_error();
  return runtime_failure(fmt::format(
      "{} returned {}: {}", function,
      status == WB_FAILED        ? std::string("WB_FAILED")
      : status == WB_UNSUPPORTED ? std::string("WB_UNSUPPORTED")
                                 : fmt::format("{}, which is no wb_status", status),
      words != nullptr && *words != '\0' ? printable(words, 400) : "it gave no reason"));
}

Outcome<VariantPlan> VariantPlan::create(const VariantApi& api, const problem::Problem& problem,
                                         bool want_lse, std::int32_t device,
                                         const problem::CallForm& form) {
  const wb_sdpa_problem abi = abi_problem(problem, want_lse, device, form);
  wb_sdpa_plan* raw = nullptr;
  const int status = api.plan_create(&abi, &raw);
  Handle plan(raw, Destroy{api.plan_destroy, api.leaving});
  if (status == WB_UNSUPPORTED) {
    (void)plan.release();
    Failure failure = call_failure(api, "wb_sdpa_plan_create", status);
    failure.invalidity = Invalidity::constraints;
    return failure;
  }
  if (status != WB_OK) {
    (void)plan.release();
    return call_failure(api, "wb_sdpa_plan_create", status);
  }
  if (raw == nullptr) return runtime_failure("wb_sdpa_plan_create returned WB_OK but no plan");
  const std::size_t bytes = api.workspace_bytes(raw);
  return VariantPlan(std::move(plan), bytes);
}

}  // namespace wb::worker
