// The C interface of the kernels. Structures mirror those of openset/kernels/_structures.py;
// raise kAbi in both places when one of them changes.
#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include "accumulate.hpp"
#include "match.hpp"
#include "order.hpp"

#define OPENSET_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int32_t kAbi = 1;

thread_local std::string last_error;

// Runs a kernel; no exception may cross the C interface. Returns 0, or 1 with last_error set.
template <class Kernel>
int32_t guarded(const Kernel& kernel) {
  try {
    kernel();
    return 0;
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";
  } catch (const std::exception& error) {
    last_error = error.what();
  } catch (...) {
    last_error = "unknown failure";
  }
  return 1;
}

}  // namespace

OPENSET_EXPORT int32_t openset_abi() { return kAbi; }

OPENSET_EXPORT const char* openset_error() { return last_error.c_str(); }

OPENSET_EXPORT int32_t openset_class_order(const openset::OrderInput* in, int32_t* order,
                                           int64_t* class_start) {
  return guarded([&] { openset::class_order(*in, order, class_start); });
}

// Fills `out`, and stores a result whose candidates openset_match_take copies and frees.
OPENSET_EXPORT int32_t openset_match(const openset::MatchInput* in,
                                     const openset::MatchOutput* out,
                                     openset::MatchResult** result, int64_t* n_candidates) {
  return guarded([&] {
    *result = new openset::MatchResult(*in, *out);
    *n_candidates = (*result)->count();
  });
}

OPENSET_EXPORT int32_t openset_match_take(openset::MatchResult* result, int32_t* position,
                                          uint16_t* matched, uint16_t* ignored, int32_t* object) {
  const int32_t status = guarded([&] { result->take(position, matched, ignored, object); });
  delete result;
  return status;
}

OPENSET_EXPORT int32_t openset_accumulate(const openset::AccumulateInput* in,
                                          const openset::AccumulateOutput* out) {
  return guarded([&] { openset::accumulate(*in, *out); });
}
