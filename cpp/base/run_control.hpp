// Threads, cancellation and the clock of one solve.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <exception>
#include <functional>
#include <limits>
#include <thread>

#include "base/helper_threads.hpp"
#include "base/phases.hpp"

namespace psvm {

// Thrown on the calling thread when a run was cancelled; results of the run are discarded.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

// Thrown on the calling thread when the time of a run is up; what it has found before still counts.
struct Late : std::exception {
  const char* what() const noexcept override { return "out of time"; }
};

class RunControl {
 public:
  // `poll` is called on the calling thread at most every 50 ms and cancels the run when true.
  RunControl(int threads, std::function<bool()> poll, std::atomic<bool>* cancel)
      : threads_(threads < 1 ? 1 : threads), poll_(std::move(poll)), cancel_(cancel) {}

  // The control of a task that one thread of this run works on: stopped with it, on its own clock. Only
  // on the calling thread it polls.
  RunControl of_task() const {
    return RunControl(1, std::this_thread::get_id() == caller_ ? poll_ : nullptr, cancel_);
  }

  int threads() const { return threads_; }
  bool cancelled() const { return cancel_->load(std::memory_order_relaxed); }
  double seconds() const { return seconds_until(Clock::now()); }
  // Seconds of the run, less those in which a busy machine kept the process waiting.
  double effort() const { return std::min(seconds(), worked() - worked_before_); }

  // What the calling thread spends its time on.
  PhaseClock& phases() { return phases_; }

  // From now on `check` throws Late after so many seconds, or so much effort, of the run.
  void stop_after(double seconds, double effort) {
    last_second_ = seconds;
    most_effort_ = effort;
  }

  // To be called often from the calling thread; throws when the run is cancelled, or late.
  void check() {
    const auto now = Clock::now();
    bool tired = false;
    if (now - last_poll_ > std::chrono::milliseconds(50)) {
      last_poll_ = now;
      if (poll_ && poll_()) cancel_->store(true);
      tired = most_effort_ < unlimited && effort() >= most_effort_;
    }
    if (cancelled()) throw Cancelled();
    if (tired || seconds_until(now) >= last_second_) throw Late();
  }

  // Calls body(task) for every task in [0, tasks), in any order, on all threads. Threads last as long
  // as the run, so that nothing survives that a fork could break. Not to be called from a body.
  template <class Body>
  void parallel_for(std::ptrdiff_t tasks, const Body& body) {
    std::atomic<std::ptrdiff_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    const auto work = [&] {
      const bool polls = std::this_thread::get_id() == caller_;
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
  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  double seconds_until(Clock::time_point now) const {
    return std::chrono::duration<double>(now - start_).count();
  }
  static double worked() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

  int threads_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::function<bool()> poll_;
  std::atomic<bool>* cancel_;
  HelperThreads helpers_;
  PhaseClock phases_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_poll_ = start_;
  double worked_before_ = worked();
  double last_second_ = unlimited, most_effort_ = unlimited;
};

}  // namespace psvm
