// Two populations in one order, in many resamples of the images at once.
//
// Members are known or unknown and pass by level after level, least unknown first; members of one
// level cannot be told apart. What is asked of a threshold, or of all thresholds, is a sum over the
// levels, for every resample in a lane of its own (see resample.hpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "parallel.hpp"
#include "resample.hpp"
#include "wide.hpp"

namespace openset {

enum class Ranked : int32_t {
  kPairs,      // twice the pairs whose unknown member ranks above the known one; a tie is one half
  kSteps,      // precision of the known at each of their levels, summed over them
  kTrapezoid,  // the same, as the mean of precision before and at the level
  kAccepted,   // unknown members up to the level where recall of the known reaches a share
  kNearest,    // the same where recall comes nearest to it, at the last such level
};

struct RankedInput {
  const int32_t* image;        // of each member, level after level
  const int64_t* level_start;  // [n_levels + 1]
  const int64_t* unknown_start;  // where a level's unknown members start, behind its known ones
  const double* n_known;       // [n_resamples]
  WeightTable weights;
  double share;
  int64_t n_levels;
  int32_t asked, threads;
};

namespace resampling {

template <int kLanes>
class RankedWalk {
  using Counts = CountsOf<kLanes>;
  using Reals = RealsOf<kLanes>;

 public:
  RankedWalk(const RankedInput& in, double* out) : in_(in), out_(out), lanes_(in.weights) {}

  void run(int32_t, int32_t first_resample) {
    lanes_.load(first_resample);
    switch (static_cast<Ranked>(in_.asked)) {
      case Ranked::kPairs: return pairs();
      case Ranked::kSteps: return area<false>();
      case Ranked::kTrapezoid: return area<true>();
      case Ranked::kAccepted: return accepted();
      case Ranked::kNearest: return nearest();
    }
  }

 private:
  // Counters are local to each walk: weights are bytes, which might be anything else otherwise, and
  // would be stored and loaded again at every step.
  OPENSET_WIDE void pairs() {
    Counts known = {0};
    uint64_t sum[kLanes] = {0};
    const auto pair = [&](int64_t begin, int64_t end, uint32_t times) {
      for (; begin < end; ++begin) {
        const uint8_t* const weights = lanes_.row(in_.image[begin]);
        for (int b = 0; b < kLanes; ++b) sum[b] += uint64_t{times * weights[b]} * static_cast<uint32_t>(known[b]);
      }
    };
    for (int64_t l = 0; l < in_.n_levels; ++l) {
      const int64_t mid = in_.unknown_start[l], end = in_.level_start[l + 1];
      if (in_.level_start[l] == mid) {
        pair(mid, end, 2);
      } else {
        pair(mid, end, 1);
        count(known, in_.level_start[l], mid);
        pair(mid, end, 1);
      }
    }
    store(sum);
  }

  template <bool kTrapezoid>
  OPENSET_WIDE void area() {
    // Before a resample's first member there is no precision: a trapezoid starts at 1.
    const auto precision = [](int32_t known, int32_t unknown) {
      const int32_t all = known + unknown, none = all == 0;
      return static_cast<double>(kTrapezoid ? known + none : known) / (all + none);
    };
    Counts known = {0}, unknown = {0};
    Reals sum = {0}, before = {0};
    for (int64_t l = 0; l < in_.n_levels; ++l) {
      const int64_t begin = in_.level_start[l], mid = in_.unknown_start[l];
      if (begin == mid) {
        count(unknown, mid, in_.level_start[l + 1]);
        continue;
      }
      Counts own = {0};
      if (kTrapezoid)
        for (int b = 0; b < kLanes; ++b) before[b] = precision(known[b], unknown[b]);
      count(own, begin, mid);
      count(unknown, mid, in_.level_start[l + 1]);
      for (int b = 0; b < kLanes; ++b) {
        known[b] += own[b];
        const double here = precision(known[b], unknown[b]);
        sum[b] += kTrapezoid ? own[b] * (here + before[b]) / 2 : own[b] * here;
      }
    }
    store(sum);
  }

  OPENSET_WIDE void accepted() {
    Counts known = {0}, sum = {0}, needed;
    for (int b = 0; b < kLanes; ++b)  // known members that are fewer are below the share
      needed[b] = static_cast<int32_t>(std::ceil(in_.share * n_known(b) - 1e-9));
    for (int64_t l = 0; l < in_.n_levels; ++l) {
      for (int64_t at = in_.unknown_start[l]; at < in_.level_start[l + 1]; ++at) {
        const uint8_t* const weights = lanes_.row(in_.image[at]);
        for (int b = 0; b < kLanes; ++b) sum[b] += known[b] < needed[b] ? weights[b] : 0;
      }
      count(known, in_.level_start[l], in_.unknown_start[l]);
    }
    store(sum);
  }

  // The curve ends where recall is complete: a later level is as near, and is left out.
  OPENSET_WIDE void nearest() {
    Counts known = {0}, unknown = {0}, before, sum = {0};
    Reals total, least;
    for (int b = 0; b < kLanes; ++b) {
      total[b] = n_known(b);
      least[b] = std::numeric_limits<double>::infinity();
    }
    for (int64_t l = 0; l < in_.n_levels; ++l) {
      std::copy_n(known, kLanes, before);
      count(known, in_.level_start[l], in_.unknown_start[l]);
      count(unknown, in_.unknown_start[l], in_.level_start[l + 1]);
      for (int b = 0; b < kLanes; ++b) {
        const double off = std::fabs(known[b] / total[b] - in_.share);
        const bool here = (l == 0 || before[b] < total[b]) && off <= least[b];
        least[b] = here ? off : least[b];
        sum[b] = here ? unknown[b] : sum[b];
      }
    }
    store(sum);
  }

  void count(Counts& counts, int64_t begin, int64_t end) const {
    for (; begin < end; ++begin) add<kLanes>(counts, lanes_.row(in_.image[begin]));
  }

  double n_known(int b) const { return b < lanes_.width() ? in_.n_known[lanes_.first() + b] : 0; }

  template <class Value>
  void store(const Value (&values)[kLanes]) const {
    std::copy_n(values, lanes_.width(), out_ + lanes_.first());
  }

  const RankedInput& in_;
  double* const out_;
  PackedWeights<kLanes> lanes_;
};

}  // namespace resampling

// Fills out[n_resamples].
inline void ranked(const RankedInput& in, double* out) {
  resampling::walk_all<resampling::RankedWalk>(1, in.weights.n_resamples, in.threads, in, out);
}

}  // namespace openset
