// Threads that wait for work as long as one run lasts. Waking one takes some 70 us; starting one took
// 90 to 1000 us, as the scheduler may leave a new thread on the core of its maker for a while.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

namespace psvm {

class HelperThreads {
 public:
  HelperThreads() = default;
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;
  ~HelperThreads() {
    ended_ = true;
    for (auto& helper : helpers_) helper->wake();
    for (auto& helper : helpers_) helper->thread.join();
  }

  // Calls work() here and on up to `count` helpers (fewer where the system gives no more threads), those
  // that come before it has returned here, and returns when all of these have returned. `work` must
  // neither throw nor call this.
  //
  // A helper that comes late would find nothing left to do, and where another process has its core, it
  // comes when that has had its turn, some milliseconds later: nobody waits for it.
  void call(std::size_t count, const std::function<void()>& work) {
    while (helpers_.size() < count && start()) continue;
    count = std::min(count, helpers_.size());
    work_ = &work;
    inside_ = 0;
    for (std::size_t k = 0; k < count; ++k) helpers_[k]->wake();
    work();
    inside_ -= closed;
    wait_for_helpers();
  }

 private:
  struct Helper {
    std::atomic<int> calls{0};
    std::thread thread;

    void wake() {
      ++calls;
      calls.notify_one();
    }
  };

  bool start() {
    helpers_.reserve(helpers_.size() +
                     1);  // a thread that has no place to be kept cannot be joined
    auto helper = std::make_unique<Helper>();
    try {
      helper->thread = std::thread([this, self = helper.get()] { serve(*self); });
    } catch (const std::system_error&) {
      return false;
    }
    helpers_.push_back(std::move(helper));
    return true;
  }

  void serve(Helper& self) {
    for (int served = 0;;) {
      stay_awake([&] { return self.calls == served; });
      self.calls.wait(served);
      served = self.calls;  // of several calls that were missed all but the last are over
      if (ended_) return;
      if (!come_in()) continue;
      (*work_)();
      if (--inside_ == -closed) inside_.notify_one();
    }
  }

  // Whether a call is under way, and then this helper is inside.
  bool come_in() {
    int inside = inside_;
    while (inside >= 0)
      if (inside_.compare_exchange_weak(inside, inside + 1)) return true;
    return false;
  }

  void wait_for_helpers() {
    stay_awake([&] { return inside_ != -closed; });
    for (int left = inside_; left != -closed; left = inside_) inside_.wait(left);
  }

  // Waits for a while before falling asleep: rounds of small problems follow each other closely (300
  // to 1000 us against 50: fits of magic04, covtype and cod_rna took 9 % less). Who else wants the core
  // gets it.
  template <class Condition>
  static void stay_awake(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
    while (condition() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  }

  std::vector<std::unique_ptr<Helper>> helpers_;
  const std::function<void()>* work_ = nullptr;
  // Helpers that are at work; less `closed` from when no more may come.
  static constexpr int closed = 1 << 30;
  std::atomic<int> inside_{-closed};
  std::atomic<bool> ended_{false};
};

}  // namespace psvm
