// SPDX-License-Identifier: MIT
// KernelTrace: when each kernel began and ended, as CUPTI, NVIDIA's tracing library, tells it: a
// clock that the workbench's own time is held to. Only truth_test.cpp uses it. CUPTI's records
// change their layout from release to release, so what is loaded must be of the release whose
// headers this was compiled with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wb::testing {

/// One kernel, by CUPTI's clock, in nanoseconds.
struct KernelSpan {
  std::uint64_t begin_ns = 0, end_ns = 0;
  bool in_graph = false;  ///< a node of a graph, not a launch of its own
};

/// Traces all kernels of this process while it lives; one at a time. CUPTI stays loaded afterwards.
class KernelTrace {
 public:
  /// The library is looked for in WB_CUPTI (a file), by its name, and where toolkits have it.
  /// Nothing where there is none, or none of this release, or the machine does not let it trace:
  /// the reason is then in `why`.
  static std::optional<KernelTrace> start(std::string& why);
  KernelTrace(KernelTrace&& other) noexcept;
  KernelTrace& operator=(KernelTrace&&) = delete;
  ~KernelTrace();

  /// The kernels since the last take(), by their beginning. The device must be idle. Nothing when
  /// CUPTI failed or dropped some: the reason is in `why`.
  std::optional<std::vector<KernelSpan>> take(std::string& why);

  [[nodiscard]] std::uint32_t version() const { return m_version; }  ///< 130001: of CUDA 13.0
  [[nodiscard]] const std::string& library() const { return m_library; }

 private:
  KernelTrace() = default;
  bool m_is_on = false;
  std::uint32_t m_version = 0;
  std::string m_library;
};

}  // namespace wb::testing
