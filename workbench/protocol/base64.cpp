// SPDX-License-Identifier: MIT
// Base64 (RFC 4648, padded, no line breaks) for the bytes inside `put`.
#include <array>

#include "protocol/protocol.hpp"

namespace wb::protocol {
namespace {

constexpr std::string_view k_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_decode_table() {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < k_alphabet.size(); ++i) {
    table[static_cast<unsigned char>(k_alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return table;
}
constexpr auto k_decode = make_decode_table();

Error bad(std::string cause) {
  return Error{ErrorCode::parse, "decode base64", "data", std::move(cause),
               "send padded RFC 4648 base64 without line breaks"};
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      word = (word << 8) | (j < left ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    text += k_alphabet[(word >> 18) & 63u];
    text += k_alphabet[(word >> 12) & 63u];
    text += left > 1 ? k_alphabet[(word >> 6) & 63u] : '=';
    text += left > 2 ? k_alphabet[word & 63u] : '=';
  }
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return bad("its length is not a multiple of 4");
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    std::size_t padding = 0;
    if (last && text[i + 3] == '=') padding = text[i + 2] == '=' ? 2 : 1;
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::int8_t six = k_decode[static_cast<unsigned char>(text[i + j])];
      const bool is_padding = j >= 4 - padding;
      if (!is_padding && six < 0) return bad("a character is outside the alphabet");
      word = (word << 6) | (is_padding ? 0u : static_cast<std::uint32_t>(six));
    }
    // Leftover bits before padding must be zero, so that each text has one decoding.
    if ((padding == 1 && (word & 0xffu) != 0) || (padding == 2 && (word & 0xffffu) != 0)) {
      return bad("unused bits before the padding are not zero");
    }
    bytes += static_cast<char>((word >> 16) & 0xffu);
    if (padding < 2) bytes += static_cast<char>((word >> 8) & 0xffu);
    if (padding < 1) bytes += static_cast<char>(word & 0xffu);
  }
  return bytes;
}

}  // namespace wb::protocol
