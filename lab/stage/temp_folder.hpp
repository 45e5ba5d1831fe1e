// A folder of one's own under $TMPDIR (else /tmp), removed with its owner.
#pragma once

#include <support/temp_dir.hpp>

#include "terminal/exit_code.hpp"

namespace herdlock::lab {

/// Throws command_error (unavailable) when no folder can be made.
class temp_folder : public herdlock_test::temp_dir {
 public:
  temp_folder() try {
  } catch (std::exception const& e) {
    throw cli::command_error(cli::exit_code::unavailable, e.what() + std::string("; set TMPDIR"));
  }
};

}  // namespace herdlock::lab
