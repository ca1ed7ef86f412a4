// SPDX-License-Identifier: MIT
// Words of manifests, their JSON form, the support query, and configurations of their parameters;
// manifest_reader.cpp reads them.
#include "variant/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.hpp"
#include "variant/restriction.hpp"
#include "variant/variant.hpp"

namespace wb::variant {

using problem::Problem;

namespace {

/// Sorted. A closed list, because advice is withheld when its technique is already listed, which
/// requires that all manifests use the same word. Add a new word here and in
/// docs/guide/add_a_kernel.md.
constexpr std::array<std::string_view, 34> k_techniques = {
    "async_copy",
    "bank_conflict_padding",
    "bank_conflict_swizzle",
    "cache_tiling",
    "causal_load_balance",
    "cluster_multicast",
    "double_buffering",
    "exp2_softmax",
    "fast_exp_polynomial",
    "fused_softmax",
    "gqa_packing",
    "key_transpose",
    "l2_tile_order",
    "launch_bounds",
    "lazy_rescale",
    "low_precision_p",
    "masked_block_skip",
    "multi_stage_pipeline",
    "multi_threading",
    "online_softmax",
    "persistent_kernel",
    "ping_pong_schedule",
    "query_tiling",
    "register_reallocation",
    "register_tiling",
    "simd_vectorization",
    "software_prefetch",
    "split_kv",
    "tensor_core_mma",
    "tensor_core_wgmma",
    "tma_copy",
    "vectorized_loads",
    "warp_shuffle_reduction",
    "warp_specialization",
};

/// Words of one backend alone, as kernels/techniques.json has them; sorted.
constexpr std::array<std::string_view, 4> k_cpu_techniques = {
    "cache_tiling", "key_transpose", "multi_threading", "simd_vectorization"};
constexpr std::array<std::string_view, 18> k_cuda_techniques = {
    "async_copy",        "bank_conflict_padding",  "bank_conflict_swizzle",
    "cluster_multicast", "l2_tile_order",          "launch_bounds",
    "lazy_rescale",      "low_precision_p",        "multi_stage_pipeline",
    "persistent_kernel", "ping_pong_schedule",     "register_reallocation",
    "tensor_core_mma",   "tensor_core_wgmma",      "tma_copy",
    "vectorized_loads",  "warp_shuffle_reduction", "warp_specialization"};

/// Query rows of one tile: with fewer there is no order of tiles to level.
constexpr std::int64_t k_rows_of_a_tile = 64;

/// A problem with fewer expected rows without keys per draw counts as one without.
constexpr double k_negligible_rows = 1e-6;

constexpr std::array<std::string_view, 3> k_backends = {"cpu", "cuda", "python"};

template <typename T>
Json words_json(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T value : values) list.push_back(std::string(to_string(value)));
  return list;
}

template <typename T>
bool lists(const std::vector<T>& list, const T& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

std::string_view to_string(Backend value) {
  return k_backends[static_cast<std::size_t>(value)];
}

std::optional<Backend> parse_backend(std::string_view word) {
  for (std::size_t i = 0; i < k_backends.size(); ++i) {
    if (k_backends[i] == word) return static_cast<Backend>(i);
  }
  return {};
}

std::string to_text(const Configuration& configuration) {
  std::string text;
  for (const auto& [name, value] : configuration) {
    if (!text.empty()) text += ' ';
    text += name + '=' + fmt::to_string(value);
  }
  return text;
}

Json to_json(const Configuration& configuration) {
  Json json = Json::object();
  for (const auto& [name, value] : configuration) json[name] = value;
  return json;
}

std::span<const std::string_view> known_techniques() {
  return k_techniques;
}

bool runs_on_gpu(const Manifest& manifest) {
  return manifest.backend == Backend::cuda ||
         (manifest.backend == Backend::python && !manifest.architectures.empty());
}

std::int64_t stride_elements(const Manifest& manifest, Dtype dtype) {
  const std::int64_t said = manifest.support.stride_multiple;
  const std::int64_t bytes = said > 0 ? said : runs_on_gpu(manifest) ? k_gpu_stride_bytes : 1;
  return std::max<std::int64_t>(1, bytes / size_bytes(dtype));
}

Json to_json(const Manifest& manifest) {
  const Support& support = manifest.support;
  Json params = Json::object();
  for (const auto& [name, values] : manifest.tune_params) params[name] = values;
  return Json{{"name", manifest.name},
              {"about", manifest.about},
              {"parent", manifest.parent},
              {"backend", std::string(to_string(manifest.backend))},
              {"architectures", manifest.architectures},
              {"supports",
               {{"dtypes", words_json(support.dtypes)},
                {"head_dims", support.head_dims},
                {"head_dim_multiple", support.head_dim_multiple},
                {"head_dim_max", support.head_dim_max},
                {"causal", words_json(support.causal)},
                {"masks", words_json(support.masks)},
                {"layouts", words_json(support.layouts)},
                {"gqa", support.gqa},
                {"dv_differs", support.dv_differs},
                {"rows_without_keys", support.rows_without_keys},
                {"stride_multiple", support.stride_multiple},
                {"seq_q_max", support.seq_q_max},
                {"seq_kv_max", support.seq_kv_max}}},
              {"sources", manifest.sources},
              {"tune_params", params},
              {"defaults", to_json(manifest.defaults)},
              {"restrictions", manifest.restrictions},
              {"techniques", manifest.techniques},
              {"techniques_if", manifest.technique_conditions},
              {"includes", manifest.includes},
              {"libraries", manifest.libraries},
              {"entry", manifest.entry},
              {"compile_flags", manifest.compile_flags}};
}

std::optional<std::string> unsupported_reason(const Manifest& manifest,
                                              const problem::Problem& problem) {
  const Support& support = manifest.support;
  const auto word = [](auto value) { return std::string(to_string(value)); };
  if (!lists(support.dtypes, problem.dtype)) return "dtype " + word(problem.dtype);
  if (!lists(support.causal, problem.causal)) return "causal=" + word(problem.causal);
  if (!lists(support.masks, problem.mask)) return "mask=" + word(problem.mask);
  for (const problem::Layout layout :
       {problem.layout, problem::k_layout(problem), problem::v_layout(problem)}) {
    if (!lists(support.layouts, layout)) return "layout=" + word(layout);
  }
  if (!lists(support.head_dims, problem.D)) {
    return "D=" + fmt::to_string(problem.D) + " is not among its head dims";
  }
  for (const std::int64_t dim : {problem.D, problem.Dv}) {
    if (dim > support.head_dim_max) {
      return "head dim " + fmt::to_string(dim) + " above " + fmt::to_string(support.head_dim_max);
    }
    if (dim % support.head_dim_multiple != 0) {
      return "head dim " + fmt::to_string(dim) + " is not a multiple of " +
             fmt::to_string(support.head_dim_multiple);
    }
  }
  if (!support.dv_differs && problem.Dv != problem.D) return "Dv != D";
  if (!support.gqa && problem.Hkv != problem.Hq) return "Hkv < Hq (GQA)";
  problem::Problem masked = problem;
  masked.mask_values =
      problem::MaskValues::drawn;  // a row of finite minima counts as one without keys too
  if (!support.rows_without_keys &&
      problem::expected_rows_without_keys(masked) > k_negligible_rows) {
    return "rows that may see no key";
  }
  if (problem.Sq > support.seq_q_max) return "Sq above " + fmt::to_string(support.seq_q_max);
  if (problem.Skv > support.seq_kv_max) return "Skv above " + fmt::to_string(support.seq_kv_max);
  return {};
}

// Configurations: completed by the manifest's defaults and checked against values and restrictions.

std::map<std::string, std::int64_t> problem_values(const Problem& problem) {
  return {{"B", problem.B},
          {"Hq", problem.Hq},
          {"Hkv", problem.Hkv},
          {"Sq", problem.Sq},
          {"Skv", problem.Skv},
          {"D", problem.D},
          {"Dv", problem.Dv},
          {"dtype_bytes", size_bytes(problem.dtype)},
          {"causal", static_cast<std::int64_t>(problem.causal)},
          {"mask", static_cast<std::int64_t>(problem.mask)}};
}

bool is_problem_name(std::string_view name) {
  return problem_values(Problem{}).contains(std::string(name));
}

namespace {

Result<void> check_values(const Manifest& manifest, const Configuration& configuration) {
  for (const auto& [name, value] : configuration) {
    const auto param = manifest.tune_params.find(name);
    if (param == manifest.tune_params.end()) {
      std::vector<std::string> known;
      for (const auto& [known_name, values] : manifest.tune_params) known.push_back(known_name);
      const std::string close = did_you_mean(name, known);
      std::string all;
      for (const std::string& word : known) all += (all.empty() ? "" : ", ") + word;
      return Error{ErrorCode::not_found, "set a parameter of", manifest.name,
                   "it has no parameter " + name,
                   !close.empty()  ? "did you mean " + close + "?"
                   : known.empty() ? "it has no tunable parameters"
                                   : "its parameters are " + all};
    }
    const auto& values = param->second;
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      std::string all;
      for (const std::int64_t v : values) all += (all.empty() ? "" : ", ") + fmt::to_string(v);
      return Error{ErrorCode::invalid, "set a parameter of", manifest.name,
                   name + "=" + fmt::to_string(value) + " is not one of its values",
                   "choose from " + all};
    }
  }
  return {};
}

}  // namespace

Result<Configuration> complete_configuration(const Manifest& manifest, const Configuration& given) {
  WB_TRY(check_values(manifest, given));
  Configuration complete = given;
  complete.insert(manifest.defaults.begin(), manifest.defaults.end());
  return complete;
}

Result<std::optional<std::string>> violated_restriction(const Manifest& manifest,
                                                        const Configuration& configuration,
                                                        const Problem* problem) {
  WB_TRY_ASSIGN(Configuration values, complete_configuration(manifest, configuration));
  if (problem != nullptr) values.merge(problem_values(*problem));
  for (const std::string& text : manifest.restrictions) {
    WB_TRY_ASSIGN(const Restriction restriction, Restriction::parse(text));
    const auto names = restriction.names();
    const bool asks_problem =
        std::any_of(names.begin(), names.end(), [](const auto& n) { return is_problem_name(n); });
    if (problem == nullptr && asks_problem) continue;
    auto holds = restriction.holds(values);
    if (!holds.ok()) {
      Error error = std::move(holds).error();
      error.subject = "\"" + text + "\" of " + manifest.name;
      return error;
    }
    if (!*holds) return std::optional<std::string>(text);
  }
  return std::optional<std::string>();
}

std::vector<std::string> techniques_in(const Manifest& manifest,
                                       const Configuration& configuration) {
  const auto values = complete_configuration(manifest, configuration);
  std::vector<std::string> used;
  for (const std::string& word : manifest.techniques) {
    const auto condition = manifest.technique_conditions.find(word);
    if (condition != manifest.technique_conditions.end() && values.ok()) {
      const auto parsed = Restriction::parse(condition->second);
      if (parsed.ok()) {
        const auto holds = parsed->holds(*values);
        if (holds.ok() && !*holds) continue;
      }
    }
    used.push_back(word);
  }
  return used;
}

bool can_act(std::string_view technique, std::string_view backend,
             const std::vector<Problem>& problems) {
  const auto is_among = [&](const auto& words) {
    return std::binary_search(words.begin(), words.end(), technique);
  };
  if (backend == "cuda" && is_among(k_cpu_techniques)) return false;
  if (backend == "cpu" && is_among(k_cuda_techniques)) return false;
  const auto acts_on = [&](const Problem& one) {
    const bool is_causal = one.causal != problem::Causal::none;
    if (technique == "causal_load_balance") return is_causal && one.Sq > k_rows_of_a_tile;
    if (technique == "masked_block_skip") return is_causal || one.mask != problem::MaskKind::none;
    return technique != "gqa_packing" || one.Hq > one.Hkv;
  };
  return problems.empty() || std::any_of(problems.begin(), problems.end(), acts_on);
}

}  // namespace wb::variant
