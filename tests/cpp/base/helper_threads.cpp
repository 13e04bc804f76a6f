#include "base/helper_threads.hpp"

#include <mutex>
#include <set>

#include "check.hpp"

namespace psvm {
namespace {

TEST(helper_threads, work_runs_once_here_and_once_on_every_helper) {
  HelperThreads helpers;
  for (std::size_t count : {0, 1, 3, 2, 0, 5}) {
    std::mutex mutex;
    std::multiset<std::thread::id> ran;
    helpers.call(count, [&] {
      const std::lock_guard lock(mutex);
      ran.insert(std::this_thread::get_id());
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
    std::atomic<int> done{0};
    // Longer than helpers stay awake for, every other time: both ways to wait are taken.
    const auto pause = std::chrono::microseconds(turn % 2 ? 1000 : 10);
    helpers.call(2, [&] {
      if (std::this_thread::get_id() != caller) std::this_thread::sleep_for(pause);
      ++done;
    });
    CHECK_EQUAL(done.load(), 3);
    std::this_thread::sleep_for(pause);
  }
}

TEST(helper_threads, helpers_are_used_again) {
  HelperThreads helpers;
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int turn = 0; turn < 50; ++turn)
    helpers.call(3, [&] {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  CHECK_EQUAL(seen.size(), 4u);
}

}  // namespace
}  // namespace psvm
