// SPDX-License-Identifier: MIT
// `trace prepare`: converts a profile to the folder that analyses read, in TraceLens' layout.
// Called by the engine's verb.
#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "trace/platforms.hpp"
#include "trace/sdpa_calls.hpp"
#include "trace/trace.hpp"

namespace wb::trace {

struct PrepareRequest {
  fs::path trace;
  std::string platform;  ///< a name or a JSON file; empty: by the profile's GPU
  fs::path output_dir;
};

struct PrepareResult {
  std::size_t forward_rows = 0, backward_rows = 0;
  std::uint64_t forward_calls = 0, backward_calls = 0;
  std::string platform;
  std::vector<std::string> gaps;   ///< sentences, also in the metadata
  std::vector<std::string> ranks;  ///< for a file with several ranks: calls and time of each
  std::string nothing_seen;        ///< why nothing could be inspected; empty: it could
  std::vector<fs::path> files;     ///< written
  std::uint64_t text_bytes = 0, events = 0;
};

/// Writes, for sdpa_fwd and sdpa_bwd if the profile has any: category_data/<c>_ops.csv and
/// <c>_tree_data.json, metadata/<c>_metadata.json; always category_data/category_manifest.json.
/// Files of an earlier run are removed first, but only once the platform is known and the profile
/// can be opened, so that a mistyped name costs no analysis. A later failure, or one in a folder
/// without a manifest, is written into the manifest, so that no analysis takes the folder for a
/// profile without attention. Errors: those of read_trace() and read_platform(); usage (no platform
/// given, and the profile's GPU is unknown); read_only, no_space.
Result<PrepareResult> prepare(FileSystem& file_system, const PrepareRequest& request);

/// Why no operator's kernels could be inspected, in which case "no attention found" would be wrong;
/// empty when they could.
std::string why_nothing_seen(const Trace& trace);
/// What could not be used of a profile, in sentences.
std::vector<std::string> gap_sentences(const Trace& trace, const SdpaCalls& calls);

}  // namespace wb::trace
