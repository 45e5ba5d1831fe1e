// A test on a store with a server and on one without: "redis" and "sqlite".
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

namespace herdlock_test {

class each_store : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "redis") redis_server::shared().flush();
  }
  std::string url() const {
    return GetParam() == "redis" ? redis_server::shared().url()
                                 : "sqlite:" + (folder_ / "s.db").string();
  }

  temp_dir folder_;
};

}  // namespace herdlock_test
