// SPDX-License-Identifier: MIT
#include "session/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/byte_source.hpp"
#include "core/hash.hpp"

namespace wb::session {
namespace {

// A log packs to a tenth, a decompression bomb to a thousandth.
constexpr std::uint64_t k_ratio_max = 200;
constexpr std::uint64_t k_always_bytes = 256ull << 20;  // always allowed, whatever the packed size

/// The allowed unpacked size for an archive of that size.
std::uint64_t most_bytes(std::uint64_t packed_bytes, const ArchiveLimits& limits) {
  return std::min(limits.total_bytes, std::max(k_always_bytes, packed_bytes * k_ratio_max));
}

struct Free {
  void operator()(archive* one) const { archive_free(one); }
  void operator()(archive_entry* one) const { archive_entry_free(one); }
};
using Handle = std::unique_ptr<archive, Free>;
using EntryHandle = std::unique_ptr<archive_entry, Free>;

std::string words_of(archive* one, std::string_view otherwise) {
  const char* words = archive_error_string(one);
  return words == nullptr ? std::string(otherwise) : printable(words);
}

/// Why a path is not below a folder, in words; empty when it is.
std::string_view fault_of(std::string_view path) {
  if (path.empty()) return "it has no name";
  if (path.front() == '/') return "its path is absolute";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part == "..") return "its path leaves the archive";
    if (part.empty() || part == ".") return "its path is not written plainly";
    begin = end + 1;
  }
  return path.find('\0') == std::string_view::npos ? "" : "its path holds a NUL";
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string_view kind_of(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return "a hard link";
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return "file";
    case AE_IFDIR:
      return "folder";
    case AE_IFLNK:
      return "a link";
    default:
      return "a special file";
  }
}

/// Reads the entries of an archive one after the other.
class Unpacking {
 public:
  /// `tar_bytes`: size of the unpacked archive.
  Unpacking(const fs::path& path, const ArchiveLimits& limits, std::uint64_t tar_bytes)
      : m_path(path), m_limits(limits), m_tar_bytes(tar_bytes) {}

  Result<void> take(archive* reader, archive_entry* entry) {
    if (++m_entries > m_limits.entries) {
      return refuse(ErrorCode::limit, m_path.string(),
                    fmt::format("it holds more than {} files", m_limits.entries));
    }
    const char* raw = archive_entry_pathname(entry);
    if (raw == nullptr) raw = archive_entry_pathname_utf8(entry);
    std::string_view name = raw == nullptr ? std::string_view() : std::string_view(raw);
    const std::string_view kind = kind_of(entry);
    if (kind == "folder" && name.ends_with('/')) name.remove_suffix(1);
    if (const std::string_view fault = fault_of(name); !fault.empty()) {
      return refuse(ErrorCode::invalid, of(name), std::string(fault));
    }
    if (kind != "file" && kind != "folder") {
      return refuse(ErrorCode::invalid, of(name),
                    fmt::format("it is {}, and a session has files only", kind));
    }
    const std::size_t slash = std::min(name.find('/'), name.size());
    if (m_archive.top.empty()) m_archive.top = name.substr(0, slash);
    if (m_archive.top != name.substr(0, slash) || (kind == "file" && slash == name.size())) {
      return refuse(ErrorCode::invalid, of(name), "it is not in the one folder that all are in");
    }
    if (kind == "folder") return {};
    return take_file(reader, entry, std::string(name.substr(slash + 1)));
  }

  /// The result, after all entries.
  Result<Archive> whole() {
    for (const auto& [name, content] : m_archive.files) {
      for (std::size_t slash = name.find('/'); slash != std::string::npos;
           slash = name.find('/', slash + 1)) {
        if (!m_archive.files.contains(name.substr(0, slash))) continue;
        return refuse(ErrorCode::invalid, of(name.substr(0, slash)),
                      "it is a file and a folder at once");
      }
    }
    return std::move(m_archive);
  }

  [[nodiscard]] Error refuse(ErrorCode code, std::string subject, std::string cause) const {
    return Error{code, "unpack", std::move(subject), std::move(cause),
                 code == ErrorCode::damaged ? "copy the archive again"
                                            : "take an archive that `sdpa-wb pack` made"};
  }

 private:
  [[nodiscard]] std::string of(std::string_view name) const {
    return fmt::format("{} of {}", printable(name), m_path.string());
  }

  Result<void> take_file(archive* reader, archive_entry* entry, std::string name) {
    const auto bytes = static_cast<std::uint64_t>(std::max<la_int64_t>(
        archive_entry_size_is_set(entry) != 0 ? archive_entry_size(entry) : 0, 0));
    m_bytes += bytes;
    if (bytes > m_limits.file_bytes || m_bytes > m_limits.total_bytes) {
      return refuse(ErrorCode::limit, of(name),
                    fmt::format("it has {} bytes, and at most {} are read of a file and {} of all",
                                bytes, m_limits.file_bytes, m_limits.total_bytes));
    }
    // A sparse file claims bytes that were not stored, so it is refused before memory is reserved.
    if (archive_entry_sparse_count(entry) > 0) {
      return refuse(ErrorCode::invalid, of(name),
                    "it is a sparse file, and a session has whole ones");
    }
    if (bytes > m_tar_bytes) return refuse(ErrorCode::damaged, of(name), "it ends early");
    std::string content(bytes, '\0');
    std::size_t filled = 0;
    while (filled < content.size()) {
      const la_ssize_t got =
          archive_read_data(reader, content.data() + filled, content.size() - filled);
      if (got <= 0) {
        return refuse(ErrorCode::damaged, of(name), words_of(reader, "it ends early"));
      }
      filled += static_cast<std::size_t>(got);
    }
    if (!m_archive.files.try_emplace(name, std::move(content)).second) {
      return refuse(ErrorCode::invalid, of(name), "the archive has two files of that name");
    }
    return {};
  }

  const fs::path& m_path;
  const ArchiveLimits& m_limits;
  Archive m_archive;
  const std::uint64_t m_tar_bytes;
  std::uint64_t m_entries = 0, m_bytes = 0;
};

/// More than tar adds per file: its header, a long name's header, and padding.
constexpr std::uint64_t k_around_bytes = 4096;

la_ssize_t append(archive* /*one*/, void* into, const void* bytes, std::size_t count) {
  static_cast<std::string*>(into)->append(static_cast<const char*>(bytes), count);
  return static_cast<la_ssize_t>(count);
}

Error not_packed(const std::string& subject, ErrorCode code, std::string cause) {
  return Error{code, "put into the archive", printable(subject), std::move(cause), {}};
}

Result<void> add_file(archive* writer, const std::string& path, std::string_view content) {
  const EntryHandle entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), path.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_uid(entry.get(), 0);
  archive_entry_set_gid(entry.get(), 0);
  archive_entry_set_mtime(entry.get(), 0, 0);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
  const bool is_written = archive_write_header(writer, entry.get()) >= ARCHIVE_WARN &&
                          archive_write_data(writer, content.data(), content.size()) ==
                              static_cast<la_ssize_t>(content.size()) &&
                          archive_write_finish_entry(writer) >= ARCHIVE_WARN;
  if (is_written) return {};
  return not_packed(path, ErrorCode::io, words_of(writer, "it could not be written"));
}

}  // namespace

Result<std::string> pack_archive(const std::string& top, const ArchiveFiles& files,
                                 const ArchiveLimits& limits) {
  std::uint64_t total = 0;
  for (const auto& [name, content] : files) {
    const std::string path = top + "/" + name;
    const std::string_view fault = top.find('/') == std::string::npos
                                       ? fault_of(path)
                                       : std::string_view("its folder is no plain name");
    if (!fault.empty()) return not_packed(path, ErrorCode::invalid, std::string(fault));
    total += content.size() + k_around_bytes + path.size();
    if (content.size() > limits.file_bytes || total > limits.total_bytes ||
        files.size() > limits.entries) {
      return not_packed(path, ErrorCode::limit,
                        "no archive of so many or so large files would be read again");
    }
  }
  std::string bytes;
  const Handle writer(archive_write_new());
  archive_write_set_format_pax_restricted(writer.get());
  // An archive must not depend on the program's locale, so only ASCII names are accepted.
  if (!is_ascii(top) || std::any_of(files.begin(), files.end(),
                                    [](const auto& file) { return !is_ascii(file.first); })) {
    archive_write_set_format_option(writer.get(), "pax", "hdrcharset", "BINARY");
  }
  archive_write_add_filter_gzip(writer.get());
  archive_write_set_filter_option(writer.get(), "gzip", "timestamp", nullptr);
  archive_write_set_bytes_in_last_block(writer.get(), 1);  // no zeros after the gzip data
  if (archive_write_open(writer.get(), &bytes, nullptr, append, nullptr) != ARCHIVE_OK) {
    return not_packed(top, ErrorCode::io, words_of(writer.get(), "it could not be begun"));
  }
  for (const auto& [name, content] : files) {
    WB_TRY(add_file(writer.get(), top + "/" + name, content));
  }
  if (archive_write_close(writer.get()) != ARCHIVE_OK) {
    return not_packed(top, ErrorCode::io, words_of(writer.get(), "it could not be ended"));
  }
  if (total > most_bytes(bytes.size(), limits)) {
    return not_packed(top, ErrorCode::limit, "it would be packed so small that reading refuses it");
  }
  return bytes;
}

Result<Archive> unpack_archive(std::string_view bytes, const fs::path& path,
                               const ArchiveLimits& limits) {
  // Uses zlib directly, which checks the checksum; libarchive's filter does not.
  WB_TRY_ASSIGN(const std::string tar, unpack_gzip(bytes, path, most_bytes(bytes.size(), limits)));
  Unpacking unpacking(path, limits, tar.size());
  const Handle reader(archive_read_new());
  archive_read_support_format_tar(reader.get());
  if (archive_read_open_memory(reader.get(), tar.data(), tar.size()) != ARCHIVE_OK) {
    return unpacking.refuse(ErrorCode::damaged, path.string(),
                            words_of(reader.get(), "it is no tar archive"));
  }
  while (true) {
    archive_entry* entry = nullptr;
    const int state = archive_read_next_header(reader.get(), &entry);
    if (state == ARCHIVE_EOF) return unpacking.whole();
    if (state < ARCHIVE_WARN) {
      return unpacking.refuse(ErrorCode::damaged, path.string(),
                              words_of(reader.get(), "it is no tar archive"));
    }
    WB_TRY(unpacking.take(reader.get(), entry));
  }
}

fs::path plain_path(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

fs::path whole_path(const fs::path& path) {
  std::error_code error;
  // weakly_canonical() does not make a relative path absolute if its first folder does not exist.
  const fs::path named = fs::absolute(path.empty() ? fs::path(".") : path, error);
  fs::path whole = fs::is_directory(named, error) || !fs::exists(named, error)
                       ? fs::weakly_canonical(named, error)
                       : named;
  // If the folder cannot be read, the path is resolved by its text only.
  if (error || whole.empty()) whole = named;
  return plain_path(whole.lexically_normal());
}

std::string listed_name(const fs::path& path) {
  std::string name = plain_path(path).filename().string();
  std::error_code error;
  if (name.size() > k_archive_suffix.size() && name.ends_with(k_archive_suffix) &&
      !fs::is_directory(path, error)) {
    name.resize(name.size() - k_archive_suffix.size());
  }
  return name;
}

std::string session_name(const fs::path& path) {
  return listed_name(whole_path(path));
}

std::string file_name(const std::string& name, std::string_view suffix) {
  constexpr std::size_t k_most_bytes = 255;
  if (name.size() + suffix.size() <= k_most_bytes) return name + std::string(suffix);
  const std::string mark = "~" + short_hash(sha256_hex(name));
  std::size_t kept = k_most_bytes - suffix.size() - mark.size();
  const auto is_inside_letter = [&](std::size_t at) {
    return (static_cast<unsigned char>(name[at]) & 0xc0u) == 0x80u;  // of UTF-8
  };
  while (kept > 0 && is_inside_letter(kept)) --kept;
  return name.substr(0, kept) + mark + std::string(suffix);
}

}  // namespace wb::session
