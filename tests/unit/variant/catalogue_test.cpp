// SPDX-License-Identifier: MIT
#include <fstream>

#include "core/files.hpp"
#include "kernel_folder.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
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
