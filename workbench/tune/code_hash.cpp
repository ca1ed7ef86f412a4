// SPDX-License-Identifier: MIT
#include "tune/code_hash.hpp"

#include <algorithm>
#include <cstring>

#include "core/hash.hpp"

namespace wb::tune {
namespace {

constexpr std::uint32_t k_digest_max_bytes = 64;

/// Notes are {name size 4, digest size, type 3 (NT_GNU_BUILD_ID), "GNU\0", digest}, with sizes as
/// 32-bit words in host byte order.
void blank_linker_ids(std::string& bytes) {
  constexpr std::uint32_t k_name_bytes = 4, k_build_id_type = 3;
  constexpr std::size_t k_head_bytes = 12;
  static constexpr std::string_view k_name("GNU\0", 4);
  for (std::size_t at = bytes.find(k_name); at != std::string::npos;
       at = bytes.find(k_name, at + 1)) {
    if (at < k_head_bytes) continue;
    std::uint32_t head[3];
    std::memcpy(head, bytes.data() + at - k_head_bytes, sizeof head);
    const std::size_t digest = at + k_name.size();
    if (head[0] != k_name_bytes || head[2] != k_build_id_type) continue;
    if (head[1] > k_digest_max_bytes || digest + head[1] > bytes.size()) continue;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(digest), head[1], '\0');
  }
}

}  // namespace

std::string code_hash(std::string_view library, std::string_view build_id) {
  std::string bytes(library);
  for (std::size_t at = build_id.empty() ? std::string::npos : bytes.find(build_id);
       at != std::string::npos; at = bytes.find(build_id, at + build_id.size())) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), build_id.size(), '\0');
  }
  blank_linker_ids(bytes);
  return sha256_hex(bytes);
}

}  // namespace wb::tune
