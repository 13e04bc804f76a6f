// All problems of a fit over rows in memory, from the first pass to the sums of the certificates, in
// one call: on small problems anything in between would cost more than the solve.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/budget.hpp"
#include "linear/newton.hpp"
#include "linear/pair_certificate.hpp"

namespace psvm {

struct ProblemsAtOnce {
  BlockProblem block;
  const std::int8_t* signs;  // of every class in every problem, problem by problem
  index_t problems, classes;
  double p;  // finite costs only
  bool fit_intercept;
  // Solve as exactly as rounding allows, and take the middle of the best intercepts.
  bool exact;
  PowerError power_error;
};

// Why a solver got its part, in its first record.
enum class Why { descent, newton, after_descent, known };

// A record, its iteration and seconds counted through all solvers of the problem and the call.
struct ToldRecord {
  RoundRecord record;
  bool newton;
  Why why;
};

// Is told of the records of a problem, and stops it by a true answer. May be empty.
using Tell = std::function<bool(index_t problem, const ToldRecord& record)>;

// Coordinate descent is first, if it is thought to be worth its passes; then Newton, unless the
// first has solved the problem.
struct SolvedProblem {
  std::vector<row_t> rows;  // that take part, ascending
  std::vector<double> alpha, w;
  double b = 0.0;
  PairCertificate proof{};
  std::string status;  // name of a member of psvm.solvers.ledger.Status
  index_t iterations = 0;
  std::vector<ToldRecord> history;
};

// Threads solve one problem each, if there are several. With a start, of a single problem, Newton alone
// goes on from there; its sigma is in units of the typical cost.
std::vector<SolvedProblem> solve_at_once(const FeatureRows& features, const LinearRows& rows,
                                         const ProblemsAtOnce& problems, const NewtonStart* start,
                                         const Budget& budget, const Tell& tell, RunControl& run);

}  // namespace psvm
