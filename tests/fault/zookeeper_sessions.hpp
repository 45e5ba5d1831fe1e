// Sessions of a ZooKeeper server, and their end by another client's hand.
#pragma once

#include <gtest/gtest.h>
#include <zookeeper/zookeeper.h>

#include <cstring>
#include <regex>
#include <support/eventually.hpp>
#include <support/zookeeper_server.hpp>

namespace herdlock_test {

// The server's way to make a session's password: java.util.Random of its id and a constant.
inline clientid_t whole_id(std::uint64_t session) {
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
inline void end_session(zookeeper_server& server, std::uint64_t session) {
  auto const id = whole_id(session);
  auto const where = "127.0.0.1:" + std::to_string(server.port());
  auto const ignore = [](zhandle_t*, int, int, char const*, void*) {};
  zhandle_t* const other = zookeeper_init(where.c_str(), ignore, 10'000, &id, nullptr, 0);
  ASSERT_NE(other, nullptr);
  EXPECT_TRUE(eventually([&] { return zoo_state(other) == ZOO_CONNECTED_STATE; }));
  EXPECT_EQ(static_cast<std::uint64_t>(zoo_client_id(other)->client_id), session);
  EXPECT_EQ(zookeeper_close(other), ZOK);
}

inline std::vector<std::uint64_t> sessions_of(zookeeper_server& server) {
  std::vector<std::uint64_t> all;
  auto const told = server.member(0).word("cons");
  static std::regex const id("sid=0x([0-9a-f]+)");
  for (std::sregex_iterator at(told.begin(), told.end(), id), end; at != end; ++at) {
    all.push_back(std::stoull((*at)[1].str(), nullptr, 16));
  }
  return all;
}

}  // namespace herdlock_test
