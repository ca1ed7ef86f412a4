// SPDX-License-Identifier: MIT
// The manifest kernel.json: a variant's identity, the problems it supports, its tunable parameters
// and the restrictions between them. Read by the catalogue, the builder, strategies and reports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "problem/problem.hpp"

namespace wb::variant {

enum class Backend { cpu, cuda, python };
std::string_view to_string(Backend value);
std::optional<Backend> parse_backend(std::string_view word);

/// True for kernel and folder names: lower-case letters, digits, '_', a letter first, at most 64.
bool is_kernel_name(std::string_view word);

/// One value per tunable parameter; reaches the source as -D<name>=<value>.
using Configuration = std::map<std::string, std::int64_t>;
std::string to_text(const Configuration& configuration);  ///< "TILE_M=32 TILE_N=64"
Json to_json(const Configuration& configuration);

/// The problems that a variant supports. An empty list means "any".
struct Support {
  std::vector<Dtype> dtypes;
  std::vector<std::int64_t> head_dims;  ///< allowed D; empty: any within the limits below
  std::int64_t head_dim_multiple = 1, head_dim_max = 1 << 20;
  std::vector<problem::Causal> causal;
  std::vector<problem::MaskKind> masks;
  std::vector<problem::Layout> layouts;
  bool gqa = true;         ///< Hkv < Hq
  bool dv_differs = true;  ///< Dv != D
  /// True: rows that see no key give 0 with an LSE of -infinity. False, for PyTorch on a GPU, which
  /// gives other values there and for bf16 rows of finite minima: problems whose draws may have
  /// such rows are excluded.
  bool rows_without_keys = true;
  /// Multiple, in bytes, of the strides of tensors that are not packed; 0: one element on a CPU,
  /// k_gpu_stride_bytes on a GPU.
  std::int64_t stride_multiple = 0;
  std::int64_t seq_q_max = std::int64_t{1} << 31, seq_kv_max = std::int64_t{1} << 31;
};

inline constexpr std::int64_t k_gpu_stride_bytes = 16;

struct Manifest {
  std::string name, about, parent;  ///< parent may be empty
  Backend backend = Backend::cpu;
  std::vector<std::string> architectures;  ///< "x86-64", "sm_90a"; empty: any of the backend
  Support support;
  std::vector<std::string> sources;  ///< relative, inside the folder; the first one is compiled
  std::map<std::string, std::vector<std::int64_t>> tune_params;
  Configuration defaults;
  std::vector<std::string> restrictions;  ///< expressions over parameters and problem letters
  std::vector<std::string> techniques;    ///< from k_techniques
  /// By technique: the condition on parameters under which it is used; absent: always.
  std::map<std::string, std::string> technique_conditions;
  std::vector<std::string> includes, libraries;  ///< by name; granted by --allow-include DIR
  std::string entry;                             ///< python: "module:function"
  std::vector<std::string> compile_flags;        ///< from the allow-list of the toolchain
};

/// True for CUDA variants, and for Python ones that name architectures, such as Triton kernels and
/// PyTorch's backends on a GPU.
bool runs_on_gpu(const Manifest& manifest);

/// The multiple, in elements, of the strides of views.
std::int64_t stride_elements(const Manifest& manifest, Dtype dtype);

/// The closed list of technique words, sorted.
std::span<const std::string_view> known_techniques();
/// The techniques that the variant uses in this configuration, which may be incomplete. A condition
/// that cannot be evaluated counts as true.
std::vector<std::string> techniques_in(const Manifest& manifest,
                                       const Configuration& configuration);

/// Whether the technique can do anything on one of the problems at least: some words are of one
/// backend only, hidden keys need a causal rule or a mask, shared key heads need GQA. True of words
/// that it does not know and without problems. `backend`: "cpu" or "cuda"; others exclude nothing.
bool can_act(std::string_view technique, std::string_view backend,
             const std::vector<problem::Problem>& problems);

/// Errors: parse, invalid (unknown key, unknown technique, a source outside the folder, a default
/// that is not among the values, a restriction that does not parse). `what` names the file.
Result<Manifest> parse_manifest(std::string_view text, std::string_view what);
Json to_json(const Manifest& manifest);

/// Why the variant does not support the problem, or nothing (restrictions are not checked).
std::optional<std::string> unsupported_reason(const Manifest& manifest,
                                              const problem::Problem& problem);

}  // namespace wb::variant
