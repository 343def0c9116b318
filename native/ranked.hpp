// Two populations in one order, in many resamples of the images at once.
//
// Members are known or unknown and pass by level after level, least unknown first; members of one
// level cannot be told apart. What is asked of a threshold, or of all thresholds, is a sum over the
// levels, for every resample in a lane of its own (see resample.hpp). One walk answers everything.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "parallel.hpp"
#include "resample.hpp"
#include "wide.hpp"

namespace openset {

struct RankedInput {
  const int32_t* image;        // of each member, level after level
  const int64_t* level_start;  // [n_levels + 1]
  const int64_t* unknown_start;  // where a level's unknown members start, behind its known ones
  const double* n_known;       // [n_resamples]
  WeightTable weights;
  double share;
  int64_t n_levels;
  int32_t threads;
};

// Each [n_resamples], or null if it is not asked for.
struct RankedOutput {
  double* pairs;      // twice those whose unknown member ranks above the known one; a tie is half one
  double* steps;      // precision of the known at each of their levels, summed over them
  double* trapezoid;  // the same, as the mean of precision before and at the level
  double* accepted;   // unknown members up to the level where recall of the known reaches a share
  double* nearest;    // the same where recall comes nearest to it, at the last such level
};

namespace resampling {

template <int kLanes>
class RankedWalk {
  using Counts = CountsOf<kLanes>;
  using Reals = RealsOf<kLanes>;

 public:
  static constexpr int kResamples = kLanes;

  RankedWalk(const RankedInput& in, const RankedOutput& out)
      : in_(in), out_(out), lanes_(in.weights) {}

  OPENSET_WIDE void run(int32_t, int32_t first_resample) {
    lanes_.load(first_resample);
    start();
    for (int64_t l = 0; l < in_.n_levels; ++l) {
      const int64_t begin = in_.level_start[l], mid = in_.unknown_start[l],
                    end = in_.level_start[l + 1];
      Counts own = {0}, other = {0};
      lanes_.count(own, in_.image, begin, mid, all);
      lanes_.count(other, in_.image, mid, end, all);
      if (mid < end) meet_unknown(own, other);
      if (begin < mid && out_.trapezoid) keep_precision();
      for (int b = 0; b < kLanes; ++b) known_[b] += own[b], unknown_[b] += other[b];
      if (begin < mid) meet_known(own);
      if (out_.nearest) come_nearer(own, l == 0);
    }
    store(pairs_, out_.pairs);
    store(steps_, out_.steps);
    store(trapezoid_, out_.trapezoid);
    store(accepted_, out_.accepted);
    store(nearest_, out_.nearest);
  }

 private:
  static bool all(int64_t) { return true; }

  void start() {
    std::memset(known_, 0, sizeof known_);
    std::memset(unknown_, 0, sizeof unknown_);
    std::memset(pairs_, 0, sizeof pairs_);
    std::memset(steps_, 0, sizeof steps_);
    std::memset(trapezoid_, 0, sizeof trapezoid_);
    std::memset(accepted_, 0, sizeof accepted_);
    std::memset(nearest_, 0, sizeof nearest_);
    for (int b = 0; b < kLanes; ++b) {
      total_[b] = b < lanes_.width() ? in_.n_known[lanes_.first() + b] : 0;
      // Known members that are fewer are below the share.
      needed_[b] = static_cast<int32_t>(std::ceil(in_.share * total_[b] - 1e-9));
      least_[b] = std::numeric_limits<double>::infinity();
    }
  }

  // A level with unknown members, before it is counted.
  void meet_unknown(const Counts& own, const Counts& other) {
    if (out_.pairs)
      for (int b = 0; b < kLanes; ++b)
        pairs_[b] += uint64_t{static_cast<uint32_t>(other[b])} *
                     static_cast<uint32_t>(2 * known_[b] + own[b]);
    if (out_.accepted)
      for (int b = 0; b < kLanes; ++b) accepted_[b] += known_[b] < needed_[b] ? other[b] : 0;
  }

  // Before a resample's first member there is no precision: a trapezoid starts at 1.
  void keep_precision() {
    for (int b = 0; b < kLanes; ++b) before_[b] = precision<true>(b);
  }

  // A level with known members, after it is counted.
  void meet_known(const Counts& own) {
    if (out_.steps)
      for (int b = 0; b < kLanes; ++b) steps_[b] += own[b] * precision<false>(b);
    if (out_.trapezoid)
      for (int b = 0; b < kLanes; ++b)
        trapezoid_[b] += own[b] * (precision<true>(b) + before_[b]) / 2;
  }

  template <bool kOneOfNone>
  double precision(int b) const {
    const int32_t found = known_[b] + unknown_[b], none = found == 0;
    return static_cast<double>(kOneOfNone ? known_[b] + none : known_[b]) / (found + none);
  }

  // The curve ends where recall is complete: a later level is as near, and is left out.
  void come_nearer(const Counts& own, bool is_first) {
    for (int b = 0; b < kLanes; ++b) {
      const double off = std::fabs(known_[b] / total_[b] - in_.share);
      const bool here = (is_first || known_[b] - own[b] < total_[b]) && off <= least_[b];
      least_[b] = here ? off : least_[b];
      nearest_[b] = here ? unknown_[b] : nearest_[b];
    }
  }

  template <class Value>
  void store(const Value (&values)[kLanes], double* out) const {
    if (out) std::copy_n(values, lanes_.width(), out + lanes_.first());
  }

  const RankedInput& in_;
  const RankedOutput& out_;
  PackedWeights<kLanes> lanes_;
  Counts known_, unknown_, needed_, accepted_, nearest_;
  uint64_t pairs_[kLanes];
  Reals steps_, trapezoid_, before_, total_, least_;
};

}  // namespace resampling

inline void ranked(const RankedInput& in, const RankedOutput& out) {
  resampling::walk_all<resampling::RankedWalk>(1, in.weights.n_resamples, in.threads, in, out);
}

}  // namespace openset
