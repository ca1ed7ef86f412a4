// SPDX-License-Identifier: MIT
// A kernels root in a temporary folder, for tests that read, derive and build variants.
#pragma once

#include <fstream>
#include <string>

#include "support/catch.hpp"
#include "variant/variant.hpp"

namespace wb::test {

/// A manifest with the given extra members, such as R"("compile_flags": ["-mfma"])".
inline std::string manifest_text(const std::string& name, const std::string& extra = "") {
  return R"({"name": ")" + name + R"(", "backend": "cpu", "sources": ["kernel.cpp"])" +
         (extra.empty() ? "" : ", " + extra) + "}";
}

class KernelFolder {
 public:
  KernelFolder() : m_folder(*TempDirectory::create("wb-test-kernels")) {
    fs::create_directories(root() / "common");
  }
  [[nodiscard]] fs::path path() const { return m_folder.path(); }
  [[nodiscard]] fs::path root() const { return m_folder.path() / "kernels"; }
  void write(const std::string& relative, const std::string& text) const {
    fs::create_directories((root() / relative).parent_path());
    std::ofstream file(root() / relative, std::ios::binary);
    file << text;
    REQUIRE(file.good());
  }
  /// A kernel of one file.
  void kernel(const std::string& name, const std::string& source,
              const std::string& manifest_extra = "") const {
    write(name + "/kernel.json", manifest_text(name, manifest_extra));
    write(name + "/kernel.cpp", source);
  }
  [[nodiscard]] Result<variant::Variant> read(const std::string& name) const {
    return variant::read_variant(m_file_system, root(), name);
  }
  [[nodiscard]] variant::Variant must_read(const std::string& name) const {
    auto variant = read(name);
    INFO((variant.ok() ? std::string() : variant.error().message()));
    REQUIRE(variant.ok());
    return *std::move(variant);
  }

 private:
  RealFileSystem m_file_system;
  TempDirectory m_folder;
};

}  // namespace wb::test
