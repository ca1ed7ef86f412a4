// SPDX-License-Identifier: MIT
// kernels/techniques.json: what may be tried on a kernel, the measured effect, requirements and
// costs. Data for advice; users may extend or correct it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/list.hpp"
#include "core/files.hpp"
#include "variant/manifest.hpp"
#include "variant/variant.hpp"

namespace wb::catalogue {

struct Technique {
  std::string name, title;                 ///< name: one of known_techniques()
  std::string family;                      ///< techniques of one kind; empty: not said
  std::vector<std::string> backends;       ///< "cpu", "cuda"
  std::vector<std::string> helps;          ///< limits: "launch", "latency", "memory", "compute"
  double impact_low = 1, impact_high = 1;  ///< speedup when newly applied, measured or bounded
  std::string impact_source;
  double hours_low = 0, hours_high = 0;  ///< an estimate, for someone who knows the kernel
  std::string complexity, risk;          ///< "low", "medium", "high"
  std::string pros, cons;
  std::vector<std::string> needs;        ///< techniques that a kernel must have first
  std::vector<std::string> replaced_by;  ///< techniques that make it pointless
  std::string architecture_from;         ///< "sm_90"; empty: any
  std::string architecture_to;           ///< the last that has it; empty: all later ones
  ProblemKind kind;                      ///< the problems that it is for
};

/// By name. Errors: parse; invalid (an unknown word, an invalid range, a duplicate name, a missing
/// name of the closed list); too_new.
Result<std::vector<Technique>> parse_techniques(std::string_view text, std::string_view what);

/// From the first folder that has the file. Errors: not_found, and as above.
Result<std::vector<Technique>> load_techniques(const FileSystem& file_system,
                                               const variant::SearchPath& search_path);

/// "sm_90a" is at least "sm_80"; false when a word is no architecture.
bool is_at_least(std::string_view architecture, std::string_view floor);

}  // namespace wb::catalogue
