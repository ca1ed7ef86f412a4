// SPDX-License-Identifier: MIT
#include "variant/edge_draws.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "variant/edge_sizes.hpp"

namespace wb::variant {

using problem::CallForm;
using problem::Causal;
using problem::Draw;
using problem::Layout;
using problem::MaskKind;
using problem::MaskValues;
using problem::Problem;

namespace {

constexpr std::size_t k_candidates = 8;  ///< the one with the most new combinations is used
constexpr int k_tries = 400;             ///< for a problem that the variant supports

/// Numbers in each 72 runs.
constexpr std::pair<Extent, int> k_extents[] = {
    {Extent::plain, 31},    {Extent::decode, 5},   {Extent::heads, 8},     {Extent::batches, 6},
    {Extent::long_rows, 3}, {Extent::far_rows, 3}, {Extent::long_keys, 2}, {Extent::far_keys, 2},
    {Extent::wide, 6},      {Extent::blocks, 3},   {Extent::late, 3}};

template <typename T>
void shuffle(std::vector<T>& values, KeyedRandom& random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1],
              values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  }
}

/// Deals each of its values once before repeating one.
template <typename T>
class Deck {
 public:
  explicit Deck(std::vector<T> values) : m_values(std::move(values)) {}
  T next(KeyedRandom& random) {
    if (m_at == 0) shuffle(m_values, random);
    const T value = m_values[m_at];
    m_at = (m_at + 1) % m_values.size();
    return value;
  }

 private:
  std::vector<T> m_values;
  std::size_t m_at = 0;
};

/// Remainders modulo 64: first those next to a multiple, twice, since tiles end there; then all,
/// ordered so that 32 of them contain every remainder modulo 32, 16 every one modulo 16, and so on.
class Residues {
 public:
  std::int64_t next(KeyedRandom& random) {
    if (m_beside > 0) {
      if (m_beside == m_ends.size()) shuffle(m_ends, random);
      return m_ends[--m_beside];
    }
    if (m_at == 0) {
      m_first = random.below(k_residues);
      m_step = 2 * random.below(k_residues / 2) + 1;
    }
    const std::int64_t residue = (m_first + m_at * m_step) % k_residues;
    m_at = (m_at + 1) % k_residues;
    return residue;
  }

 private:
  std::vector<std::int64_t> m_ends{1, 1, k_residues - 1, k_residues - 1};
  std::size_t m_beside = m_ends.size();
  std::int64_t m_at = 0, m_first = 0, m_step = 1;
};

/// A combination that a fault may depend on: storage format, visible keys, and whether an LSE is
/// requested. Each is dealt equally often, all of them in one verdict.
struct Cell {
  Dtype dtype = Dtype::f32;
  Causal causal = Causal::none;
  MaskKind mask = MaskKind::none;
  bool want_lse = true;
};

template <typename T>
std::vector<T> claimed(const std::vector<T>& list, std::vector<T> all) {
  return list.empty() ? all : list;
}

class Drawer {
 public:
  Drawer(const EdgeTerms& terms, KeyedRandom& random)
      : m_terms(terms),
        m_support(terms.manifest.support),
        m_random(random),
        m_on_gpu(runs_on_gpu(terms.manifest)),
        m_dtypes(claimed(m_support.dtypes, {Dtype::f32, Dtype::f16, Dtype::bf16})),
        m_causal(claimed(m_support.causal, {Causal::none, Causal::top_left, Causal::bottom_right})),
        m_masks(claimed(m_support.masks, {MaskKind::none, MaskKind::boolean, MaskKind::additive})),
        m_layouts(claimed(m_support.layouts, {Layout::bhsd, Layout::bshd})),
        m_sizes(terms.manifest, random),
        m_extents(extents_for(terms.count)),
        m_all_cells(cells()),
        m_cells(m_all_cells) {}

  std::vector<EdgeDraw> draw() {
    std::vector<EdgeDraw> drawn;
    for (std::size_t i = 0; i < m_terms.count; ++i) {
      if (auto one = best_candidate(i)) drawn.push_back(*std::move(one));
    }
    shuffle(drawn, m_random);
    return drawn;
  }

 private:
  static Deck<Extent> extents_for(std::size_t count) {
    std::vector<Extent> list;
    for (const auto& [extent, of_72] : k_extents) {
      const double share = static_cast<double>(of_72) / static_cast<double>(k_edge_draws);
      const auto n = static_cast<std::size_t>(
          std::max(1.0, std::round(share * static_cast<double>(std::min(count, k_edge_draws)))));
      list.insert(list.end(), n, extent);
    }
    return Deck<Extent>(std::move(list));
  }

  [[nodiscard]] std::vector<Cell> cells() const {
    std::vector<Cell> list;
    for (const Dtype dtype : m_dtypes) {
      for (const Causal causal : m_causal) {
        for (const MaskKind mask : m_masks) {
          list.push_back({dtype, causal, mask, false});
          // Twice, since most timed calls are of this kind.
          if (causal == Causal::none && mask == MaskKind::none) list.push_back(list.back());
          // A Python subject may give no LSE, so none is requested.
          if (m_terms.manifest.backend != Backend::python) {
            list.push_back({dtype, causal, mask, true});
          }
        }
      }
    }
    return list;
  }

  void draw_mask_values(Problem& p) {
    if (p.mask == MaskKind::boolean) {
      p.keep_frac = m_random.pick<double>({0.05, 0.5, 0.7, 0.95});
    } else if (p.mask == MaskKind::additive && m_random.chance(0.6)) {
      p.mask_values = MaskValues::finite_min;
    }
  }

  void draw_layouts(Problem& p) {
    const Layout q = m_random.pick(m_layouts);
    const bool is_mixed = m_random.chance(0.4);
    problem::set_layouts(p, q, is_mixed ? m_random.pick(m_layouts) : q,
                         is_mixed ? m_random.pick(m_layouts) : q);
  }

  void draw_scale(Problem& p, Draw draw) {
    const double usual = problem::default_scale(p.D);
    const double u = m_random.uniform();
    if (draw == Draw::low && u < 0.5) {
      // The mean score of this draw is -13.6 times scale times D.
      const double wanted = 150.0 * std::pow(2e4 / 150.0, m_random.uniform());
      p.scale = wanted / (13.6 * static_cast<double>(p.D));
    } else if (u < 0.5) {
      p.scale.reset();
    } else if (u < 0.75) {
      p.scale = usual * 0.2 * std::pow(20.0, m_random.uniform());
    } else if (u < 0.85) {
      p.scale = std::min(1.0, 8 * usual);
    } else if (m_terms.manifest.backend != Backend::python) {
      // Not for Python libraries: cuDNN and FlashAttention give NaN for a negative scale, and
      // PyTorch on a CPU for scale 0 under a causal rule, as -inf times 0.
      p.scale = u < 0.95 ? -usual * (0.3 + m_random.uniform()) : 0.0;
    }
    if (p.scale) p.scale = static_cast<double>(static_cast<float>(*p.scale));
    if (p.scale == usual) p.scale.reset();
  }

  /// Without an LSE, as in timed calls, most scores are drawn far from 0, since a kernel might skip
  /// the handling of those only there.
  Draw draw_kind(const Problem& p, bool want_lse) {
    const double u = m_random.uniform();
    const bool may_lose_rows = m_support.rows_without_keys;
    if (may_lose_rows && p.mask_values == MaskValues::finite_min && u < 0.85) return Draw::edge;
    if (p.mask != MaskKind::none && may_lose_rows && u < 0.25) return Draw::edge;
    const double v = m_random.uniform();
    if (v < (want_lse ? 0.6 : 0.3)) return Draw::normal;
    return v < (want_lse ? 0.8 : 0.65) ? Draw::large : Draw::low;
  }

  // Three quarters are close to the latest call, to reveal faults that begin at some call.

  problem::View view(std::int64_t inner_width, Dtype dtype) {
    const std::int64_t step = stride_elements(m_terms.manifest, dtype);
    problem::View made;
    made.inner = (step - inner_width % step) % step + step * m_random.between(0, 5);
    made.middle = step * m_random.between(0, 9);
    made.outer = step * m_random.between(0, 13);
    return made;
  }

  std::int64_t shift() { return m_random.chance(0.8) ? m_random.between(1, 15) : 0; }

  void draw_views(const Problem& p, CallForm& form) {
    if (m_random.chance(0.65)) {
      const bool all = m_random.chance(0.5);
      const auto is_one = [&] { return all || m_random.chance(0.5); };
      if (is_one()) form.q = view(p.D, p.dtype);
      if (is_one()) form.k = view(p.D, p.dtype);
      if (is_one()) form.v = view(p.Dv, p.dtype);
      if (is_one()) form.out = view(p.Dv, p.dtype);
      // GPU kernels do not claim masks as views, whose rows need not be aligned.
      if (p.mask != MaskKind::none && !m_on_gpu && is_one()) {
        form.mask = {0, m_random.between(0, 9), m_random.between(0, 13), 0};
      }
    }
    if (m_on_gpu || !m_random.chance(0.4)) return;
    form.q.shift = shift();
    form.k.shift = shift();
    form.v.shift = shift();
    form.out.shift = shift();
    if (p.mask != MaskKind::none) form.mask.shift = shift();
    form.lse_shift = shift();
  }

  void draw_call(EdgeDraw& one, Extent extent) {
    CallForm& form = one.form;
    draw_views(one.problem, form);
    if (m_random.chance(0.35)) form.threads = 1;
    if (extent == Extent::late) {
      // The last ones are nearly as late as can be: a fault that begins at some call shows.
      form.call = m_random.chance(0.75) ? problem::k_latest_call - m_random.below(100)
                                        : m_random.between(300, problem::k_latest_call);
    } else {
      const double u = m_random.uniform();
      form.call = u < 0.5    ? 1
                  : u < 0.6  ? 2
                  : u < 0.85 ? m_random.between(3, 9)
                             : m_random.between(10, 70);
    }
    if (m_random.chance(0.25)) {
      const Cell cell = m_random.pick(m_all_cells);
      const std::int64_t q_residue = m_random.below(64), kv_residue = m_random.below(64);
      const auto other = a_problem(Extent::plain, q_residue, kv_residue, cell, one.draw);
      if (other && *other != one.problem) {
        form.beside = *other;
        form.beside_is_gone = m_random.chance(0.4);
      }
    }
  }

  // One run --------------------------------------------------------------------------------------

  std::optional<Problem> a_problem(Extent extent, std::int64_t q_residue, std::int64_t kv_residue,
                                   Cell cell, std::optional<Draw> draw) {
    for (int attempt = 0; attempt < k_tries; ++attempt) {
      Problem p;
      const bool is_near = !m_terms.near.empty() && m_random.chance(0.3);
      const Problem* near = is_near ? &m_random.pick(m_terms.near) : nullptr;
      p.dtype = cell.dtype;
      m_sizes.draw_dims(p, extent, near);
      p.causal = cell.causal;
      p.mask = cell.mask;
      draw_mask_values(p);
      draw_layouts(p);
      m_sizes.draw_heads(p, extent);
      m_sizes.draw_lengths(p, extent, q_residue, kv_residue);
      // These remainders or this combination may not be supported.
      if (attempt > 20) {
        cell = m_random.pick(m_all_cells);
        q_residue = m_random.chance(0.5) ? 0 : m_random.below(k_residues);
        kv_residue = m_random.chance(0.5) ? 0 : m_random.below(k_residues);
      }
      draw_scale(p, draw.value_or(Draw::normal));
      if (!make_cheap(p, extent) || !problem::validate(p).ok() || !m_terms.takes(p)) continue;
      return p;
    }
    return std::nullopt;
  }

  /// The kinds of a run, whose pairs are to be covered.
  static std::vector<int> kinds_of(const EdgeDraw& one) {
    const Problem& p = one.problem;
    const CallForm& form = one.form;
    const auto sign = [](std::int64_t a, std::int64_t b) { return a < b ? 0 : a == b ? 1 : 2; };
    const double scale = p.scale.value_or(1.0);
    const bool is_view =
        !problem::is_packed(form.q) || !problem::is_packed(form.k) || !problem::is_packed(form.v);
    return {static_cast<int>(p.dtype),
            static_cast<int>(p.causal),
            static_cast<int>(p.mask) + (p.mask_values == MaskValues::finite_min ? 3 : 0),
            problem::has_one_layout(p) ? static_cast<int>(p.layout) : 2,
            p.Sq == 1 ? 3 : sign(p.Sq, p.Skv),
            p.Hq == p.Hkv ? 0
            : p.Hkv == 1  ? 1
                          : 2,
            p.Hkv > 1,
            p.Hq > 8 ? 1 : 0,
            static_cast<int>(std::min<std::int64_t>(p.B, 4)),
            sign(p.Dv, p.D),
            p.D % 8 == 0   ? 0
            : p.D % 2 == 0 ? 1
                           : 2,
            !p.scale    ? 0
            : scale > 0 ? 1
            : scale < 0 ? 2
                        : 3,
            is_view,
            !problem::is_packed(form.out),
            form.q.shift != 0,
            static_cast<int>(form.threads),
            form.call > 9   ? 2
            : form.call > 1 ? 1
                            : 0,
            !form.beside          ? 0
            : form.beside_is_gone ? 1
                                  : 2,
            static_cast<int>(one.draw),
            one.want_lse};
  }

  std::set<int> new_pairs(const EdgeDraw& one) const {
    const std::vector<int> kinds = kinds_of(one);
    std::set<int> pairs;
    for (std::size_t a = 0; a < kinds.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const int pair = static_cast<int>(a * 32 + b) * 64 + kinds[a] * 8 + kinds[b];
        if (!m_covered.contains(pair)) pairs.insert(pair);
      }
    }
    return pairs;
  }

  std::optional<EdgeDraw> best_candidate(std::size_t number) {
    const Extent extent = m_extents.next(m_random);
    const std::int64_t q_residue =
        takes_q_residue(extent) ? m_q_residues.next(m_random) : m_random.below(k_residues);
    const std::int64_t kv_residue =
        takes_kv_residue(extent) ? m_kv_residues.next(m_random) : m_random.below(k_residues);
    std::optional<EdgeDraw> best;
    std::set<int> best_pairs;
    // Large numbers of draws need no search for new combinations.
    const std::size_t candidates = number < 4 * k_edge_draws ? k_candidates : 1;
    const std::int64_t dim_residue = m_dim_residues.next(m_random) % 16;
    const Cell cell = m_cells.next(m_random);
    for (std::size_t i = 0; i < candidates; ++i) {
      m_sizes.start_from(dim_residue);
      const auto problem = a_problem(extent, q_residue, kv_residue, cell, std::nullopt);
      if (!problem) break;  // the claims are narrow: more attempts would fail too
      EdgeDraw one;
      one.problem = *problem;
      one.want_lse = cell.want_lse;
      one.draw = draw_kind(one.problem, one.want_lse);
      if (one.draw == Draw::low) draw_scale(one.problem, one.draw);
      draw_call(one, extent);
      std::set<int> pairs = new_pairs(one);
      if (best && pairs.size() <= best_pairs.size()) continue;
      best = std::move(one);
      best_pairs = std::move(pairs);
    }
    m_covered.merge(best_pairs);
    return best;
  }

  const EdgeTerms& m_terms;
  const Support& m_support;
  KeyedRandom& m_random;
  bool m_on_gpu;
  std::vector<Dtype> m_dtypes;
  std::vector<Causal> m_causal;
  std::vector<MaskKind> m_masks;
  std::vector<Layout> m_layouts;
  EdgeSizes m_sizes;
  Deck<Extent> m_extents;
  std::vector<Cell> m_all_cells;
  Deck<Cell> m_cells;
  Residues m_q_residues, m_kv_residues, m_dim_residues;
  std::set<int> m_covered;
};

}  // namespace

std::vector<EdgeDraw> draw_edges(const EdgeTerms& terms, KeyedRandom& random) {
  return Drawer(terms, random).draw();
}

}  // namespace wb::variant
