// SPDX-License-Identifier: MIT
// Dispatch: kernels/dispatch.json, ordered rules that choose a variant for a problem
// on a device, each naming the session that proved it. Read here; loaded only by sdpa() and
// exports.
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
  std::string session;      ///< where it was proved
};

struct DispatchTable {
  std::vector<DispatchRule> rules;  ///< the last one has no condition: the correct fallback
};

/// Errors: parse, invalid (no unconditional last rule, a predicate that does not parse).
Result<DispatchTable> parse_dispatch(std::string_view text, std::string_view what);

/// Whether the rule is for a device of that name; letter case does not count.
bool is_for_device(const DispatchRule& rule, std::string_view device_name);

/// Whether dtype and `when` take the problem, on whatever device. Errors: invalid (predicate
/// fails).
Result<bool> takes(const DispatchRule& rule, const problem::Problem& problem);

/// The first rule that takes the problem on the device. Errors: invalid (predicate fails).
Result<DispatchRule> choose(const DispatchTable& table, std::string_view device_name,
                            const problem::Problem& problem);

}  // namespace wb::catalogue
