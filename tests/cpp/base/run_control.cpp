#include "base/run_control.hpp"

#include <stdexcept>
#include <vector>

#include "check.hpp"

namespace psvm {
namespace {

TEST(run_control, every_task_runs_exactly_once) {
  for (int threads : {-1, 0, 1, 2, 5}) {
    std::atomic<bool> cancel{false};
    RunControl run(threads, {}, &cancel);
    CHECK_EQUAL(run.threads(), threads < 1 ? 1 : threads);
    for (std::ptrdiff_t tasks : {0, 1, 3, 1000}) {
      std::vector<std::atomic<int>> times(static_cast<std::size_t>(tasks));
      run.parallel_for(tasks,
                       [&](std::ptrdiff_t task) { ++times[static_cast<std::size_t>(task)]; });
      for (const auto& count : times) CHECK_EQUAL(count.load(), 1);
    }
  }
}

TEST(run_control, what_a_task_throws_arrives_and_ends_the_rest) {
  for (int threads : {1, 3}) {
    std::atomic<bool> cancel{false};
    RunControl run(threads, {}, &cancel);
    std::atomic<int> ran{0};
    CHECK_THROWS(std::out_of_range, run.parallel_for(100000, [&](std::ptrdiff_t task) {
      if (task == 5) throw std::out_of_range("task 5");
      ++ran;
    }));
    CHECK(ran < 99999);
    CHECK(!run.cancelled());
    run.parallel_for(4, [&](std::ptrdiff_t) {});  // and the threads live on
  }
}

TEST(run_control, a_cancelled_run_throws) {
  std::atomic<bool> cancel{false};
  RunControl run(2, {}, &cancel);
  run.check();
  std::atomic<int> ran{0};
  CHECK_THROWS(Cancelled, run.parallel_for(100000, [&](std::ptrdiff_t task) {
    if (task == 3) cancel = true;
    ++ran;
  }));
  CHECK(ran < 100000);
  CHECK_THROWS(Cancelled, run.check());
  CHECK_THROWS(Cancelled, run.parallel_for(0, [](std::ptrdiff_t) {}));
}

TEST(run_control, a_late_run_throws_and_may_go_on) {
  std::atomic<bool> cancel{false};
  for (int threads : {1, 2}) {
    RunControl run(threads, {}, &cancel);
    const double forever = std::numeric_limits<double>::infinity();
    run.stop_after(forever, forever);
    run.check();
    run.stop_after(0.02, forever);
    CHECK_THROWS(Late, run.parallel_for(100000, [&](std::ptrdiff_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }));
    CHECK(run.seconds() >= 0.02);
    run.stop_after(forever, forever);
    run.parallel_for(4, [&](std::ptrdiff_t) {});
    // Sleep is no effort, a loop is.
    CHECK(run.effort() < run.seconds());
    run.stop_after(forever, run.effort() + 0.02);
    CHECK_THROWS(Late, for (;;) run.check());
  }
  CHECK(!cancel);
}

TEST(run_control, polls_here_now_and_then_and_cancels_when_told) {
  std::atomic<bool> cancel{false};
  int polls = 0;
  bool elsewhere = false;
  const auto caller = std::this_thread::get_id();
  RunControl run(
      2,
      [&] {
        elsewhere = elsewhere || std::this_thread::get_id() != caller;
        return ++polls == 2;
      },
      &cancel);
  CHECK_THROWS(Cancelled, run.parallel_for(100000, [&](std::ptrdiff_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }));
  CHECK_EQUAL(polls, 2);
  CHECK(!elsewhere);
  CHECK(cancel);
  CHECK(run.seconds() > 0.1);  // two polls, 50 ms apart
}

}  // namespace
}  // namespace psvm
