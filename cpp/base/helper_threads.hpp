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

  // Calls work() here and on `count` helpers (fewer where the system gives no more threads), and
  // returns when all have returned. `work` must neither throw nor call this.
  void call(std::size_t count, const std::function<void()>& work) {
    while (helpers_.size() < count && start()) continue;
    count = std::min(count, helpers_.size());
    work_ = &work;
    busy_ = static_cast<int>(count);
    for (std::size_t k = 0; k < count; ++k) helpers_[k]->wake();
    work();
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
    for (int served = 0;; ++served) {
      stay_awake([&] { return self.calls == served; });
      self.calls.wait(served);
      if (ended_) return;
      (*work_)();
      if (--busy_ == 0) busy_.notify_one();
    }
  }

  void wait_for_helpers() {
    stay_awake([&] { return busy_ > 0; });
    for (int left = busy_; left > 0; left = busy_) busy_.wait(left);
  }

  // Spins for a while before falling asleep: rounds of small problems follow each other closely (300
  // to 1000 us against 50: fits of magic04, covtype and cod_rna took 9 % less).
  template <class Condition>
  static void stay_awake(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
    while (condition() && std::chrono::steady_clock::now() < until) pause();
  }

  // Tells the CPU that a loop waits for another thread.
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::vector<std::unique_ptr<Helper>> helpers_;
  const std::function<void()>* work_ = nullptr;
  std::atomic<int> busy_{0};
  std::atomic<bool> ended_{false};
};

}  // namespace psvm
