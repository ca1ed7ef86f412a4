// SPDX-License-Identifier: MIT
// kernels/techniques.json: what may be tried on a kernel, what it brought where it was measured,
// what it needs and costs. Data that advice is made of; a person may add to it or correct it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "variant/manifest.hpp"
#include "variant/variant.hpp"

namespace wb::catalogue {

/// Which problems an entry of a catalogue is about.
struct ProblemKind {
  std::string when;           ///< restriction-style predicate over the problem; empty: any
  std::vector<Dtype> dtypes;  ///< empty: any
};
/// The keys `when` and `dtypes` of an entry; faults are the reader's.
ProblemKind read_problem_kind(ObjectReader& reader);
/// A predicate was checked when it was read.
bool is_of(const ProblemKind& kind, const problem::Problem& problem);

struct Technique {
  std::string name, title;                 ///< name: one of known_techniques()
  std::vector<std::string> backends;       ///< "cpu", "cuda"
  std::vector<std::string> helps;          ///< bounds: "launch", "latency", "memory", "compute"
  double impact_low = 1, impact_high = 1;  ///< speedup where it is new, as measured or bounded
  std::string impact_source;
  double hours_low = 0, hours_high = 0;  ///< a guess, of someone who knows the kernel
  std::string complexity, risk;          ///< "low", "medium", "high"
  std::string pros, cons;
  std::vector<std::string> needs;        ///< techniques that a kernel must have before
  std::vector<std::string> replaced_by;  ///< techniques beside which it is pointless
  std::string architecture_from;         ///< "sm_90"; empty: any
  std::string architecture_to;           ///< the last that has it; empty: any later one
  ProblemKind kind;                      ///< that it is for
};

/// By name. Errors: parse; invalid (an unknown word, a range that is none, a name twice, a name of
/// the closed list that is missing); too_new.
Result<std::vector<Technique>> parse_techniques(std::string_view text, std::string_view what);

/// Of the first folder that has one. Errors: not_found, and as above.
Result<std::vector<Technique>> load_techniques(const FileSystem& file_system,
                                               const variant::SearchPath& search_path);

/// "sm_90a" is at least "sm_80"; false where one is no such word.
bool is_at_least(std::string_view architecture, std::string_view floor);

}  // namespace wb::catalogue
