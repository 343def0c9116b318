// Threads that share a queue of numbered tasks.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace openset {

// Hands out 0 .. count-1, each once, to whichever thread asks next.
class TaskQueue {
 public:
  explicit TaskQueue(int64_t count) : count_(count) {}
  bool take(int64_t& task) { return (task = next_.fetch_add(1)) < count_; }
  void stop() { next_.store(count_); }

 private:
  std::atomic<int64_t> next_{0};
  const int64_t count_;
};

// Runs work(queue) on up to `threads` threads, this one included. An exception on any thread stops
// the queue and is thrown again here: one that left a thread would end the process.
template <class Work>
void parallel(int threads, int64_t tasks, const Work& work) {
  TaskQueue queue(tasks);
  std::mutex lock;
  std::exception_ptr failure;
  const auto guarded = [&] {
    try {
      work(queue);
    } catch (...) {
      queue.stop();
      std::lock_guard<std::mutex> hold(lock);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  const int64_t wanted = std::min<int64_t>(threads, tasks) - 1;
  try {
    for (int64_t t = 0; t < wanted; ++t) helpers.emplace_back(guarded);
  } catch (const std::exception&) {
    // The system refused a thread: the ones that started do all the work.
  }
  guarded();
  for (auto& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace openset
