// SPDX-License-Identifier: MIT
// A loaded variant as the subject calls it: the functions of sdpa_abi.h, from a shared library or
// built in (builtin.hpp), and a plan for one problem. Subject process only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/sdpa_abi.h"
#include "core/error.hpp"
#include "problem/call_form.hpp"
#include "problem/problem.hpp"

namespace wb::worker {

struct VariantApi {
  decltype(&wb_sdpa_plan_create) plan_create = nullptr;
  decltype(&wb_sdpa_workspace_bytes) workspace_bytes = nullptr;
  decltype(&wb_sdpa_forward) forward = nullptr;
  decltype(&wb_sdpa_plan_destroy) plan_destroy = nullptr;
  decltype(&wb_sdpa_last_error) last_error = nullptr;
  decltype(&wb_sdpa_build_id) build_id = nullptr;
  /// Called with true before each wb_sdpa_plan_destroy, which has a limit of seconds, and with
  /// false after it.
  std::function<void(bool)> leaving = {};
};

/// Loads a shared library for good (it is never unloaded: threads of its own may still run).
/// Failures: runtime (cannot be loaded, a function is missing, another build id).
Outcome<VariantApi> load_library(const std::string& path, std::string_view build_id);

/// wb_sdpa_problem::device of a CPU variant.
inline constexpr std::int32_t k_no_gpu = -1;

/// A plan of the variant for one problem.
class VariantPlan {
 public:
  /// `device`: CUDA ordinal or k_no_gpu. Failures: constraints (the variant refuses the problem),
  /// runtime.
  static Outcome<VariantPlan> create(const VariantApi& api, const problem::Problem& problem,
                                     bool want_lse, std::int32_t device,
                                     const problem::CallForm& form = {});
  [[nodiscard]] wb_sdpa_plan* get() const { return m_plan.get(); }
  [[nodiscard]] std::size_t workspace_bytes() const { return m_workspace_bytes; }

 private:
  struct Destroy {
    decltype(&wb_sdpa_plan_destroy) destroy = nullptr;
    std::function<void(bool)> leaving = {};
    void operator()(wb_sdpa_plan* plan) const {
      if (leaving) leaving(true);
      destroy(plan);
      if (leaving) leaving(false);
    }
  };
  using Handle = std::unique_ptr<wb_sdpa_plan, Destroy>;
  explicit VariantPlan(Handle plan, std::size_t bytes)
      : m_plan(std::move(plan)), m_workspace_bytes(bytes) {}
  Handle m_plan;
  std::size_t m_workspace_bytes = 0;
};

/// "wb_sdpa_forward returned WB_FAILED: <last_error>".
Failure call_failure(const VariantApi& api, std::string_view function, int status);

}  // namespace wb::worker
