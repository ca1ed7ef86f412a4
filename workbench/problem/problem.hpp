// SPDX-License-Identifier: MIT
// Problem: one attention problem (shape, dtype, mask, layout, scale), which every measurement and
// verdict names. Also its text form, FLOPs and minimal bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::problem {

/// The words are frozen: they stand in logs, manifests, Lua, Python and on the command line.
enum class Causal { none, top_left, bottom_right };
enum class MaskKind { none, boolean, additive };  ///< words: none, bool, additive
enum class Layout { bhsd, bshd };                 ///< words: BHSD, BSHD
/// The value of an additive mask at a rejected key: -inf, which masks the key, or the least finite
/// number of the dtype, which does not (docs/contracts/kernel_abi.md). Words: drawn, finite_min.
enum class MaskValues { drawn, finite_min };

std::string_view to_string(Causal value);
std::string_view to_string(MaskKind value);
std::string_view to_string(Layout value);
std::string_view to_string(MaskValues value);
std::optional<Causal> parse_causal(std::string_view word);
std::optional<MaskKind> parse_mask_kind(std::string_view word);
std::optional<Layout> parse_layout(std::string_view word);
std::optional<MaskValues> parse_mask_values(std::string_view word);

/// Letters: B batch, Hq query heads, Hkv key/value heads, Sq queries, Skv keys, D head dim of q and
/// k, Dv head dim of v and out. q [B,Hq,Sq,D], k [B,Hkv,Skv,D], v [B,Hkv,Skv,Dv], out [B,Hq,Sq,Dv],
/// each in the order of its layout; a mask is [B,1,Sq,Skv].
struct Problem {
  std::string name;  ///< from a suite, else empty; not part of the identity
  std::int64_t B = 1, Hq = 1, Hkv = 1, Sq = 1, Skv = 1, D = 1, Dv = 1;
  Dtype dtype = Dtype::f32;
  Causal causal = Causal::none;
  MaskKind mask = MaskKind::none;
  double keep_frac = 1.0;                      ///< of a bool mask: the share of true, in (0, 1]
  MaskValues mask_values = MaskValues::drawn;  ///< of an additive mask
  std::optional<double> scale;                 ///< default 1/sqrt(D)
  Layout layout = Layout::bhsd;                ///< of q and out, and of k and v unless set below
  std::optional<Layout> k_layout, v_layout;    ///< unset when equal to q's: use set_layouts()

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// Limits: sizes from 1 to k_max_size; scales up to k_max_scale in magnitude, so that a score is a
/// finite f32 in every draw; tensors up to k_max_tensor_bytes.
inline constexpr std::int64_t k_max_size = std::int64_t{1} << 31;
inline constexpr double k_max_scale = 1e18;
inline constexpr double k_max_tensor_bytes = 1099511627776.0;  // 2^40
/// The share of an additive mask that is not -inf.
inline constexpr double k_additive_keep_frac = 0.9;

/// 1 / sqrt(D). A parsed problem that names exactly this scale has no scale set.
double default_scale(std::int64_t head_dim);
double effective_scale(const Problem& problem);

Layout k_layout(const Problem& problem);
Layout v_layout(const Problem& problem);
/// Sets the three layouts in canonical form, so that equal problems compare equal.
void set_layouts(Problem& problem, Layout q, Layout k, Layout v);
bool has_one_layout(const Problem& problem);

/// Canonical text: "B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16 causal=none", plus "Dv= scale=
/// mask=bool:0.7 | mask=additive mask=additive:finite_min layout=BSHD layout=q:BSHD,k:BHSD,v:BHSD"
/// where not the default. Equal problems (names aside) give equal text.
std::string to_text(const Problem& problem);

/// The name if it has one, else the text.
std::string label(const Problem& problem);

/// Reads the text form. Tokens in any order; Hq, Hkv, Skv, D default as documented in
/// docs/contracts/measurement.md: Hkv = Hq, Skv = Sq, Dv = D, causal = none, dtype f32.
/// Errors: parse (unknown token, missing B/Hq/Sq/D), invalid (a rule of validate()).
Result<Problem> parse_problem(std::string_view text);

/// Reads several problems joined by ';'. Errors: as above, for the first bad one.
Result<std::vector<Problem>> parse_problems(std::string_view texts);

/// Reads the JSON form of suites: {"name","B","Hq","Hkv","Sq","Skv","D","dtype","causal", optional
/// "Dv","scale","layout": a word or {"q","k","v"},"mask":{"kind","shape","keep_frac","values"}}.
Result<Problem> problem_from_json(const Json& json, std::string_view what);
Json to_json(const Problem& problem);

/// Refuses sizes below 1 or above 2^31, Hq mod Hkv != 0, a scale that is not finite or too large,
/// keep_frac outside (0,1] or given without a bool mask, mask values without an additive one, and
/// tensors of more than 2^40 bytes.
Result<void> validate(const Problem& problem);

/// Keys that query row `row` may see under the causal rule alone: keys [0, count).
std::int64_t visible_keys(const Problem& problem, std::int64_t row);

/// Expected number of rows of the mask [B,1,Sq,Skv] that see no key in one draw, in closed form:
/// rows without any causally visible key, and rows whose visible keys a random mask all rejects.
double expected_rows_without_keys(const Problem& problem);

/// The arithmetic and traffic that the problem itself demands. `kept_pairs` is the number of
/// unmasked (q, k) pairs summed over B and Hq: exact for causal rules; for a bool mask the count
/// from the drawn mask, or the expected share without one. -inf of an additive mask counts as
/// masked.
struct Work {
  double flops = 0;  ///< 2 (D + Dv) kept_pairs
  /// Bytes that must move: q of the rows and k, v of the keys that take part (with a random mask
  /// their expected number), the causally visible part of the mask, and all of out.
  double min_bytes = 0;
  double kept_pairs = 0;
};
Work work(const Problem& problem, std::optional<double> kept_pairs_of_drawn_mask = {});

}  // namespace wb::problem
