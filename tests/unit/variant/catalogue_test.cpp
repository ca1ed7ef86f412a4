// SPDX-License-Identifier: MIT
#include <fstream>
#include <sstream>

#include "core/files.hpp"
#include "core/json.hpp"
#include "kernel_conformance.hpp"
#include "kernel_folder.hpp"
#include "problem/verdict.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "variant/builder.hpp"
#include "variant/compiler.hpp"
#include "variant/variant.hpp"

using namespace wb;
using namespace wb::variant;
using wb::test::KernelFolder;

TEST_CASE("the first place on the search path wins", "[variant][catalogue]") {
  const KernelFolder first, second;
  RealFileSystem file_system;
  first.kernel("cpu_a", "int first;\n");
  second.kernel("cpu_a", "int second;\n");
  second.kernel("cpu_b", "int b;\n");
  fs::create_directories(second.root() / "no_manifest");
  fs::create_directories(second.root() / "Not-A-Name");
  const Catalogue catalogue(file_system, {{first.path(), "/no/such/place", second.path()}});
  const auto entries = catalogue.list();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].name == "cpu_a");
  CHECK(entries[0].kernels_root == first.root());
  CHECK(entries[1].name == "cpu_b");
  const auto found = catalogue.find("cpu_a");
  REQUIRE(found.ok());
  CHECK(found->files.at("cpu_a/kernel.cpp") == "int first;\n");
}

TEST_CASE("a kernel in a bare folder finds the common headers of a later place",
          "[variant][catalogue]") {
  const KernelFolder bare, installed;
  RealFileSystem file_system;
  bare.kernel("cpu_mine", "#include \"abi.h\"\n");
  fs::remove(bare.root() / "common");
  installed.write("common/abi.h", "int installed;\n");
  installed.write("common/more.h", "int more;\n");
  const Catalogue catalogue(file_system, {{bare.path(), installed.path()}});
  const auto found = catalogue.find("cpu_mine");
  INFO((found.ok() ? std::string() : found.error().message()));
  REQUIRE(found.ok());
  CHECK(found->files.at("common/abi.h") == "int installed;\n");
  CHECK(derive_variant(file_system, *found, {{"kernel.cpp", "#include \"more.h\"\n"}}, "").ok());
  bare.write("common/abi.h", "int own;\n");
  CHECK(catalogue.find("cpu_mine")->files.at("common/abi.h") == "int own;\n");
}

TEST_CASE("kernels that are read together are those that are read alone", "[variant][catalogue]") {
  const KernelFolder first, second;
  RealFileSystem file_system;
  // Both places have a common/abi.h, and a kernel's own place comes first.
  first.write("common/abi.h", "#include \"deep.h\"\nint first;\n");
  first.write("common/deep.h", "int deep;\n");
  second.write("common/abi.h", "int second;\n");
  first.kernel("cpu_a", "#include \"abi.h\"\n");
  first.kernel("cpu_b", "#include \"abi.h\"\n#include \"deep.h\"\n");
  first.kernel("cpu_broken", "#include \"absent.h\"\n");
  second.kernel("cpu_c", "#include \"abi.h\"\n");
  // Of its own folder, which comes before common.
  second.kernel("cpu_d", "#include \"abi.h\"\n");
  second.write("cpu_d/abi.h", "int own;\n");
  const Catalogue catalogue(file_system, {{first.path(), second.path()}});
  const auto all = catalogue.read_all();
  REQUIRE(all.size() == 5);
  for (const auto& [entry, variant] : all) {
    INFO(entry.name);
    const auto alone = catalogue.find(entry.name);
    REQUIRE(variant.ok() == alone.ok());
    if (!alone.ok()) {
      CHECK(variant.error().message() == alone.error().message());
      continue;
    }
    CHECK(variant->files == alone->files);
    CHECK(variant->id == alone->id);
    CHECK(variant->common_roots == alone->common_roots);
  }
  CHECK(all[2].entry.name == "cpu_broken");
  CHECK_FALSE(all[2].variant.ok());
  CHECK(all[4].variant->files.at("cpu_d/abi.h") == "int own;\n");
  const auto one = catalogue.read_all("cpu_c");
  REQUIRE(one.size() == 1);
  CHECK(one[0].variant->files.at("common/abi.h") == "int second;\n");
  CHECK(catalogue.read_all("cpu_absent").empty());
  CHECK(catalogue.read_all("").empty());
}

TEST_CASE("an unknown kernel gets a suggestion or the places looked at", "[variant][catalogue]") {
  const KernelFolder folder;
  RealFileSystem file_system;
  folder.kernel("cpu_tiled", "\n");
  const Catalogue catalogue(file_system, {{folder.path()}});
  const auto close = catalogue.find("cpu_tield");
  REQUIRE_FALSE(close.ok());
  CHECK(close.error().code == ErrorCode::not_found);
  CHECK(close.error().next == "did you mean cpu_tiled?");
  const auto far = catalogue.find("../../etc");
  REQUIRE_FALSE(far.ok());
  CHECK(far.error().message().find(folder.root().string()) != std::string::npos);
}

TEST_CASE("suggestions are close or absent", "[variant][catalogue]") {
  const std::vector<std::string> words = {"open", "run", "resume", "report", "kernels"};
  CHECK(did_you_mean("opne", words) == "open");
  CHECK(did_you_mean("kernel", words) == "kernels");
  CHECK(did_you_mean("rapport", words) == "report");
  CHECK(did_you_mean("rnu", words) == "run");
  CHECK(did_you_mean("zebra", words).empty());
  CHECK(did_you_mean("", words).empty());
  CHECK(did_you_mean(std::string(100'000, 'a'), words).empty());
  CHECK(did_you_mean("x", {}).empty());
}

namespace {

void make_kernels(const fs::path& kernels) {
  fs::create_directories(kernels);
  std::ofstream(kernels / "suites.json") << "{}\n";
}

}  // namespace

TEST_CASE("an installation is found beside bin", "[variant][installed]") {
  const auto made = TempDirectory::create("wb-installed-");
  REQUIRE(made.ok());
  const fs::path prefix = fs::canonical(made->path());
  const fs::path share = prefix / "share" / "sdpa-workbench";
  fs::create_directories(prefix / "bin");
  CHECK_FALSE(find_installed_root(prefix / "bin").has_value());
  fs::create_directories(share / "kernels");
  CHECK_FALSE(find_installed_root(prefix / "bin").has_value());  // any folder of that name
  make_kernels(share / "kernels");
  CHECK(find_installed_root(prefix / "bin") == share);
  CHECK(find_installed_root(prefix / "bin" / "deeper") == share);
  CHECK_FALSE(find_installed_root("").has_value());
}

TEST_CASE("a build folder leads to its checkout, wherever it lies", "[variant][installed]") {
  const auto checkout = TempDirectory::create("wb-installed-");
  const auto build = TempDirectory::create("wb-installed-");
  REQUIRE(checkout.ok());
  REQUIRE(build.ok());
  make_kernels(checkout->path() / "kernels");
  const fs::path share = build->path() / "share" / "sdpa-workbench";
  fs::create_directories(share);
  fs::create_symlink(checkout->path() / "kernels", share / "kernels");
  CHECK(find_installed_root(build->path()) == fs::canonical(checkout->path()));
  // A nearer installation comes first.
  make_kernels(build->path() / "tests" / "share" / "sdpa-workbench" / "kernels");
  CHECK(find_installed_root(build->path() / "tests" / "unit") ==
        fs::canonical(build->path() / "tests" / "share" / "sdpa-workbench"));
}

TEST_CASE("the tests' own build folder leads to the sources", "[variant][installed]") {
  CHECK(find_installed_root(binary_dir()) == fs::canonical(source_dir()));
}

// The two pages about kernels are true: the example compiles and is right, the lists match the
// code.

using namespace wb::problem;
using namespace wb::test;

namespace {

std::string page(const std::string& name) {
  std::ifstream file(source_dir() / "docs" / name);
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE(text.str().size() > 1000);
  return text.str();
}

/// The first fenced block of a language.
std::string block(const std::string& text, const std::string& language) {
  const std::string open = "```" + language + "\n";
  const std::size_t begin = text.find(open);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = text.find("```", begin + open.size());
  REQUIRE(end != std::string::npos);
  return text.substr(begin + open.size(), end - begin - open.size());
}

/// The words in backquotes of the first line that starts with `first`.
std::vector<std::string> words_of_line(const std::string& text, const std::string& first) {
  std::size_t at = text.find("\n`" + first + "`");
  REQUIRE(at != std::string::npos);
  const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  std::vector<std::string> words;
  std::istringstream parts(line);
  for (std::string word; parts >> word;) words.push_back(word.substr(1, word.size() - 2));
  return words;
}

}  // namespace

TEST_CASE("the example of the ABI page passes the verdict", "[variant][docs]") {
  const std::string text = page("contracts/kernel_abi.md");
  const KernelFolder folder;
  RealFileSystem file_system;
  const auto abi = file_system.read(source_dir() / "kernels/common/sdpa_abi.h", 1 << 20);
  REQUIRE(abi.ok());
  folder.write("common/sdpa_abi.h", *abi);
  folder.write("cpu_example/kernel.json", block(text, "json"));
  folder.write("cpu_example/kernel.cpp", block(text, "cpp"));
  const Variant variant = folder.must_read("cpu_example");
  ArtifactCache cache(file_system, binary_dir() / "test_artifact_cache");
  const CpuToolchain toolchain("g++");
  const auto artifact = cache.build(variant, {}, {}, &toolchain);
  INFO((artifact.ok() ? std::string() : artifact.error().untrusted_output));
  REQUIRE(artifact.ok());
  CHECK(artifact->record.log.empty());  // no warnings either
  const LoadedKernel kernel(artifact->path.string());
  for (const int version : {0, 1, 2, 3}) {
    INFO(version);
    wb_sdpa_problem problem = abi_problem(*parse_problem("B=1 Hq=1 Sq=5 D=4 f32"), false);
    problem.abi_version = version;
    wb_sdpa_plan* plan = nullptr;
    const int expected = version == 1 || version == 2 ? WB_OK : WB_UNSUPPORTED;
    CHECK(kernel.plan_create(&problem, &plan) == expected);
    if (plan != nullptr) kernel.plan_destroy(plan);
  }
  for (const std::string shape :
       {"B=2 Hq=4 Hkv=2 Sq=70 Skv=90 D=24 Dv=16 f32 causal=bottom_right layout=BSHD",
        "B=1 Hq=2 Sq=90 Skv=70 D=8 f32 causal=bottom_right", "B=1 Hq=1 Sq=5 D=4 f32 scale=0.3"}) {
    INFO(shape);
    const auto problem = parse_problem(shape);
    REQUIRE(problem.ok());
    REQUIRE_FALSE(unsupported_reason(variant.manifest, *problem).has_value());
    const Inputs inputs = make_inputs(*problem, 9, Draw::normal);
    PlannedCall call(kernel, *problem, inputs, true);
    call.run(1);
    const OutputVerdict verdict = judge_output(*problem, inputs, call.out(), call.lse(), {});
    INFO(to_json(verdict).dump());
    CHECK(verdict.pass);
  }
}

TEST_CASE("the page lists the techniques of the code", "[variant][docs]") {
  const auto words = words_of_line(page("guide/add_a_kernel.md"), "async_copy");
  const auto known = known_techniques();
  CHECK(words == std::vector<std::string>(known.begin(), known.end()));
}

TEST_CASE("the page lists the allowed flags", "[variant][docs]") {
  const auto flags = words_of_line(page("guide/add_a_kernel.md"), "-O1");
  CHECK(flags.size() == allowed_cpu_flags().size());
  for (const std::string& flag : flags) {
    INFO(flag);
    CHECK(is_allowed_cpu_flag(flag));
  }
}

TEST_CASE("the page lists the flags that nvcc may be given", "[variant][docs]") {
  const auto flags = words_of_line(page("guide/add_a_kernel.md"), "--expt-extended-lambda");
  CHECK(flags.size() == allowed_cuda_flags().size());
  for (const std::string& flag : flags) {
    INFO(flag);
    CHECK(is_allowed_cuda_flag(flag));
  }
}
