// SPDX-License-Identifier: MIT
// What a worker determines about its machine: at hello the CPU set, the interpreter for Python
// subjects and the place of its own files; later higher peaks than those it calibrated at hello.
// Used by supervisor.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
#include "measure/plan.hpp"
#include "problem/problem.hpp"

namespace wb::worker {

std::string_view worker_version();

/// "0-3,8" -> {0,1,2,3,8}; empty text: all of `allowed`. Errors: parse, invalid (a CPU that this
/// process may not run on).
Result<std::vector<int>> choose_cpus(std::string_view text, const std::vector<int>& allowed);

/// The real path of an interpreter ("python3", a virtual environment's). Asks it for
/// sys.executable, because a shim may need environment variables that subjects do not get. Errors:
/// not_found, invalid.
Result<std::string> find_python(const std::string& wanted);

/// The Python subject loop that was installed with this program (find_installed_root). Errors:
/// not_found.
Result<std::string> find_subject_script(const std::string& own_program);

// Peaks that were calibrated in a disturbed moment lie too low, and would refuse honest kernels as
// faster than the machine. A time that they refuse is reason to calibrate again before anyone does;
// nothing that is measured lies above the true peak, so what is impossible stays so.

/// Each peak of `device` that `again` found higher becomes that; whether any did. What is unknown
/// stays unknown.
bool keep_higher_peaks(device::Device& device, const device::Device& again);

/// So many calibrations for one time, and for one session.
inline constexpr int k_looks_at_peaks = 3, k_most_looks_at_peaks = 30;

/// Calibrates again by `look` while the peaks of `device` refuse `median_us`, and keeps the higher
/// ones; `looks_left` counts down. Whether any peak rose.
bool look_again_at_peaks(device::Device& device, const problem::Problem& problem,
                         measure::PlanKind plan, double median_us, int& looks_left,
                         const std::function<device::Device()>& look);

}  // namespace wb::worker
