// SPDX-License-Identifier: MIT
// FakeToolchain: "compiles" at once into a file whose content is the build id, so that tests of
// what stands above the compiler need none. Sources that hold "does not compile" fail like a
// compiler would. Tests change its fields to play another compiler.
#pragma once

#include <fstream>

#include "variant/builder.hpp"

namespace wb::testing {

class FakeToolchain final : public variant::Toolchain {
 public:
  std::string version = "fake-cc 1.0";
  std::string refused_text = "does not compile";
  double refused_cpu_s = 0.01;  ///< used before it refuses

  Result<variant::CompilerIdentity> identity() const override {
    return variant::CompilerIdentity{"fake-cc", version,
                                     version == "fake-cc 1.0" ? "fake-signature" : version};
  }
  Outcome<variant::BuildRecord> compile(const variant::Variant& variant,
                                        const variant::Configuration&, const variant::BuildOptions&,
                                        std::string_view build_id,
                                        const fs::path& output) const override {
    for (const auto& [path, text] : variant.files) {
      if (text.find(refused_text) != std::string::npos) {
        return Failure{Invalidity::compile, "the compiler refused " + path,
                       path + ": does not compile", refused_cpu_s};
      }
    }
    std::ofstream(output) << build_id;
    variant::BuildRecord record;
    record.compiler = version;
    record.wall_s = 0.01;
    record.cpu_s = 0.02;
    return record;
  }
};

}  // namespace wb::testing
