// SPDX-License-Identifier: MIT
// The prebuilt library behind the operator: loaded once, one plan for each problem and stream, with
// its workspace. Used by op.cpp.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fallback.hpp"

namespace wb_export {

/// The functions of sdpa_abi.h. A library that cannot be used is a reason to fall back, told once.
struct Library {
  decltype(&wb_sdpa_plan_create) plan_create = nullptr;
  decltype(&wb_sdpa_workspace_bytes) workspace_bytes = nullptr;
  decltype(&wb_sdpa_forward) forward = nullptr;
  decltype(&wb_sdpa_plan_destroy) plan_destroy = nullptr;
  decltype(&wb_sdpa_last_error) last_error = nullptr;
  std::string fault;  ///< why it cannot be used; empty when it can
};

/// A plan, its workspace, and the lock under which it is called: one call at a time.
struct Plan {
  std::unique_ptr<wb_sdpa_plan, decltype(&wb_sdpa_plan_destroy)> handle{nullptr, nullptr};
  at::Tensor workspace;
  std::mutex one_call;
};

class Variant {
 public:
  /// This process's own, never destroyed: threads of its plans may outlive main. A forked child
  /// begins anew, since those threads, and whoever held a lock, stayed with its parent.
  static Variant& get();
  /// Writes `out` by the kernel, or says by false that the fallback must.
  bool run(const Call& call, at::Tensor& out);
  std::string last_reason();
  /// The process was forked from the one that loaded this library.
  [[nodiscard]] bool is_forked() const;

  std::atomic<int64_t> kernel_calls{0}, fallback_calls{0};

 private:
  explicit Variant(const Library& library);
  bool refuse(std::string reason);
  std::shared_ptr<Plan> plan_for(const wb_sdpa_problem& problem, const Call& call, void* stream,
                                 std::string& refusal);
  std::shared_ptr<Plan> make_plan(const wb_sdpa_problem& problem, const Call& call,
                                  std::string& refusal);

  const Library m_library;
  const pid_t m_process;
  std::mutex m_mutex;  ///< over all below
  std::string m_last_reason;
  std::map<std::pair<std::string, void*>, std::shared_ptr<Plan>> m_plans;
  std::vector<std::shared_ptr<Plan>> m_captured;  ///< graphs replay into their workspaces
};

}  // namespace wb_export
