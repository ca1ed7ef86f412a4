// SPDX-License-Identifier: MIT
// Archives that no library would write: single tar headers, and gzip around arbitrary bytes.
#pragma once

#include <zlib.h>

#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>

namespace wb::testing {

inline std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// One entry of a ustar archive. `type`: '0' file, '1' hard link, '2' link, '3' device, '5' folder,
/// '6' pipe. `size` is what the header claims.
inline std::string tar_entry(std::string_view name, char type, std::string_view content,
                             std::string_view target = {}, std::size_t size = std::string::npos) {
  std::array<char, 512> header{};
  const auto put = [&](std::size_t at, std::string_view text) {
    text.copy(header.data() + at, header.size() - at);
  };
  const auto octal = [&](std::size_t at, std::size_t digits, std::size_t value) {
    for (std::size_t digit = digits; digit-- > 0; value /= 8) {
      header[at + digit] = static_cast<char>('0' + value % 8);
    }
  };
  put(0, name.substr(0, 100));
  octal(100, 7, 0644);
  octal(108, 7, 0);
  octal(116, 7, 0);
  octal(124, 11, size == std::string::npos ? content.size() : size);
  octal(136, 11, 0);
  put(148, "        ");
  header[156] = type;
  put(157, target.substr(0, 100));
  put(257, std::string_view("ustar\00000", 8));
  const std::size_t sum = std::accumulate(
      header.begin(), header.end(), std::size_t{0},
      [](std::size_t total, char c) { return total + static_cast<unsigned char>(c); });
  octal(148, 6, sum);
  header[154] = '\0';
  std::string entry(header.data(), header.size());
  entry += content;
  entry.resize((entry.size() + 511) / 512 * 512, '\0');
  return entry;
}

inline std::string tar_end() {
  return std::string(1024, '\0');
}

}  // namespace wb::testing
