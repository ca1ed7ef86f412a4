// SPDX-License-Identifier: MIT
// Dispatch: kernels/dispatch.json, ordered rules that choose a variant for a problem on a device,
// each with the session that proved it. Only read by this module; sdpa() and exports load the
// artifacts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "variant/manifest.hpp"

namespace wb::catalogue {

struct DispatchRule {
  std::string device;         ///< substring of the device's name; empty: any
  std::string when;           ///< restriction-style predicate over the problem; empty: always
  std::vector<Dtype> dtypes;  ///< empty: any
  std::string variant;        ///< kernel name
  variant::Configuration configuration;
  std::string artifact_id;  ///< of the recorded pass; empty only for the fallback
  std::string session;      ///< the session with the proof
};

struct DispatchTable {
  std::vector<DispatchRule> rules;  ///< the last one is the correct fallback, without a condition
};

/// Errors: parse, invalid (no unconditional last rule, a predicate that does not parse).
Result<DispatchTable> parse_dispatch(std::string_view text, std::string_view what);

/// True when the rule is for a device of that name, in any letter case.
bool is_for_device(const DispatchRule& rule, std::string_view device_name);

/// True when dtype and `when` match the problem, on any device. Errors: invalid (predicate fails).
Result<bool> takes(const DispatchRule& rule, const problem::Problem& problem);

/// The first rule that matches the problem on the device. Errors: invalid (predicate fails).
Result<DispatchRule> choose(const DispatchTable& table, std::string_view device_name,
                            const problem::Problem& problem);

}  // namespace wb::catalogue
