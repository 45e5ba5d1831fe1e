// A server that is named, by a resolver of our own: this program's getaddrinfo.
#include <dlfcn.h>
#include <netdb.h>

#include <string_view>

#include "mysql_ports.hpp"

namespace {

constexpr std::string_view server_name = "database.example";

using resolver = int (*)(char const*, char const*, addrinfo const*, addrinfo**);

int ask_the_system(char const* host, char const* service, addrinfo const* hints, addrinfo** found) {
  static auto const real = reinterpret_cast<resolver>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(host, service, hints, found);
}

}  // namespace

// The name has two addresses, at the second of which the server is. The client library, which asks
// for a service as well, gets no answer; it would wait for one without a deadline.
extern "C" int getaddrinfo(char const* host, char const* service, addrinfo const* hints,
                           addrinfo** found) {
  if (!host || server_name != host) return ask_the_system(host, service, hints, found);
  if (service) return EAI_AGAIN;
  int const failed = ask_the_system("127.0.0.2", service, hints, found);
  return failed != 0 ? failed : ask_the_system("127.0.0.1", service, hints, &(*found)->ai_next);
}

namespace herdlock_test {
namespace {

std::string by_name(std::string url) {
  std::string const address = "127.0.0.1";
  return url.replace(url.find(address), address.size(), server_name);
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
