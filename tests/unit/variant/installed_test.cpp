// SPDX-License-Identifier: MIT
#include "variant/variant.hpp"

#include <fstream>

#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::variant;

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
