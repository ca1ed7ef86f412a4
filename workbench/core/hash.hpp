// SPDX-License-Identifier: MIT
// SHA-256 (through OpenSSL) for ids, the cache and the log chain. None of the hashed data is
// secret.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace wb {

/// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::string_view bytes);
  void update(std::span<const std::byte> bytes);
  /// 64 lower-case hex digits; the object cannot be used afterwards.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

std::string sha256_hex(std::string_view bytes);
/// 64 lower-case hex digits.
bool is_sha256(std::string_view text);
/// The first 8 hex digits, as ids are printed: "cpu_tiled@1f0c44aa".
std::string short_hash(std::string_view hex);

}  // namespace wb
