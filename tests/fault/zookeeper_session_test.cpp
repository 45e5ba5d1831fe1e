// A holder whose session is ended at the server by another client.
#include <zookeeper/zookeeper.h>

#include <cstring>
#include <regex>
#include <support/relay.hpp>
#include <support/zookeeper_server.hpp>

#include "../contract/fixture.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

namespace herdlock_test {
namespace {

// The server's way to make a session's password: java.util.Random of its id and a constant.
clientid_t whole_id(std::uint64_t session) {
  std::uint64_t const mask = (std::uint64_t{1} << 48) - 1;
  std::uint64_t seed = ((session ^ 0xB3415C00u) ^ 0x5DEECE66Du) & mask;
  clientid_t id{};
  std::memcpy(&id.client_id, &session, sizeof session);
  for (std::size_t i = 0; i < sizeof id.passwd; i += 4) {
    seed = (seed * 0x5DEECE66Du + 0xB) & mask;
    auto const next = static_cast<std::uint32_t>(seed >> 16);
    for (std::size_t byte = 0; byte < 4; ++byte) {
      id.passwd[i + byte] = static_cast<char>(next >> (8 * byte) & 0xff);
    }
  }
  return id;
}

// Whoever knows a session may go on with it, and end it.
void end_session(zookeeper_server& server, std::uint64_t session) {
  auto const id = whole_id(session);
  auto const where = "127.0.0.1:" + std::to_string(server.port());
  auto const ignore = [](zhandle_t*, int, int, char const*, void*) {};
  zhandle_t* const other = zookeeper_init(where.c_str(), ignore, 10'000, &id, nullptr, 0);
  ASSERT_NE(other, nullptr);
  EXPECT_TRUE(eventually([&] { return zoo_state(other) == ZOO_CONNECTED_STATE; }));
  EXPECT_EQ(static_cast<std::uint64_t>(zoo_client_id(other)->client_id), session);
  EXPECT_EQ(zookeeper_close(other), ZOK);
}

std::vector<std::uint64_t> sessions_of(zookeeper_server& server) {
  std::vector<std::uint64_t> all;
  auto const told = server.member(0).word("cons");
  static std::regex const id("sid=0x([0-9a-f]+)");
  for (std::sregex_iterator at(told.begin(), told.end(), id), end; at != end; ++at) {
    all.push_back(std::stoull((*at)[1].str(), nullptr, 16));
  }
  return all;
}

// B1: no renewal is due for long, and the port has none by itself.
TEST(zookeeper_session, AHolderWhoseSessionIsEndedByAnotherIsToldAtOnceAndAWaiterIsNot) {
  zookeeper_server server;
  store_case const zookeeper{"zookeeper", {}, &open_zookeeper};
  resource const stock("stock/1");
  auto const alice = owner_token::generate();
  relay between(server.port());
  client c(zookeeper, "zk://127.0.0.1:" + std::to_string(between.port()) + server.fresh_chroot() +
                          "?session_timeout=60s");
  std::vector<lease_end> told;
  c.store().leases->on_lease_end([&](lease_end const& what) { told.push_back(what); });
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const waiting = c.start_acquire({stock, owner_token::generate(), 1min, 1min});
  auto const all = sessions_of(server);
  ASSERT_EQ(all.size(), 1u);
  between.refuse();  // else it would take its session back
  end_session(server, all.front());
  between.accept();
  ASSERT_TRUE(c.run_until([&] { return !told.empty(); }));
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(told.front().name, stock);
  EXPECT_EQ(told.front().owner, alice);
  EXPECT_TRUE(is<grant>(c.get(waiting))) << "who waits goes on in the next session";
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
}

// The session goes on at such a server; what it has made must not stay for as long as it lives.
TEST(zookeeper_session, ALeaseIsGivenBackAtAServerThatGrantsShorterSessionsNow) {
  zookeeper_server server;
  store_case const zookeeper{"zookeeper", {}, &open_zookeeper};
  resource const stock("stock/1");
  auto const alice = owner_token::generate();
  auto const url = server.url(server.fresh_chroot());
  client a(zookeeper, url + "?timeout=20s&session_timeout=30s");
  ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
  server.member(0).kill();
  server.member(0).configure("maxSessionTimeout=10000");
  server.restart();
  ASSERT_TRUE(eventually([&] {
    auto const asked = a.renew(stock, alice);
    return asked.has_error() && asked.error() == errc::invalid_url;
  })) << "it says what is wrong";
  EXPECT_EQ(a.release(stock, alice).value(), release_reply::released);
  client b(zookeeper, url + "?timeout=20s&session_timeout=5s");
  EXPECT_TRUE(is<grant>(b.acquire(stock, owner_token::generate())));
}

}  // namespace
}  // namespace herdlock_test
