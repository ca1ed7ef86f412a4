// SPDX-License-Identifier: MIT
#include "variant/manifest.hpp"
#include "core/json.hpp"

#include <algorithm>

#include "kernel_folder.hpp"
#include "problem/suite.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;
using wb::test::manifest_text;

namespace {

std::string cause_of(const std::string& text) {
  const auto manifest = parse_manifest(text, "k/kernel.json");
  REQUIRE_FALSE(manifest.ok());
  CHECK(manifest.error().message().find("k/kernel.json") != std::string::npos);
  return manifest.error().message();
}

void check_refused(const std::string& extra, const std::string& word) {
  INFO(extra);
  const std::string message = cause_of(manifest_text("k", extra));
  INFO(message);
  CHECK(message.find(word) != std::string::npos);
}

}  // namespace

TEST_CASE("a full manifest is read", "[variant][manifest]") {
  const auto manifest = parse_manifest(R"({
    "name": "cpu_x", "about": "text", "backend": "cpu", "parent": "cpu_y",
    "architectures": ["x86-64"],
    "supports": {"dtypes": ["f16", "bf16"], "head_dims": [64, 128], "head_dim_multiple": 8,
      "head_dim_max": 128, "causal": ["none"], "masks": ["none", "bool"], "layouts": ["BHSD"],
      "gqa": false, "dv_differs": false, "rows_without_keys": false, "seq_q_max": 100,
      "seq_kv_max": 200},
    "sources": ["kernel.cpp", "part.hpp"],
    "tune_params": {"TILE_M": [8, 16], "STAGES": [1]}, "defaults": {"TILE_M": 16, "STAGES": 1},
    "restrictions": ["TILE_M * D <= 4096"], "techniques": ["online_softmax", "split_kv"],
    "techniques_if": {"split_kv": "TILE_M == 8"},
    "includes": ["cutlass"], "libraries": ["foo"], "compile_flags": ["-mfma"]})",
                                       "k/kernel.json");
  REQUIRE(manifest.ok());
  CHECK(manifest->name == "cpu_x");
  CHECK(manifest->parent == "cpu_y");
  CHECK(manifest->support.dtypes == std::vector<Dtype>{Dtype::f16, Dtype::bf16});
  CHECK(manifest->support.head_dims == std::vector<std::int64_t>{64, 128});
  CHECK(manifest->support.masks == std::vector<MaskKind>{MaskKind::none, MaskKind::boolean});
  CHECK_FALSE(manifest->support.gqa);
  CHECK_FALSE(manifest->support.rows_without_keys);
  CHECK(manifest->support.seq_kv_max == 200);
  CHECK(manifest->tune_params.at("TILE_M") == std::vector<std::int64_t>{8, 16});
  CHECK(to_text(manifest->defaults) == "STAGES=1 TILE_M=16");

  SECTION("and its JSON form reads back the same") {
    const Json json = to_json(*manifest);
    const auto again = parse_manifest(json.dump(), "again");
    REQUIRE(again.ok());
    CHECK(to_json(*again) == json);
  }
}

TEST_CASE("a technique may depend on parameters", "[variant][manifest]") {
  const auto manifest = parse_manifest(
      manifest_text("k", R"("tune_params": {"SPLIT": [0, 1]}, "defaults": {"SPLIT": 0},
        "techniques": ["online_softmax", "split_kv"],
        "techniques_if": {"split_kv": "SPLIT == 1"})"),
      "k/kernel.json");
  INFO((manifest.ok() ? std::string("ok") : manifest.error().message()));
  REQUIRE(manifest.ok());
  using Words = std::vector<std::string>;
  CHECK(techniques_in(*manifest, {}) == Words{"online_softmax"});
  CHECK(techniques_in(*manifest, {{"SPLIT", 1}}) == Words{"online_softmax", "split_kv"});
  CHECK(techniques_in(*manifest, {{"GONE", 1}}) == Words{"online_softmax", "split_kv"});
}

TEST_CASE("a minimal manifest takes every problem", "[variant][manifest]") {
  const auto manifest = parse_manifest(manifest_text("k"), "k/kernel.json");
  REQUIRE(manifest.ok());
  const auto problem = parse_problem("B=2 Hq=8 Hkv=2 Sq=3 Skv=77 D=40 Dv=24 bf16 mask=additive");
  REQUIRE(problem.ok());
  CHECK_FALSE(unsupported_reason(*manifest, *problem).has_value());
}

TEST_CASE("manifests that break a rule are refused with the reason",
          "[variant][manifest][hostile]") {
  check_refused(R"("colour": 1)", "colour");
  check_refused(R"("sources": ["a.cpp"])", "sources");  // duplicate key
  check_refused(R"("about": 7)", "about");
  check_refused(R"("parent": "../x")", "parent");
  check_refused(R"("techniques": ["magic"])", "magic");
  check_refused(R"("techniques_if": {"split_kv": "1"})", "not one of its techniques");
  check_refused(R"("techniques": ["split_kv"], "techniques_if": {"split_kv": "S == 1"})",
                "S is no");
  check_refused(R"("techniques": ["split_kv"], "techniques_if": {"split_kv": "1 =="})",
                "techniques_if");
  check_refused(R"("techniques": ["split_kv"], "techniques_if": {"split_kv": 1})", "expression");
  check_refused(R"("techniques": ["split_kv"], "techniques_if": [])", "object");
  check_refused(R"("techniques": ["online_softmax", "online_softmax"])", "twice");
  check_refused(R"("supports": {"dtypes": ["f64"]})", "f64");
  check_refused(R"("supports": {"dtypes": "f16"})", "dtypes");
  check_refused(R"("supports": {"head_dims": [0]})", "head_dims");
  check_refused(R"("supports": {"head_dims": [1e9]})", "head_dims");
  check_refused(R"("supports": {"surprise": true})", "surprise");
  check_refused(R"("supports": [])", "supports");
  check_refused(R"("supports": {"stride_multiple": 12})", "stride_multiple");
  check_refused(R"("supports": {"stride_multiple": 8192})", "stride_multiple");
  check_refused(R"("tune_params": {"tile": [1]}, "defaults": {"tile": 1})", "tile");
  check_refused(R"("tune_params": {"D": [1]}, "defaults": {"D": 1})", "parameter name");
  check_refused(R"("tune_params": {"WB_BUILD_ID": [1]}, "defaults": {"WB_BUILD_ID": 1})",
                "parameter name");
  check_refused(R"("tune_params": {"T=1 -o": [1]}, "defaults": {})", "parameter name");
  check_refused(R"("tune_params": {"TILE": []}, "defaults": {})", "no values");
  check_refused(R"("tune_params": {"TILE": [1, 1]}, "defaults": {"TILE": 1})", "twice");
  check_refused(R"("tune_params": {"TILE": [1.5]}, "defaults": {})", "integer");
  check_refused(R"("tune_params": {"TILE": [18446744073709551615]}, "defaults": {})", "integer");
  check_refused(R"("tune_params": {"TILE": [1, 2]}, "defaults": {"TILE": 3})", "not among");
  check_refused(R"("tune_params": {"TILE": [1, 2]})", "no default for TILE");
  check_refused(R"("defaults": {"TILE": 1})", "not in tune_params");
  check_refused(R"("restrictions": ["TILE <"])", "restrictions");
  check_refused(R"("restrictions": ["NOPE < 3"])", "NOPE");
  check_refused(R"("tune_params": {"TILE": [1, 2]}, "defaults": {"TILE": 2},
                   "restrictions": ["TILE < 2"])",
                "its own restriction");
  check_refused(R"("includes": ["../../etc"])", "includes");
  check_refused(R"("libraries": ["-lm"])", "libraries");
  check_refused(R"("entry": "rival:sdpa")", "python");
  check_refused(R"("architectures": ["-march=x"])", "architecture");
}

TEST_CASE("sources stay inside the folder", "[variant][manifest][hostile]") {
  for (const std::string source : {"../other/kernel.cpp", "/etc/passwd.cpp", "a/../../b.cpp", "",
                                   "-x.cpp", "a\\\\b.cpp", "a\\u0000b.cpp", "a\\nb.cpp"}) {
    INFO(source);
    CHECK_FALSE(parse_manifest(R"({"name": "k", "backend": "cpu", "sources": [")" + source + "\"]}",
                               "k/kernel.json")
                    .ok());
  }
  CHECK_FALSE(parse_manifest(R"({"name": "k", "backend": "cpu", "sources": []})", "k").ok());
  CHECK_FALSE(parse_manifest(R"({"name": "k", "backend": "cpu", "sources": ["k.cu"]})", "k").ok());
  CHECK_FALSE(parse_manifest(R"({"name": "k", "backend": "gpu", "sources": ["k.cu"]})", "k").ok());
  CHECK(parse_manifest(R"({"name": "k", "backend": "cuda", "sources": ["k.cu"]})", "k").ok());
}

TEST_CASE("backend python needs an entry in a listed module", "[variant][manifest]") {
  const auto parse = [](const std::string& entry) {
    return parse_manifest(
        R"({"name": "k", "backend": "python", "sources": ["rival.py"], "entry": ")" + entry + "\"}",
        "k/kernel.json");
  };
  CHECK(parse("rival:sdpa").ok());
  for (const std::string entry :
       {"", "rival", "other:sdpa", "rival:", ":f", "rival:f()", "os.x:y"}) {
    INFO(entry);
    CHECK_FALSE(parse(entry).ok());
  }
}

TEST_CASE("malformed JSON is a parse error that names the file", "[variant][manifest][hostile]") {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"name\": \"k\"}"),
        std::string("{\"name\": \"k\0\"}", 14), std::string(100, '['), std::string(300'000, ' ')}) {
    INFO(text.substr(0, 40));
    cause_of(text);
  }
}

TEST_CASE("unsupported problems are named", "[variant][manifest]") {
  const auto manifest =
      parse_manifest(manifest_text("k", R"("supports": {"dtypes": ["f16"], "head_dim_multiple": 8,
        "head_dim_max": 128, "causal": ["none", "top_left"], "masks": ["none"], "layouts": ["BHSD"],
        "gqa": false, "dv_differs": false, "seq_q_max": 64, "seq_kv_max": 512})"),
                     "k/kernel.json");
  REQUIRE(manifest.ok());
  const auto reason = [&](const std::string& text) {
    const auto problem = parse_problem(text);
    REQUIRE(problem.ok());
    return unsupported_reason(*manifest, *problem).value_or("");
  };
  CHECK(reason("B=1 Hq=2 Sq=64 Skv=512 D=64 f16 causal=top_left").empty());
  CHECK(reason("B=1 Hq=2 Sq=64 D=64 bf16") == "dtype bf16");
  CHECK(reason("B=1 Hq=2 Sq=64 D=64 f16 causal=bottom_right") == "causal=bottom_right");
  CHECK(reason("B=1 Hq=2 Sq=64 D=64 f16 mask=bool:0.5") == "mask=bool");
  CHECK(reason("B=1 Hq=2 Sq=64 D=64 f16 layout=BSHD") == "layout=BSHD");
  CHECK(reason("B=1 Hq=2 Sq=64 D=20 f16").find("multiple of 8") != std::string::npos);
  CHECK(reason("B=1 Hq=2 Sq=64 D=136 f16").find("above 128") != std::string::npos);
  CHECK(reason("B=1 Hq=2 Sq=64 D=64 Dv=32 f16") == "Dv != D");
  CHECK(reason("B=1 Hq=2 Hkv=1 Sq=64 D=64 f16").find("GQA") != std::string::npos);
  CHECK(reason("B=1 Hq=2 Sq=65 D=64 f16").find("Sq above") != std::string::npos);
  CHECK(reason("B=1 Hq=2 Sq=64 Skv=513 D=64 f16").find("Skv above") != std::string::npos);
}

TEST_CASE("rows that may see no key are outside where the manifest leaves them out",
          "[variant][manifest]") {
  const auto strict =
      parse_manifest(manifest_text("k", R"("supports": {"rows_without_keys": false})"), "k");
  const auto any = parse_manifest(manifest_text("k"), "k");
  REQUIRE(strict.ok());
  REQUIRE(any.ok());
  const auto reason = [&](const std::string& text) {
    const Problem problem = parse_problem(text).value();
    CHECK_FALSE(unsupported_reason(*any, problem).has_value());
    return unsupported_reason(*strict, problem).value_or("");
  };
  const std::string outside = "rows that may see no key";
  CHECK(reason("B=1 Hq=1 Sq=40 Skv=8 D=16 causal=bottom_right") == outside);
  CHECK(reason("B=1 Hq=1 Sq=8 Skv=2 D=16 mask=bool:0.5") == outside);
  CHECK(reason("B=8 Hq=1 Sq=8 Skv=8 D=16 causal=top_left mask=bool:0.9") == outside);
  CHECK(reason("B=1 Hq=1 Sq=8 Skv=3 D=16 mask=additive") == outside);
  CHECK(reason("B=1 Hq=1 Sq=8 Skv=3 D=16 mask=additive:finite_min") == outside);
  CHECK(reason("B=1 Hq=1 Sq=8 Skv=32 D=16 mask=additive:finite_min").empty());
  CHECK(reason("B=1 Hq=1 Sq=8 Skv=40 D=16 causal=bottom_right").empty());
  CHECK(reason("B=1 Hq=1 Sq=8 Skv=8 D=16 causal=top_left").empty());
  CHECK(reason("B=1 Hq=1 Sq=8 Skv=32 D=16 mask=bool:0.9").empty());
}

TEST_CASE("PyTorch's rivals on a GPU take every masked problem of the suites",
          "[variant][manifest]") {
  RealFileSystem file_system;
  const fs::path root = source_dir();
  const auto suites = load_suites(file_system, root / "kernels/suites.json");
  REQUIRE(suites.ok());
  const auto rival = Catalogue(file_system, {{root}}).find("torch_default");
  REQUIRE(rival.ok());
  REQUIRE_FALSE(rival->manifest.support.rows_without_keys);
  std::vector<std::string> masked;
  for (const auto& [name, suite] : *suites) {
    for (const SuiteProblem& member : suite.problems) {
      if (member.problem.mask == MaskKind::none) continue;
      INFO(member.problem.name);
      CHECK_FALSE(unsupported_reason(rival->manifest, member.problem).has_value());
      masked.push_back(member.problem.name);
    }
  }
  for (const std::string name : {"mask_bool_1k", "mask_bias_1k"}) {
    CHECK(std::count(masked.begin(), masked.end(), name) >= 1);
  }
}

TEST_CASE("technique words are sorted and unique", "[variant][manifest]") {
  const auto words = known_techniques();
  CHECK(words.size() > 20);
  CHECK(std::is_sorted(words.begin(), words.end()));
  CHECK(std::adjacent_find(words.begin(), words.end()) == words.end());
}

TEST_CASE("a technique acts where the catalogue says that it does", "[variant][manifest]") {
  RealFileSystem file_system;
  const auto text = file_system.read(source_dir() / "kernels/techniques.json", 1 << 20);
  REQUIRE(text.ok());
  const Json techniques = Json::parse(*text)["techniques"];
  CHECK(techniques.size() == known_techniques().size());
  const auto causal = parse_problem("B=1 Hq=8 Hkv=2 Sq=512 Skv=512 D=64 f16 causal=top_left");
  const auto full = parse_problem("B=1 Hq=8 Hkv=8 Sq=512 Skv=512 D=64 f16 causal=none");
  REQUIRE(causal.ok());
  REQUIRE(full.ok());
  for (const Json& one : techniques) {
    const auto word = one["name"].get<std::string>();
    INFO(word);
    const Json& backends = one["backends"];
    for (const std::string backend : {"cpu", "cuda"}) {
      const bool is_of = std::find(backends.begin(), backends.end(), backend) != backends.end();
      CHECK(can_act(word, backend, {*causal}) == is_of);
      // With all keys seen and a key head for each query head only these three have nothing to do.
      CHECK(can_act(word, backend, {*full}) == (is_of && !one.contains("when")));
      CHECK(can_act(word, backend, {*full, *causal}) == is_of);
      CHECK(can_act(word, backend, {}) == is_of);
    }
    CHECK(can_act(word, "python", {*causal}));
  }
  CHECK(can_act("a_word_of_tomorrow", "cuda", {*full}));
}

TEST_CASE("hidden keys are those of a causal rule or of a mask", "[variant][manifest]") {
  const auto short_causal =
      parse_problem("B=1 Hq=8 Hkv=8 Sq=64 Skv=4096 D=64 f16 causal=bottom_right");
  const auto masked =
      parse_problem("B=1 Hq=8 Hkv=8 Sq=512 Skv=512 D=64 f16 causal=none mask=bool:0.7");
  REQUIRE(short_causal.ok());
  REQUIRE(masked.ok());
  CHECK(can_act("masked_block_skip", "cuda", {*masked}));
  CHECK(can_act("masked_block_skip", "cuda", {*short_causal}));
  CHECK_FALSE(can_act("causal_load_balance", "cuda", {*masked}));
  CHECK_FALSE(can_act("causal_load_balance", "cuda", {*short_causal}));
}

TEST_CASE("kernel names", "[variant][manifest]") {
  CHECK(is_kernel_name("cpu_tiled_2"));
  for (const std::string word : {"", "2x", "_x", "Cpu", "a-b", "a/b", "..", "a b"}) {
    INFO(word);
    CHECK_FALSE(is_kernel_name(word));
  }
  CHECK_FALSE(is_kernel_name(std::string(65, 'a')));
}
