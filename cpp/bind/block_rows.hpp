// Rows of features as Python hands them over, for the linear solvers.
#pragma once

#include <memory>

#include "bind/bind.hpp"
#include "linear/linear_rows.hpp"

namespace psvm {

// A block of rows with the Python arrays it refers to.
struct BlockRows {
  BlockRows(const FeatureRows& features, nb::object keep_alive)
      : features(features), rows(linear_rows(features)), keep_alive(std::move(keep_alive)) {}

  FeatureRows features;
  std::unique_ptr<LinearRows> rows;
  nb::object keep_alive;
};

}  // namespace psvm
