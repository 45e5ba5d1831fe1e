// What `herdlock hot` asks of a store, checked.
#pragma once

#include <herdlock/survey.hpp>
#include <string>

namespace herdlock::cli {

struct hot_question {
  std::string url;
  std::string shown;  ///< the URL without its password
  survey_request request;
};

}  // namespace herdlock::cli
