// SPDX-License-Identifier: MIT
#include "kernel_folder.hpp"
#include "support/catch.hpp"
#include "variant/variant.hpp"

using namespace wb;
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
