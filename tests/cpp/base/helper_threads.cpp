#include "base/helper_threads.hpp"

#include <mutex>
#include <set>

#include "check.hpp"

namespace psvm {
namespace {

TEST(helper_threads, work_runs_once_here_and_once_on_every_helper_that_comes_in_time) {
  HelperThreads helpers;
  for (std::size_t count : {0, 1, 3, 2, 0, 5}) {
    std::mutex mutex;
    std::multiset<std::thread::id> ran;
    const auto all_came = [&] {
      const std::lock_guard lock(mutex);
      return ran.size() > count;
    };
    helpers.call(count, [&] {
      {
        const std::lock_guard lock(mutex);
        ran.insert(std::this_thread::get_id());
      }
      while (!all_came()) std::this_thread::yield();
    });
    CHECK_EQUAL(ran.size(), count + 1);
    CHECK_EQUAL(ran.count(std::this_thread::get_id()), 1u);
    for (const auto& thread : ran) CHECK_EQUAL(ran.count(thread), 1u);
  }
}

TEST(helper_threads, a_call_ends_after_its_slowest_helper) {
  HelperThreads helpers;
  for (int turn = 0; turn < 20; ++turn) {
    const auto caller = std::this_thread::get_id();
    std::atomic<int> came{0}, done{0};
    // Longer than helpers stay awake for, every other time: both ways to wait are taken.
    const auto pause = std::chrono::microseconds(turn % 2 ? 1000 : 10);
    helpers.call(2, [&] {
      ++came;
      if (std::this_thread::get_id() != caller)
        std::this_thread::sleep_for(pause);
      else
        while (came < 3) std::this_thread::yield();
      ++done;
    });
    CHECK_EQUAL(done.load(), 3);
    std::this_thread::sleep_for(pause);
  }
}

TEST(helper_threads, nobody_waits_for_a_helper_that_has_not_come) {
  HelperThreads helpers;
  std::atomic<int> ran{0}, too_late{0};
  // Most of these calls are over before a helper has heard of them; whoever comes late finds the door
  // closed, or the next call.
  for (int turn = 0; turn < 20000; ++turn) {
    std::atomic<bool> over{false};
    helpers.call(2, [&] {
      too_late += over;
      ++ran;
    });
    over = true;
  }
  CHECK_EQUAL(too_late.load(), 0);
  CHECK(ran >= 20000);
  CHECK(ran <= 60000);
}

TEST(helper_threads, helpers_are_used_again) {
  HelperThreads helpers;
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int turn = 0; turn < 50; ++turn) {
    std::atomic<int> came{0};
    helpers.call(3, [&] {
      {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      }
      ++came;
      while (came < 4) std::this_thread::yield();
    });
  }
  CHECK_EQUAL(seen.size(), 4u);
}

}  // namespace
}  // namespace psvm
