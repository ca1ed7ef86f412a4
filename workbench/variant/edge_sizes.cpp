// SPDX-License-Identifier: MIT
#include "variant/edge_sizes.hpp"

#include <algorithm>

#include "core/secret.hpp"
#include "problem/inputs.hpp"
#include "problem/philox.hpp"

namespace wb::variant {

using problem::Problem;

namespace {

constexpr double k_most_madds = 3e6;       ///< of one run: the judge computes it four times
constexpr double k_most_far_madds = 12e6;  ///< of the few far runs

/// Few heads and small head dims, so that the length is cheap.
bool is_long(Extent extent) {
  return is_far(extent) || extent == Extent::long_rows || extent == Extent::long_keys ||
         extent == Extent::late;
}

}  // namespace

bool is_far(Extent extent) {
  return extent == Extent::far_rows || extent == Extent::far_keys;
}

bool takes_q_residue(Extent extent) {
  return extent == Extent::plain || extent == Extent::heads || extent == Extent::batches ||
         extent == Extent::wide;
}

bool takes_kv_residue(Extent extent) {
  return takes_q_residue(extent) || extent == Extent::decode || extent == Extent::long_keys ||
         extent == Extent::far_keys;
}

/// The remainder, mostly plus 0, 64 or 128; sometimes a multiple of 64.
std::int64_t EdgeSizes::size(std::int64_t residue, std::int64_t most) {
  const double u = m_random.uniform();
  std::int64_t value = residue + (u < 0.62 ? 0 : u < 0.92 ? k_residues : 2 * k_residues);
  // Just before, at and after tile borders.
  if (m_random.chance(0.08)) {
    const std::int64_t multiple = k_residues * m_random.between(1, 3);
    value = multiple + m_random.between(-1, 1);
  }
  if (value == 0) value = k_residues;
  return std::min(value, most);
}

std::int64_t EdgeSizes::dim_up_to(std::int64_t most) {
  const std::int64_t unit = m_support.head_dim_multiple;
  const std::int64_t limit = std::min(most, m_support.head_dim_max);
  // Small ones more often; every remainder modulo 16 units.
  const double u = m_random.uniform();
  const std::int64_t residue = m_dim_residue.value_or(m_random.below(16));
  m_dim_residue.reset();
  std::int64_t units =
      residue + 16 * static_cast<std::int64_t>(u * u * 8 / static_cast<double>(unit));
  units = std::clamp<std::int64_t>(units, 1, std::max<std::int64_t>(1, limit / unit));
  return units * unit;
}

std::int64_t EdgeSizes::head_dim(bool is_wide) {
  if (!m_support.head_dims.empty()) return m_random.pick(m_support.head_dims);
  if (!is_wide) return dim_up_to(200);
  const std::int64_t unit = m_support.head_dim_multiple;
  const std::int64_t most = std::min<std::int64_t>(m_support.head_dim_max, m_on_gpu ? 8192 : 1280);
  const std::int64_t least = std::min<std::int64_t>(129, most);
  return std::max(unit, m_random.between(least, most) / unit * unit);
}

void EdgeSizes::draw_dims(Problem& p, Extent extent, const Problem* near) {
  const bool is_small = is_long(extent) || extent == Extent::blocks;
  const bool takes_near = near != nullptr && !is_small && extent != Extent::wide;
  if (is_small && m_support.head_dims.empty()) {
    p.D = dim_up_to(24);
    p.Dv = m_support.dv_differs && m_random.chance(0.4) ? dim_up_to(24) : p.D;
    return;
  }
  p.D = takes_near ? near->D : head_dim(extent == Extent::wide);
  p.Dv = takes_near ? near->Dv : p.D;
  if (!m_support.dv_differs || !m_random.chance(0.4)) return;
  const std::int64_t other = dim_up_to(std::max<std::int64_t>(p.D, 160));
  p.Dv = m_random.chance(0.5) ? std::min(other, p.D) : std::max(other, p.D);
  if (p.Dv == p.D) p.Dv = other;
}

void EdgeSizes::draw_heads(Problem& p, Extent extent) {
  const bool is_grouped = m_support.gqa && m_random.chance(0.6);
  p.Hkv = m_random.between(1, 3);
  p.Hq = p.Hkv * (is_grouped ? m_random.between(2, 4) : 1);
  p.B = m_random.between(1, 3);
  if (extent == Extent::heads) {
    const std::int64_t group = is_grouped ? m_random.between(2, 12) : 1;
    p.Hkv = std::max<std::int64_t>(1, m_random.between(10, 40) / group);
    p.Hq = std::max<std::int64_t>(p.Hkv * group, group == 1 ? 10 : 1);
    if (group == 1) p.Hkv = p.Hq;
    p.B = m_random.between(1, 2);
  } else if (extent == Extent::batches) {
    p.B = m_random.between(4, 40);
  } else if (extent == Extent::blocks) {
    p.Hkv = m_random.between(1, 3);
    p.Hq = p.Hkv * (m_support.gqa ? m_random.between(1, 4) : 1);
    p.B = m_random.between(1, 4);
  } else if (is_long(extent)) {
    p.B = 1;
    p.Hkv = 1;
    p.Hq = m_support.gqa && !is_far(extent) ? m_random.between(1, 2) : 1;
  }
}

void EdgeSizes::draw_lengths(Problem& p, Extent extent, std::int64_t q_residue,
                             std::int64_t kv_residue) {
  const bool is_many = extent == Extent::heads || extent == Extent::batches;
  p.Sq = is_many ? 1 + (q_residue + 31) % 32 : size(q_residue, 200);
  p.Skv = is_many ? 1 + (kv_residue + 31) % 32 : size(kv_residue, 300);
  if (m_random.chance(0.12)) {
    if (m_random.chance(0.5)) {
      p.Skv = p.Sq;
    } else {
      p.Sq = p.Skv;
    }
  }
  if (m_random.chance(0.03)) p.Skv = 1;
  switch (extent) {
    case Extent::decode:
      p.Sq = m_random.between(1, m_random.chance(0.5) ? 1 : 8);
      p.Skv = size(kv_residue, 300) + (m_random.chance(0.4) ? 256 : 0);
      break;
    case Extent::long_rows:
      p.Sq = m_random.between(513, 1'600);
      p.Skv = m_random.between(1, 6);
      break;
    case Extent::far_rows:
      p.Sq = m_random.between(32'800, 40'000);
      p.Skv = m_random.between(
          1, std::clamp<std::int64_t>(
                 static_cast<std::int64_t>(k_most_far_madds) / (p.Sq * (p.D + p.Dv)), 1, 3));
      break;
    case Extent::long_keys:
      p.Sq = m_random.between(1, 3);
      p.Skv = k_residues * m_random.between(17, 46) + kv_residue;
      break;
    case Extent::far_keys:
      p.Sq = m_random.between(1, 3);
      p.Skv = k_residues * m_random.between(125, 310) + kv_residue;
      break;
    case Extent::blocks:
      // At least 512 blocks of 64 rows in total.
      p.Sq = 64 * (512 / (p.B * p.Hq)) + m_random.between(1, 64);
      p.Skv = m_random.between(1, 4);
      break;
    case Extent::late:
      p.Sq = m_random.between(1, 12);
      p.Skv = m_random.between(1, 24);
      break;
    default:
      break;
  }
  p.Sq = std::min(p.Sq, m_support.seq_q_max);
  p.Skv = std::min(p.Skv, m_support.seq_kv_max);
}

bool make_cheap(Problem& p, Extent extent) {
  const double most_madds = is_far(extent) ? k_most_far_madds : k_most_madds;
  const auto is_small = [&p, most_madds] {
    return problem::work(p).kept_pairs * static_cast<double>(p.D + p.Dv) <= most_madds;
  };
  for (int i = 0; i < 8 && !is_small(); ++i) {
    if (p.B > 1 && (i % 2 == 0 || p.Hkv == 1)) {
      p.B = (p.B + 1) / 2;
    } else if (p.Hkv > 1) {
      const std::int64_t group = p.Hq / p.Hkv;
      p.Hkv = (p.Hkv + 1) / 2;
      p.Hq = group * p.Hkv;
    } else if (p.Hq <= 4) {
      (p.Skv > p.Sq ? p.Skv : p.Sq) -= std::max(p.Skv, p.Sq) / 128 * 64;
      if (std::max(p.Skv, p.Sq) > 64) (p.Skv > p.Sq ? p.Skv : p.Sq) -= 64;
    } else {
      p.Hq = p.Hkv;
    }
  }
  return is_small();
}

KeyedRandom KeyedRandom::secret() {
  return KeyedRandom(draw_secret<std::uint64_t>());
}

std::uint32_t KeyedRandom::next() {
  if (m_used == m_words.size()) {
    m_words = problem::philox(static_cast<std::uint32_t>(m_key),
                              static_cast<std::uint32_t>(m_key >> 32), m_counter++);
    m_used = 0;
  }
  return m_words[m_used++];
}

std::int64_t KeyedRandom::below(std::int64_t n) {
  const std::uint64_t wide = (std::uint64_t{next()} << 32) | next();
  return static_cast<std::int64_t>(wide % static_cast<std::uint64_t>(n));
}

double KeyedRandom::uniform() {
  return static_cast<double>(next()) * 0x1p-32;
}

}  // namespace wb::variant
