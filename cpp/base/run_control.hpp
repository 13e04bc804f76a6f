// Threads, cancellation and the clock of one solve.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>

#include "base/helper_threads.hpp"

namespace psvm {

// Thrown on the calling thread when a run was cancelled; results of the run are discarded.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

class RunControl {
 public:
  // `poll` is called on the calling thread at most every 50 ms and cancels the run when true.
  RunControl(int threads, std::function<bool()> poll, std::atomic<bool>* cancel)
      : threads_(threads < 1 ? 1 : threads), poll_(std::move(poll)), cancel_(cancel) {}

  int threads() const { return threads_; }
  bool cancelled() const { return cancel_->load(std::memory_order_relaxed); }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // To be called often from the calling thread; throws when the run is cancelled.
  void check() {
    const auto now = Clock::now();
    if (poll_ && now - last_poll_ > std::chrono::milliseconds(50)) {
      last_poll_ = now;
      if (poll_()) cancel_->store(true);
    }
    if (cancelled()) throw Cancelled();
  }

  // Calls body(task) for every task in [0, tasks), in any order, on all threads. Threads last as long
  // as the run, so that nothing survives that a fork could break. Not to be called from a body.
  template <class Body>
  void parallel_for(std::ptrdiff_t tasks, const Body& body) {
    std::atomic<std::ptrdiff_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    const auto caller = std::this_thread::get_id();
    const auto work = [&] {
      const bool polls = std::this_thread::get_id() == caller;
      try {
        for (auto task = next++; task < tasks && !cancelled() && !failed; task = next++) {
          body(task);
          if (polls) check();
        }
      } catch (...) {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    };
    const auto helpers = std::min<std::ptrdiff_t>(threads_, tasks) - 1;
    if (helpers > 0)
      helpers_.call(static_cast<std::size_t>(helpers), work);
    else
      work();
    if (failure) std::rethrow_exception(failure);
    if (cancelled()) throw Cancelled();
  }

 private:
  using Clock = std::chrono::steady_clock;
  int threads_;
  std::function<bool()> poll_;
  std::atomic<bool>* cancel_;
  HelperThreads helpers_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_poll_ = start_;
};

}  // namespace psvm
