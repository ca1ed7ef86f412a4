// SPDX-License-Identifier: MIT
// kernels/launches.json: how a kernel's host code chooses its launch, as bounds that follow from
// problem and configuration. It explains logs in which no launch was recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/list.hpp"
#include "core/files.hpp"
#include "device/device.hpp"
#include "variant/manifest.hpp"
#include "variant/variant.hpp"

namespace wb::catalogue {

/// Expressions of variant/restriction.hpp, also over UNITS; "" for what the rule does not say.
struct LaunchRule {
  std::string kernel;  ///< a manifest's name
  std::string rows_least, rows_most, parts_least, parts_most, threads_least, threads_most;
  std::string working;        ///< threads that compute; "": all
  std::string heads;          ///< 0: the grid covers one head only; "": it covers all
  bool packed = false;        ///< rows of the query heads of one key/value head share tiles
  std::int64_t resident = 0;  ///< blocks that share an SM; 0: not known
  std::optional<device::SplitProducts> products;  ///< of which it makes one of f32
  std::string fills;  ///< percent of the units that its choice of a tile fills where rows allow
};

/// Bounds of one launch.
struct LaunchBounds {
  std::int64_t rows_least = 0, rows_most = 0;        ///< query rows a block, at most all
  std::int64_t blocks_least = 0, blocks_most = 0;    ///< or CPU tasks
  std::int64_t parts_most = 1;                       ///< blocks a tile of rows
  std::int64_t threads_least = 0, threads_most = 0;  ///< a block; 0: not known
  double working_frac = 1;                           ///< of the threads
  bool covers_heads = true;
};

/// In file order. Errors: parse; invalid (an expression that does not parse, a duplicate kernel);
/// too_new.
Result<std::vector<LaunchRule>> parse_launches(std::string_view text, std::string_view what);
/// From the first folder that has the file; none where no folder has it. Errors: as above.
Result<std::vector<LaunchRule>> load_launches(const FileSystem& file_system,
                                              const variant::SearchPath& search_path);

/// That of a kernel; nullptr: none.
const LaunchRule* find_rule(const std::vector<LaunchRule>& rules, std::string_view kernel);

/// Nothing where an expression has no value, such as a parameter that the variant lacks.
/// `configuration` must be complete.
std::optional<LaunchBounds> bounds_of(const LaunchRule& rule,
                                      const variant::Configuration& configuration,
                                      const problem::Problem& problem, std::int64_t units);

/// How the kernel makes f32 products: as its rule says (nullptr: it has none); three of tf32 where
/// it takes f32 only and uses the tensor cores in this configuration. Nothing: on the units of f32.
std::optional<device::SplitProducts> split_products(const variant::Manifest& manifest,
                                                    const variant::Configuration& configuration,
                                                    const LaunchRule* rule);

}  // namespace wb::catalogue
