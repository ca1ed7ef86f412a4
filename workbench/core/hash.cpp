// SPDX-License-Identifier: MIT
#include "core/hash.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace wb {
namespace {

constexpr std::size_t k_digest_bytes = 32;
using Digest = std::array<unsigned char, k_digest_bytes>;

std::string to_hex(const Digest& digest) {
  constexpr char k_digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * k_digest_bytes);
  for (const unsigned char byte : digest) {
    hex += k_digits[byte >> 4];
    hex += k_digits[byte & 15];
  }
  return hex;
}

struct ContextFree {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

void require(bool done) {
  if (!done) throw std::runtime_error("OpenSSL refused SHA-256; check its provider configuration");
}

}  // namespace

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, ContextFree> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : m_state(std::make_unique<State>()) {
  require(m_state->context != nullptr);
  require(EVP_DigestInit_ex(m_state->context.get(), EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
  update(std::as_bytes(std::span<const char>(bytes.data(), bytes.size())));
}

void Sha256::update(std::span<const std::byte> bytes) {
  if (m_state == nullptr) throw std::logic_error("a Sha256 was used after hex()");
  require(EVP_DigestUpdate(m_state->context.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::hex() {
  if (m_state == nullptr) throw std::logic_error("a Sha256 was used after hex()");
  Digest digest;
  require(EVP_DigestFinal_ex(m_state->context.get(), digest.data(), nullptr) == 1);
  m_state.reset();
  return to_hex(digest);
}

std::string sha256_hex(std::string_view bytes) {
  Digest digest;
  require(EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) ==
          1);
  return to_hex(digest);
}

bool is_sha256(std::string_view text) {
  return text.size() == 2 * k_digest_bytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string short_hash(std::string_view hex) {
  return std::string(hex.substr(0, 8));
}

}  // namespace wb
