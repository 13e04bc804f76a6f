#include "loss/separable.hpp"

#include "check.hpp"

using namespace psvm;

TEST(separable, a_proof_bounds_the_margin_of_every_w) {
  // |w| >= total / |w(alpha)| = 4 / 1e-7, and the margin 1 / |w| is below 1e-6 of a radius of 1.
  CHECK(proves_inseparable(4.0, 1e-14, 1.0));
  CHECK(!proves_inseparable(4.0, 1e-10, 1.0));
  // Just on either side of a margin of a millionth.
  CHECK(proves_inseparable(1.0, 0.99e-12, 1.0));
  CHECK(!proves_inseparable(1.0, 1.01e-12, 1.0));
}

TEST(separable, the_units_of_the_data_do_not_matter) {
  // Data times s: alpha / s^2 gives w / s, and the squared radius grows by s^2.
  for (const double s : {1e-3, 1.0, 1e4})
    for (const double norm : {1e-14, 1e-10})
      CHECK_EQUAL(proves_inseparable(4.0 / (s * s), norm / (s * s), s * s),
                  proves_inseparable(4.0, norm, 1.0));
}

TEST(separable, nothing_is_proved_by_nothing) {
  CHECK(!proves_inseparable(0.0, 0.0, 1.0));
  CHECK(!proves_inseparable(-1.0, 0.0, 1.0));
  CHECK(proves_inseparable(1.0, 0.0, 1.0));
}
