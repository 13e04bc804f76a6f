#include "loss/prox.hpp"

#include "check.hpp"

namespace psvm {
namespace {

constexpr std::size_t count = 64;  // whole registers on every CPU

struct Values {
  double alpha[count], weight[count], loss[count], conjugate[count];
};

template <Exponent kind>
struct ProxLoop {
  template <class Arch>
  static PSVM_INLINE void run(const double* shortfall, const double* centre, const double* cost,
                              const Envelope* envelope, Values* out) {
    using V = Vec<double, Arch>;
    for (std::size_t k = 0; k < count; k += width<V>) {
      const ProxValue<V> value = prox_of<kind, V>(load<V>(shortfall + k), load<V>(centre + k),
                                                  load<V>(cost + k), *envelope);
      store<V>(out->alpha + k, value.alpha);
      store<V>(out->weight + k, value.weight);
      store<V>(out->loss + k, value.loss);
      store<V>(out->conjugate + k, value.conjugate);
    }
  }
};

struct Rows {
  std::vector<double> margin, centre, cost;

  explicit Rows(unsigned seed)
      : margin(check::numbers(count, -2.0, 3.0, seed)),
        centre(check::numbers(count, 0.0, 1.0, seed + 1)),
        cost(check::numbers(count, 0.1, 3.0, seed + 2)) {
    margin[0] = 1.0;
    for (std::size_t k = 0; k < count; ++k) centre[k] = k % 3 ? std::min(centre[k], cost[k]) : 0.0;
  }

  Values values(const Envelope& envelope) const {
    Values found;
    std::vector<double> shortfall;  // of a goal of 1
    for (const double m : margin) shortfall.push_back(1.0 - m);
    const auto run = [&]<Exponent kind>(std::integral_constant<Exponent, kind>) {
      on_this_cpu<ProxLoop<kind>, const double*, const double*, const double*, const Envelope*,
                  Values*>(shortfall.data(), centre.data(), cost.data(), &envelope, &found);
    };
    switch (exponent_of(envelope.p)) {
      case Exponent::one: run(std::integral_constant<Exponent, Exponent::one>{}); break;
      case Exponent::one_and_a_half:
        run(std::integral_constant<Exponent, Exponent::one_and_a_half>{});
        break;
      case Exponent::below_two: run(std::integral_constant<Exponent, Exponent::below_two>{}); break;
      case Exponent::two: run(std::integral_constant<Exponent, Exponent::two>{}); break;
      case Exponent::three: run(std::integral_constant<Exponent, Exponent::three>{}); break;
      case Exponent::above_two: run(std::integral_constant<Exponent, Exponent::above_two>{}); break;
    }
    return found;
  }
};

// slack_of(alpha) and its slope, written with std::pow.
double slack_of(double alpha, double cost, double p) {
  return p > 1.0 ? std::pow(alpha / (p * cost), 1.0 / (p - 1.0)) : 0.0;
}

// The root in alpha of (1 - m) - slack_of(alpha) - (alpha - centre) / sigma, which falls.
double alpha_by_bisection(double margin, double centre, double cost, const Envelope& e) {
  const auto slope = [&](double alpha) {
    return 1.0 - margin - slack_of(alpha, cost, e.p) - (alpha - centre) / e.sigma;
  };
  double low = 0.0, high = e.p == 1.0 && !e.hard ? cost : 1e6;
  if (slope(low) <= 0.0) return 0.0;
  if (slope(high) >= 0.0) return high;
  for (int step = 0; step < 200; ++step) {
    const double middle = 0.5 * (low + high);
    (slope(middle) > 0.0 ? low : high) = middle;
  }
  return low;
}

void check_rows(const Envelope& envelope) {
  const double p = envelope.p;
  int positive = 0, zero = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Rows rows(3 * seed + 1);
    const Values found = rows.values(envelope);
    for (std::size_t k = 0; k < count; ++k) {
      const double m = rows.margin[k], cost = rows.cost[k];
      const double alpha = alpha_by_bisection(m, rows.centre[k], cost, envelope);
      CHECK_NEAR(found.alpha[k], alpha, 1e-9 * (1.0 + alpha));
      ++(alpha > 0.0 ? positive : zero);
      const double xi = std::max(0.0, 1.0 - m), slack = slack_of(alpha, cost, p);
      CHECK_NEAR(found.loss[k], cost * std::pow(xi, p), 1e-12 * (1.0 + found.loss[k]));
      CHECK_NEAR(found.conjugate[k], alpha * slack * (p - 1.0) / p, 1e-8 * (1.0 + alpha));
      if (alpha == 0.0) {
        CHECK_EQUAL(found.weight[k], 0.0);
      } else if (p > 1.0) {
        // From the derivative of the equation: d alpha (slack' + 1 / sigma) = -dm.
        const double weight = 1.0 / (slack / ((p - 1.0) * alpha) + 1.0 / envelope.sigma);
        CHECK_NEAR(found.weight[k], weight, 1e-7 * weight);
      }
    }
  }
  CHECK(positive > 100);
  CHECK(zero > 100);
}

TEST_PER_CPU(prox, below_two_around_a_centre) {
  for (double p : {1.01, 1.1, 1.25, 1.5, 1.75, 1.99})
    for (double sigma : {0.01, 1.0, 100.0}) check_rows({p, sigma, false});
}

TEST_PER_CPU(prox, from_two_on_without_a_centre) {
  for (double p : {2.0, 2.5, 3.0, 6.0}) check_rows({p, infinity, false});
}

TEST_PER_CPU(prox, at_one_clips_at_the_cost) {
  for (double sigma : {0.1, 1.0, 10.0}) check_rows({1.0, sigma, false});
  const Envelope envelope{1.0, 0.5, false};
  const Rows rows(1);
  const Values found = rows.values(envelope);
  int inside = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const double raw = rows.centre[k] + 0.5 * (1.0 - rows.margin[k]);
    const bool moves = raw > 0.0 && raw < rows.cost[k];
    CHECK_EQUAL(found.weight[k], moves ? 0.5 : 0.0);
    inside += moves;
  }
  CHECK(inside > 10);
}

TEST_PER_CPU(prox, hard_margin_has_no_bound_and_no_loss) {
  Rows rows(1);
  rows.cost.assign(count, infinity);
  const Values found = rows.values({1.0, 2.0, true});
  for (std::size_t k = 0; k < count; ++k) {
    CHECK_NEAR(found.alpha[k], std::max(0.0, rows.centre[k] + 2.0 * (1.0 - rows.margin[k])), 1e-14);
    CHECK_EQUAL(found.loss[k], 0.0);
    CHECK_EQUAL(found.conjugate[k], 0.0);
  }
}

TEST(prox, exponents_have_their_kind) {
  CHECK(exponent_of(1.0) == Exponent::one);
  CHECK(exponent_of(1.2) == Exponent::below_two);
  CHECK(exponent_of(1.5) == Exponent::one_and_a_half);
  CHECK(exponent_of(2.0) == Exponent::two);
  CHECK(exponent_of(2.5) == Exponent::above_two);
  CHECK(exponent_of(3.0) == Exponent::three);
}

}  // namespace
}  // namespace psvm
