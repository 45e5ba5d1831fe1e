// A server that is named: the name has two addresses, at the second of which the server is. The
// client library, which asks for a service as well, gets no answer; it would wait for one without
// a deadline. The resolver is look_up_test.cpp's.
#include "mysql_ports.hpp"

namespace herdlock_test {
namespace {

std::string by_name(std::string url) {
  std::string const address = "127.0.0.1";
  return url.replace(url.find(address), address.size(), "database.example");
}

TEST(mysql_look_up, TheAddressesThatWereFoundInTimeAreTriedAndNobodyAsksAgain) {
  store_case const kind{.name = "mysql", .url = {}, .open = &open_mysql};
  client c(kind, by_name(mysql_url("row")));
  auto const reply = c.acquire(resource("stock:1"), owner_token::generate());
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_TRUE(is<grant>(reply));
}

}  // namespace
}  // namespace herdlock_test
