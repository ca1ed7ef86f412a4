// SPDX-License-Identifier: MIT
// A toolkit of shell scripts in a temporary folder: an nvcc that says who it is and then does what
// a test wants, so that crashes and refusals need no CUDA.
#pragma once

#include <string>

#include "kernel_folder.hpp"

namespace wb::test {

class FakeNvcc {
 public:
  /// `body`: shell text; $library is where the output goes, $source what is compiled.
  explicit FakeNvcc(const std::string& body, const std::string& version = "V99.1.7") {
    write("nvcc",
          "#!/bin/sh\n"
          "case \"$*\" in\n"
          "*--version*) echo 'Cuda compilation tools, release 99.1, " +
              version +
              "'; exit 0;;\n"
              "*--dryrun*) echo \"_HERE_=" +
              bin().string() +
              "\" >&2; exit 0;;\n"
              "esac\n"
              "for word; do\n"
              "case \"$word\" in *.cu) source=$word;; esac\n"
              "case \"$before\" in -MF) echo \"x : $source\" > \"$word\";; esac\n"
              "before=$word\n"
              "library=$word\n"
              "done\n" +
              body + "\n");
    write("ptxas", "#!/bin/sh\nexit 1\n");
  }
  [[nodiscard]] fs::path bin() const { return m_folder.path() / "toolkit" / "bin"; }
  [[nodiscard]] std::string path() const { return (bin() / "nvcc").string(); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(bin());
    std::ofstream(bin() / name) << text;
    fs::permissions(bin() / name, fs::perms::owner_all);
  }

 private:
  TempDirectory m_folder = *TempDirectory::create("wb-fake-nvcc");
};

/// A CUDA kernel of one file with the given extra members of its manifest.
inline void cuda_kernel(const KernelFolder& folder, const std::string& source,
                        const std::string& extra = R"("architectures": ["sm_90a"])") {
  folder.write("k/kernel.json", R"({"name": "k", "backend": "cuda", "sources": ["kernel.cu"])" +
                                    (extra.empty() ? "" : ", " + extra) + "}");
  folder.write("k/kernel.cu", source);
}

}  // namespace wb::test
