// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "trace/analyze.hpp"

namespace wb::trace {

std::string vendor_neutral(std::string_view markdown) {
  struct Word {
    std::string_view vendor, common;
  };
  // Longer words come first.
  constexpr std::array<Word, 14> k_words{{{"CUDA kernel", "GPU kernel"},
                                          {"HIP kernel", "GPU kernel"},
                                          {"cuDNN", "DNN primitives"},
                                          {"CUDNN", "DNN primitives"},
                                          {"MIOpen", "DNN primitives"},
                                          {"cuBLAS", "BLAS library"},
                                          {"hipBLASLt", "BLAS library"},
                                          {"rocBLAS", "BLAS library"},
                                          {"Tensor Core", "matrix unit"},
                                          {"tensor core", "matrix unit"},
                                          {"Matrix Core", "matrix unit"},
                                          {"NCCL", "collective communication"},
                                          {"RCCL", "collective communication"},
                                          {"CUDA", "GPU"}}};
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < markdown.size();) {
    if (markdown[i] == '`' || markdown[i] == '\n') {
      quoted = markdown[i] == '`' && !quoted;
      text += markdown[i++];
      continue;
    }
    const auto found = quoted
                           ? k_words.end()
                           : std::find_if(k_words.begin(), k_words.end(), [&](const Word& entry) {
                               return markdown.substr(i).starts_with(entry.vendor);
                             });
    if (found == k_words.end()) {
      text += markdown[i++];
    } else {
      text += found->common;
      i += found->vendor.size();
    }
  }
  return text;
}

}  // namespace wb::trace
