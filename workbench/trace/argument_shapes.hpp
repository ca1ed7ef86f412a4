// SPDX-License-Identifier: MIT
// Private to argument_sizes.cpp: shapes of recorded tensors, and the argument orders of two kinds
// of libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/op_sizes.hpp"

namespace wb::trace {

inline constexpr std::string_view k_unfit = "the sizes of q, k and v do not fit together";

using Shape = std::vector<std::int64_t>;

/// "(2, 16, 1024, 128)".
std::string text_of(const Shape& shape);

/// From four sizes each, with the given positions of batch, heads and length. Nothing when q, k and
/// v do not fit together.
std::optional<AttentionSizes> dense(const Shape& q, const Shape& k, const Shape& v,
                                    std::size_t batch, std::size_t heads, std::size_t length);

/// The sizes, or the reason that they do not fit together.
SizesOrWhy fitting(std::optional<AttentionSizes> sizes);

Shape swapped(Shape shape, std::size_t a, std::size_t b);

/// TransformerEngine's autograd functions: the first three consecutive tensors with heads are q, k
/// and v, and a word argument gives the order of their sizes. `first` becomes q's position.
SizesOrWhy named_sizes(const RecordedArgs& args, int& first);
/// Reads its mask word, and its bias after v.
void read_mask_word(const RecordedArgs& args, int q, AttentionSizes& sizes);

/// TransformerEngine's operators: the order is a number (NVTE_QKV_Layout of fused_attn.h).
SizesOrWhy numbered_sizes(const OpRule& rule, const RecordedArgs& args, const Shape& q,
                          const Shape& k, const Shape& v);
/// Reads its mask number (NVTE_Mask_Type).
void read_mask_number(const RecordedArgs& args, int place, AttentionSizes& sizes);
/// Reads the arguments beside the order's number: bias and softmax kind; and q's dtype, which is
/// recorded as a byte type for fp8.
void read_numbers(const OpRule& rule, const RecordedArgs& args, AttentionSizes& sizes);

/// Latent attention over chosen keys: q is N,H,D (k too) or B,N,H,D (k in pages); each key is one
/// vector whose first part is the value, and each query sees the keys of its list.
SizesOrWhy chosen_sizes(const OpRule& rule, const RecordedArgs& args);

}  // namespace wb::trace
