// SPDX-License-Identifier: MIT
#include "variant/edge_draws.hpp"
#include "core/json.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "support/catch.hpp"
#include "variant/restriction.hpp"

namespace wb {

using problem::Causal;
using problem::Draw;
using problem::MaskKind;
using problem::Tensor;
using variant::EdgeDraw;
using variant::k_edge_draws;
using variant::KeyedRandom;
using variant::Manifest;

namespace {

Manifest claims(const std::string& supports, const std::string& backend = "cpu") {
  const std::string source = backend == "cuda" ? "kernel.cu" : "kernel.cpp";
  return variant::parse_manifest(R"({"name": "k", "backend": ")" + backend + R"(", "supports": )" +
                                     supports + R"(, "sources": [")" + source + R"("]})",
                                 "a test")
      .value();
}

std::vector<EdgeDraw> drawn(const Manifest& manifest, std::uint64_t key,
                            std::size_t count = k_edge_draws, const char* near = nullptr) {
  variant::EdgeTerms terms{.manifest = manifest,
                           .takes =
                               [&](const problem::Problem& p) {
                                 const auto violated =
                                     variant::violated_restriction(manifest, manifest.defaults, &p);
                                 return !variant::unsupported_reason(manifest, p) &&
                                        violated.ok() && !violated->has_value();
                               },
                           .near = {},
                           .count = count};
  if (near != nullptr) terms.near.push_back(problem::parse_problem(near).value());
  KeyedRandom random(key);
  return variant::draw_edges(terms, random);
}

constexpr const char* k_near = "B=2 Hq=8 Hkv=4 Sq=100 D=64 f16 causal=top_left";

using Verdicts = std::vector<std::vector<EdgeDraw>>;

/// The drawn runs of so many verdicts.
Verdicts verdicts_of(const Manifest& manifest, std::uint64_t count = 60) {
  Verdicts verdicts;
  for (std::uint64_t key = 0; key < count; ++key) {
    verdicts.push_back(drawn(manifest, 1'000 + key, k_edge_draws, k_near));
  }
  return verdicts;
}

/// In which share of the verdicts some run is of the kind.
template <typename Kind>
double share_with(const Verdicts& verdicts, const Kind& kind) {
  const auto found = std::count_if(verdicts.begin(), verdicts.end(), [&](const auto& runs) {
    return std::any_of(runs.begin(), runs.end(), kind);
  });
  return static_cast<double>(found) / static_cast<double>(verdicts.size());
}

}  // namespace

TEST_CASE("every drawn run is a valid problem that the variant claims", "[variant][edges]") {
  for (const char* supports :
       {"{}", R"({"dtypes": ["f16"], "head_dims": [64, 128], "masks": ["none"], "gqa": false})",
        R"({"head_dim_multiple": 8, "head_dim_max": 128, "layouts": ["BSHD"], "seq_q_max": 16})",
        R"({"causal": ["top_left"], "rows_without_keys": false, "dv_differs": false})"}) {
    for (const char* backend : {"cpu", "cuda"}) {
      const Manifest manifest = claims(supports, backend);
      for (std::uint64_t key = 0; key < 3; ++key) {
        const auto runs = drawn(manifest, key, k_edge_draws, k_near);
        CHECK(runs.size() == k_edge_draws);
        for (const EdgeDraw& run : runs) {
          INFO(supports << " " << backend << " " << to_text(run.problem) << " "
                        << to_json(run.form).dump());
          CHECK(problem::validate(run.problem).ok());
          CHECK_FALSE(variant::unsupported_reason(manifest, run.problem).has_value());
          CHECK(problem::parse_problem(to_text(run.problem)).value() == run.problem);
          CHECK(problem::call_form_from_json(to_json(run.form)).value() == run.form);
          if (run.form.beside) CHECK_FALSE(variant::unsupported_reason(manifest, *run.form.beside));
          if (run.draw == Draw::edge) {
            CHECK(run.problem.mask != MaskKind::none);
            CHECK(manifest.support.rows_without_keys);
          }
        }
      }
    }
  }
}

TEST_CASE("on a GPU the strides of views are multiples of 16 bytes, and pointers are aligned",
          "[variant][edges]") {
  for (const std::int64_t multiple : {16, 4}) {
    const Manifest manifest = claims(multiple == 16 ? "{}" : R"({"stride_multiple": 4})", "cuda");
    std::set<bool> beyond;  // whether some stride is no multiple of 16 bytes
    for (const EdgeDraw& run : drawn(manifest, 5, 400)) {
      const problem::CallForm& form = run.form;
      for (const problem::View* view : {&form.q, &form.k, &form.v, &form.out, &form.mask}) {
        CHECK(view->shift == 0);
      }
      CHECK(problem::is_packed(form.mask));
      const std::int64_t element = size_bytes(run.problem.dtype);
      for (const auto& [view, strides] :
           {std::pair{form.q, problem::view_strides(run.problem, Tensor::q, form.q)},
            std::pair{form.k, problem::view_strides(run.problem, Tensor::k, form.k)},
            std::pair{form.v, problem::view_strides(run.problem, Tensor::v, form.v)},
            std::pair{form.out, problem::out_view_strides(run.problem, form.out)}}) {
        if (problem::is_packed(view)) continue;
        for (const std::int64_t stride : {strides.batch, strides.head, strides.row}) {
          INFO(to_text(run.problem) << " " << to_json(form).dump());
          CHECK(stride * element % multiple == 0);
          beyond.insert(stride * element % 16 != 0);
        }
      }
    }
    CHECK(beyond.contains(true) == (multiple == 4));
  }
}

TEST_CASE("another key draws other runs, the same key the same", "[variant][edges]") {
  const auto texts = [](std::uint64_t key) {
    std::string all;
    for (const EdgeDraw& run : drawn(claims("{}"), key)) {
      all += to_text(run.problem) + to_json(run.form).dump() + "\n";
    }
    return all;
  };
  CHECK(texts(1) == texts(1));
  CHECK(texts(1) != texts(2));
  KeyedRandom one = KeyedRandom::secret(), other = KeyedRandom::secret();
  CHECK(one.below(std::int64_t{1} << 62) != other.below(std::int64_t{1} << 62));
}

TEST_CASE("claims that nothing small meets give fewer runs, not others", "[variant][edges]") {
  Manifest manifest = claims("{}");
  manifest.restrictions = {"Skv >= 100000000"};
  CHECK(drawn(manifest, 1, 3).empty());
  manifest.restrictions = {"Skv % 128 == 0 && Sq % 64 == 0"};
  std::size_t found = 0;
  for (std::uint64_t key = 0; key < 10; ++key) {
    for (const EdgeDraw& run : drawn(manifest, key)) {
      CHECK(run.problem.Skv % 128 == 0);
      ++found;
    }
  }
  CHECK(found > 10 * k_edge_draws / 3);
}

TEST_CASE("each kind of use is met by nearly every verdict", "[variant][edges]") {
  const Verdicts all = verdicts_of(claims(R"({"head_dim_max": 1024})"), 200);
  using P = const EdgeDraw&;
  const std::map<std::string, std::function<bool(P)>> kinds = {
      {"a causal rule with a mask",
       [](P r) { return r.problem.causal != Causal::none && r.problem.mask != MaskKind::none; }},
      {"top_left with more queries than keys",
       [](P r) { return r.problem.causal == Causal::top_left && r.problem.Sq > r.problem.Skv; }},
      {"bottom_right with a bool mask",
       [](P r) {
         return r.problem.causal == Causal::bottom_right && r.problem.mask == MaskKind::boolean;
       }},
      {"Dv above D", [](P r) { return r.problem.Dv > r.problem.D; }},
      {"Dv below D", [](P r) { return r.problem.Dv < r.problem.D; }},
      {"a negative scale", [](P r) { return r.problem.scale.value_or(1) < 0; }},
      {"a scale of zero", [](P r) { return r.problem.scale == 0.0; }},
      {"ten heads", [](P r) { return r.problem.Hq >= 10; }},
      {"groups of three", [](P r) { return r.problem.Hq == 3 * r.problem.Hkv; }},
      {"four batches", [](P r) { return r.problem.B >= 4; }},
      {"BSHD with several key heads in groups",
       [](P r) {
         return r.problem.layout == problem::Layout::bshd && problem::has_one_layout(r.problem) &&
                r.problem.Hkv > 1 && r.problem.Hq > r.problem.Hkv;
       }},
      {"layouts that differ", [](P r) { return !problem::has_one_layout(r.problem); }},
      {"a row of finite minima",
       [](P r) {
         return r.problem.mask_values == problem::MaskValues::finite_min && r.draw == Draw::edge;
       }},
      {"a row of finite minima in f16",
       [](P r) {
         return r.problem.mask_values == problem::MaskValues::finite_min && r.draw == Draw::edge &&
                r.problem.dtype == Dtype::f16;
       }},
      {"scores far below zero",
       [](P r) { return r.draw == Draw::low && problem::effective_scale(r.problem) > 0; }},
      {"K and V as views of their own", [](P r) { return r.form.k.inner != r.form.v.inner; }},
      {"an output that is a view", [](P r) { return !problem::is_packed(r.form.out); }},
      {"a mask that is a view",
       [](P r) { return r.problem.mask != MaskKind::none && !problem::is_packed(r.form.mask); }},
      {"an element's alignment", [](P r) { return r.form.k.shift % 4 != 0; }},
      {"one thread", [](P r) { return r.form.threads == 1; }},
      {"another plan", [](P r) { return r.form.beside && !r.form.beside_is_gone; }},
      {"another plan that is gone", [](P r) { return r.form.beside && r.form.beside_is_gone; }},
      {"a second call", [](P r) { return r.form.call == 2; }},
      {"a late call", [](P r) { return r.form.call >= 3'000; }},
      {"what is timed most, with scores far from 0: no LSE, no mask, no causal rule",
       [](P r) {
         return !r.want_lse && r.problem.causal == Causal::none &&
                r.problem.mask == MaskKind::none && r.draw != Draw::normal;
       }},
      {"no LSE", [](P r) { return !r.want_lse && r.problem.causal != Causal::none; }},
      {"512 blocks of rows",
       [](P r) { return r.problem.B * r.problem.Hq * ((r.problem.Sq + 63) / 64) >= 512; }},
      {"more than 1,024 keys", [](P r) { return r.problem.Skv > 1'024; }},
      {"more than 8,000 keys", [](P r) { return r.problem.Skv >= 8'000; }},
      {"more than 32,768 rows", [](P r) { return r.problem.Sq > 32'768; }},
      {"a wide head", [](P r) { return r.problem.D > 256; }},
      {"a head dim that is odd", [](P r) { return r.problem.D % 2 == 1; }},
      {"seven keys in the last 32", [](P r) { return r.problem.Skv % 32 == 7; }},
      {"five rows in the last 16", [](P r) { return r.problem.Sq % 16 == 5; }},
      {"one row in the last 64", [](P r) { return r.problem.Sq % 64 == 1; }},
      {"63 rows in the last 64", [](P r) { return r.problem.Sq % 64 == 63; }},
      {"one key in the last 64", [](P r) { return r.problem.Skv % 64 == 1; }},
      {"63 keys in the last 64", [](P r) { return r.problem.Skv % 64 == 63; }},
      {"one key", [](P r) { return r.problem.Skv == 1; }}};
  for (const auto& [name, kind] : kinds) {
    INFO(name);
    CHECK(share_with(all, kind) >= 0.9);
  }
}

TEST_CASE("every dtype, causal rule and kind of mask is tried with and without an LSE",
          "[variant][edges]") {
  for (const auto& runs : verdicts_of(claims("{}"), 20)) {
    std::set<std::tuple<Dtype, Causal, MaskKind, bool>> seen;
    for (const EdgeDraw& run : runs) {
      seen.emplace(run.problem.dtype, run.problem.causal, run.problem.mask, run.want_lse);
    }
    CHECK(seen.size() == std::size_t{3} * 3 * 3 * 2);
  }
}

TEST_CASE("lengths that most kernels never see are drawn for fixed head dims too",
          "[variant][edges]") {
  const Verdicts fixed =
      verdicts_of(claims(R"({"head_dims": [64, 128], "dv_differs": false})", "cuda"));
  CHECK(share_with(fixed, [](const EdgeDraw& r) { return r.problem.Sq > 32'768; }) >= 0.9);
  CHECK(share_with(fixed, [](const EdgeDraw& r) { return r.problem.Skv >= 8'000; }) >= 0.9);
}

TEST_CASE("no library in Python is asked for a scale of 0 or below", "[variant][edges]") {
  Manifest library = claims("{}");
  library.backend = variant::Backend::python;
  for (std::uint64_t key = 0; key < 20; ++key) {
    for (const EdgeDraw& run : drawn(library, key, k_edge_draws, k_near)) {
      CHECK(problem::effective_scale(run.problem) > 0);
    }
  }
}

TEST_CASE("a drawn run costs little", "[variant][edges]") {
  for (const EdgeDraw& run : drawn(claims("{}"), 3, 500, k_near)) {
    const problem::Problem& p = run.problem;
    const bool is_far = p.Sq > 32'768 || p.Skv >= 8'000;
    CHECK(problem::work(p).kept_pairs * static_cast<double>(p.D + p.Dv) <= (is_far ? 12e6 : 3e6));
    CHECK(problem::tensor_bytes(p, Tensor::q) + problem::tensor_bytes(p, Tensor::k) +
              problem::out_bytes(p) <
          64u << 20);
  }
}

}  // namespace wb
