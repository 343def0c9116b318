// Class order: detections by (class, -score, tie key, input index).
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "parallel.hpp"

namespace openset {

struct OrderInput {
  const int32_t* klass;
  const double* score;
  const int32_t* tie;  // null: ties stay in input order
  int64_t n_detections;
  int32_t n_classes;
  int32_t threads;
};

namespace order {

struct Entry {
  uint64_t key;  // ascending key = descending score
  int32_t index;
};

// Maps a finite double to an integer such that larger scores get smaller keys.
inline uint64_t descending_key(double score) {
  score += 0.0;  // -0.0 and 0.0 are the same score
  uint64_t bits;
  std::memcpy(&bits, &score, sizeof bits);
  const uint64_t sign = uint64_t{1} << 63;
  return bits & sign ? bits : ~(bits | sign);
}

constexpr int kDigitBits = 11, kPasses = 3, kBuckets = 1 << kDigitBits;
constexpr int kLowBits = 64 - kPasses * kDigitBits;  // left to the final comparison

// One stable counting pass on a digit. Returns false, moving nothing, if all entries share it.
inline bool radix_pass(const Entry* from, Entry* to, int64_t n, int shift) {
  int64_t start[kBuckets + 1] = {0};
  const auto digit = [shift](const Entry& e) { return e.key >> shift & (kBuckets - 1); };
  for (int64_t i = 0; i < n; ++i) ++start[digit(from[i]) + 1];
  if (start[digit(from[0]) + 1] == n) return false;
  for (int b = 0; b < kBuckets; ++b) start[b + 1] += start[b];
  for (int64_t i = 0; i < n; ++i) to[start[digit(from[i])]++] = from[i];
  return true;
}

class ClassSorter {
  using Entries = std::vector<Entry>;

 public:
  explicit ClassSorter(const OrderInput& in) : in_(in) {}

  // Sorts the input indices of one class, given in ascending order, in place.
  void sort(int32_t* indices, int64_t n) {
    entries_.resize(n);
    for (int64_t i = 0; i < n; ++i)
      entries_[i] = {descending_key(in_.score[indices[i]]), indices[i]};
    if (n >= kRadixFrom) radix_sort();
    finish_runs(n >= kRadixFrom ? kLowBits : 64);
    for (int64_t i = 0; i < n; ++i) indices[i] = entries_[i].index;
  }

 private:
  static constexpr int64_t kRadixFrom = 256;  // below, comparing is faster than counting

  void radix_sort() {
    spare_.resize(entries_.size());
    const auto n = static_cast<int64_t>(entries_.size());
    for (int shift = kLowBits; shift < 64; shift += kDigitBits)
      if (radix_pass(entries_.data(), spare_.data(), n, shift)) entries_.swap(spare_);
  }

  bool before(const Entry& a, const Entry& b) const {
    if (a.key != b.key) return a.key < b.key;
    return in_.tie && in_.tie[a.index] < in_.tie[b.index];
  }

  // Entries are sorted but for their lowest bits: sorts each run that agrees in the higher ones.
  void finish_runs(int low_bits) {
    const auto prefix = [low_bits](const Entry& e) { return low_bits < 64 ? e.key >> low_bits : 0; };
    for (auto first = entries_.begin(); first != entries_.end();) {
      auto last = first + 1;
      bool sorted = true, equal = true;
      for (; last != entries_.end() && prefix(*last) == prefix(*first); ++last) {
        sorted &= !before(*last, last[-1]);
        equal &= last->key == first->key;
      }
      if (!sorted) finish_run(first, last, equal && last - first >= kRadixFrom);
      first = last;
    }
  }

  void finish_run(Entries::iterator first, Entries::iterator last, bool is_long_tie) {
    if (is_long_tie) return sort_ties(&*first, last - first);
    std::stable_sort(first, last, [this](const Entry& a, const Entry& b) { return before(a, b); });
  }

  // Many equal scores, as rounding makes them. Nobody reads their key again: the tie's replaces it.
  void sort_ties(Entry* first, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      first[i].key = static_cast<uint32_t>(in_.tie[first[i].index]) ^ uint32_t{1} << 31;
    Entry *from = first, *to = spare_.data();
    for (int shift = 0; shift < 32; shift += kDigitBits)
      if (radix_pass(from, to, n, shift)) std::swap(from, to);
    if (from != first) std::copy(from, from + n, first);
  }

  const OrderInput& in_;
  Entries entries_, spare_;
};

}  // namespace order

// Fills order[n_detections] and class_start[n_classes + 1].
inline void class_order(const OrderInput& in, int32_t* out, int64_t* class_start) {
  std::fill(class_start, class_start + in.n_classes + 1, 0);
  for (int64_t i = 0; i < in.n_detections; ++i) ++class_start[in.klass[i] + 1];
  for (int32_t k = 0; k < in.n_classes; ++k) class_start[k + 1] += class_start[k];
  std::vector<int64_t> next(class_start, class_start + in.n_classes);
  for (int64_t i = 0; i < in.n_detections; ++i)
    out[next[in.klass[i]]++] = static_cast<int32_t>(i);
  // Large classes first, so that no thread is left alone with one at the end.
  std::vector<int32_t> queue(in.n_classes);
  std::iota(queue.begin(), queue.end(), 0);
  const auto size = [&](int32_t k) { return class_start[k + 1] - class_start[k]; };
  std::stable_sort(queue.begin(), queue.end(),
                   [&](int32_t a, int32_t b) { return size(a) > size(b); });
  parallel(in.threads, in.n_classes, [&](TaskQueue& tasks) {
    order::ClassSorter sorter(in);
    for (int64_t t; tasks.take(t);) sorter.sort(out + class_start[queue[t]], size(queue[t]));
  });
}

}  // namespace openset
