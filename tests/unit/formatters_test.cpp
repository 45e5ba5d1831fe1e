#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <herdlock/formatters.hpp>

namespace {

using namespace herdlock;

TEST(Formatters, NamesTokensAndFailuresCanBeFormatted) {
  auto const secret = owner_token::parse("me:0123456789abcdef0123456789abcdef").value();
  EXPECT_EQ(fmt::format("{} {:>3} {} {}", resource("a\nb"), fencing_token{7}, secret,
                        make_failure(errc::lost, "why")),
            "a\\x0ab   7 me:*** why");
}

}  // namespace
