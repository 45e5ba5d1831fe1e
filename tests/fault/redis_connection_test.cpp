// The supervisor: servers that are not there yet, die, come back, hang, or stop talking.
#include <poll.h>
#include <signal.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <herdlock/herdlock.hpp>
#include <support/free_port.hpp>

#include "owners.hpp"
#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

TEST(RedisConnection, RefusedConnectSaysWhereAndHow) {
  auto const port = std::to_string(dead_port());
  redis_ports ports("redis://user:sesame@127.0.0.1:" + port + "?timeout=300ms");
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::unavailable);
  auto const& text = reply.error().message;
  EXPECT_NE(text.find("Connection refused"), std::string::npos) << text;
  EXPECT_NE(text.find("127.0.0.1:" + port), std::string::npos) << text;
  EXPECT_NE(text.find("'r'"), std::string::npos) << text;
  EXPECT_EQ(text.find("sesame"), std::string::npos) << text;
}

// A waiter leaves the queue behind a failure, and is told of the acquisition that it wanted.
TEST(RedisConnection, AWaitThatCannotConnectSaysThatItCannotAcquire) {
  auto const store =
      open_store("redis://127.0.0.1:" + std::to_string(dead_port()) + "?timeout=300ms");
  try {
    static_cast<void>(lock(store, "r").acquire({.wait = 500ms}));
    FAIL() << "nobody listens there";
  } catch (herdlock::error const& why) {
    std::string const text = why.what();
    EXPECT_NE(text.find("cannot acquire 'r'"), std::string::npos) << text;
    EXPECT_EQ(text.find("leave"), std::string::npos) << text;
  }
}

// What closing a store goes by: is there anything at a server that has to be given back?
TEST(RedisConnection, OnlyAServerThatWasReachedMayHaveBeenSentARequest) {
  redis_server server;
  for (std::string const speech : {"herdlock", "plain", "getset"}) {
    SCOPED_TRACE(speech);
    auto const options = "?timeout=300ms&dialect=" + speech;
    redis_ports mistyped("redis://127.0.0.1:" + std::to_string(dead_port()) + options);
    EXPECT_TRUE(mistyped.acquire("r", mine).has_error());
    EXPECT_FALSE(mistyped.leases().may_have_sent());
    redis_ports reached(server.url() + options);
    EXPECT_FALSE(reached.acquire(speech, mine).has_error());
    EXPECT_TRUE(reached.leases().may_have_sent());
  }
}

// A firewall that says nothing: there never was a connection, so that none was lost.
TEST(RedisConnection, AnAddressThatSwallowsConnectionsIsToldAsOne) {
  asio::io_context io;
  asio::ip::tcp::acceptor full(io);
  asio::ip::tcp::endpoint const any(asio::ip::address_v4::loopback(), 0);
  full.open(any.protocol());
  full.bind(any);
  full.listen(0);
  // What the kernel keeps for who would accept; behind it, it answers nobody.
  std::vector<asio::ip::tcp::socket> kept;
  bool answers = true;
  while (answers && kept.size() < 100) {
    auto& one = kept.emplace_back(io);
    one.open(any.protocol());
    one.native_non_blocking(true);
    auto const to = full.local_endpoint();
    std::ignore = ::connect(one.native_handle(), to.data(), static_cast<socklen_t>(to.size()));
    pollfd waiting{one.native_handle(), POLLOUT, 0};
    answers = ::poll(&waiting, 1, 200) == 1;
  }
  ASSERT_FALSE(answers);
  auto const url = "redis://127.0.0.1:" + std::to_string(full.local_endpoint().port());
  redis_ports ports(url + "?timeout=200ms");
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_NE(reply.error().message.find("127.0.0.1:"), std::string::npos);
  EXPECT_EQ(reply.error().message.find("lost"), std::string::npos) << reply.error().message;
}

TEST(RedisConnection, UnknownHostIsNamed) {
  redis_ports ports("redis://no-such-host.invalid?timeout=500ms");
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_NE(reply.error().message.find("no-such-host.invalid"), std::string::npos);
}

TEST(RedisConnection, CommandWaitsForAServerThatComesUp) {
  redis_server server;
  relay through(server.port());
  through.refuse();
  redis_ports ports(relay_url(through, "?timeout=10s"));
  std::optional<result<acquire_reply>> outcome;
  ports.start<acquire_reply>(outcome, [&](auto h) {
    ports.leases().acquire({resource("r"), mine, 30s}, std::move(h));
  });
  EXPECT_FALSE(ports.wait_for([&] { return outcome.has_value(); }, 300ms));
  through.accept();
  ASSERT_TRUE(ports.wait_for([&] { return outcome.has_value(); }));
  EXPECT_GT(fence_of(*outcome), 0u);
}

TEST(RedisConnection, WorksAgainAfterTheServerWasKilledAndRestarted) {
  redis_server server;
  redis_ports ports(server.url() + "?timeout=10s");
  auto const first = fence_of(ports.acquire("r", mine));
  server.kill();
  server.restart();
  // The first command may go out on the dead connection: then its outcome is unknown.
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
  EXPECT_GT(fence_of(ports.acquire("r", mine)), first);
}

TEST(RedisConnection, InFlightCommandsFailAtOnceWhenTheConnectionIsLost) {
  redis_server server;
  relay through(server.port());
  redis_ports ports(relay_url(through, "?timeout=5m"));
  fence_of(ports.acquire("warm", mine));
  through.stop_forwarding();
  std::optional<result<acquire_reply>> outcome;
  ports.start<acquire_reply>(outcome, [&](auto h) {
    ports.leases().acquire({resource("r"), mine, 30s}, std::move(h));
  });
  EXPECT_FALSE(ports.wait_for([&] { return outcome.has_value(); }, 50ms));
  through.cut_all();
  through.resume_forwarding();
  ASSERT_TRUE(ports.wait_for([&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome->error(), errc::unavailable) << outcome->error().message;
  EXPECT_TRUE(ports.release("r", mine).has_value());
}

TEST(RedisConnection, EveryCommandEndsByItsDeadlineWhileTheServerHangs) {
  redis_server server;
  redis_ports ports(server.url() + "?timeout=400ms");
  ASSERT_TRUE(ports.wait_for([&] { return ports.acquire("warm", mine).has_value(); }));
  server.pause();
  for (int i = 0; i < 3; ++i) {
    auto const reply = ports.acquire("r", mine);
    ASSERT_TRUE(reply.has_error());
    bool const named = reply.error() == errc::timed_out || reply.error() == errc::unavailable;
    EXPECT_TRUE(named) << reply.error().message;
  }
  server.resume();
  EXPECT_TRUE(ports.wait_for([&] { return ports.release("r", mine).has_value(); }));
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
}

// A hang is noticed without any command, by the health check, and the connection replaced.
TEST(RedisConnection, IdleConnectionThatFallsSilentIsReplaced) {
  redis_server server;
  relay through(server.port());
  redis_ports ports(relay_url(through, "?timeout=400ms"));
  ASSERT_TRUE(ports.wait_for([&] { return ports.acquire("warm", mine).has_value(); }));
  auto const before = through.connections_ever();
  through.stop_forwarding();
  EXPECT_TRUE(ports.wait_for([&] { return through.connections_ever() > before; }));
  through.resume_forwarding();
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
}

// More is asked than the line carries, so all of it times out: what is behind it must not wait
// until that is through.
TEST(RedisConnection, ABacklogIsGivenUpBeforeALeaseIsLost) {
  auto& server = redis_server::shared();
  server.flush();
  relay through(server.port());
  std::vector<std::optional<result<void>>> puts(600);
  redis_ports ports(relay_url(through, "?timeout=1s"));
  auto const owner = owner_token::generate();
  ASSERT_TRUE(ports.wait_for([&] { return ports.acquire("r", owner, 30s).has_value(); }));
  // The server knows the script.
  ASSERT_TRUE(ports.wait_for([&] { return ports.put("k", std::string("v")).has_value(); }));
  through.set_delay(20ms);  // for each 16 KiB: a minute for what follows
  for (std::size_t i = 0; i < puts.size(); ++i) {
    ports.start<void>(puts[i], [&](auto done) {
      ports.values().put({cache_key("k" + std::to_string(i)), std::string(100'000, 'v'), 1min},
                         std::move(done));
    });
  }
  result<renew_reply> renewed = make_failure(errc::unavailable, "not asked yet");
  EXPECT_TRUE(ports.wait_for([&] {
    renewed = ports.renew("r", owner, 30s);
    return renewed.has_value();
  })) << renewed.error().message;
  EXPECT_TRUE(renewed.has_value() && *renewed == renew_reply::renewed);
  through.set_delay(0ms);
}

// As if one were missing: what follows would be told to the wrong commands.
TEST(RedisConnection, RepliesThatAreOutOfStepEndTheConnection) {
  relay through(redis_server::shared().port());
  redis_ports ports(relay_url(through, "?timeout=400ms"));
  ASSERT_TRUE(ports.wait_for([&] { return ports.look_up("k").has_value(); }));
  auto const before = through.connections_ever();
  through.replace_in_replies("\r\nherdlock\r\n", "\r\nanything\r\n");
  EXPECT_TRUE(ports.wait_for([&] { return through.connections_ever() > before; }));
  through.replace_in_replies("", "");
  EXPECT_TRUE(eventually([&] { return ports.look_up("k").has_value(); }));
}

TEST(RedisConnection, KilledClientConnectsAgain) {
  redis_server server;
  redis_ports ports(server.url());
  for (int i = 0; i < 5; ++i) {
    fence_of(ports.acquire("r", mine));
    server.cli("CLIENT KILL TYPE normal");
    EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
  }
}

// After a failover behind a name, an old connection would stay with the demoted server for ever.
TEST(RedisConnection, DemotedServerIsLeftAndTheNameResolvedAgain) {
  redis_server server;
  relay through(server.port());
  redis_ports ports(relay_url(through, "?timeout=10s"));
  fence_of(ports.acquire("warm", mine));
  server.cli("REPLICAOF 127.0.0.1 1");
  auto const before = through.connections_ever();
  auto const refused = ports.acquire("r", mine);
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(refused.error().message.find("replica"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(ports.wait_for([&] { return through.connections_ever() > before; }));
  server.cli("REPLICAOF NO ONE");
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
  auto const settled = through.connections_ever();
  fence_of(ports.acquire("s", mine));
  EXPECT_EQ(through.connections_ever(), settled);
}

// More than the hanging server's window takes waits in the kernel; its caller is told that it
// failed, so it must not be delivered when the server goes on.
TEST(RedisConnection, WhatAHangingServerDidNotTakeIsNotDeliveredLater) {
  redis_server server;
  redis_ports ports(server.url() + "?timeout=400ms");
  ASSERT_TRUE(ports.wait_for([&] { return ports.put("warm", std::string("v")).has_value(); }));
  server.pause();
  EXPECT_TRUE(ports.put("late", std::string(1'000'000, 'x')).has_error());
  server.resume();
  EXPECT_TRUE(ports.wait_for([&] { return ports.look_up("warm").has_value(); }));
  auto const one_left = [&] {
    auto const clients = server.cli("CLIENT LIST");
    auto const first = clients.find("name=herdlock");
    return first != std::string::npos && clients.find("name=herdlock", first + 1) == clients.npos;
  };
  EXPECT_TRUE(ports.wait_for(one_left));
  EXPECT_EQ(server.cli("EXISTS late"), "0");
}

TEST(RedisConnection, ManyCommandsAtOnceAllComplete) {
  redis_server server;
  redis_ports ports(server.url() + "?timeout=30s");
  std::size_t done = 0;
  std::size_t granted = 0;
  constexpr std::size_t count = 3000;
  for (std::size_t i = 0; i < count; ++i) {
    ports.leases().acquire({resource("r" + std::to_string(i)), mine, 30s},
                           [&](result<acquire_reply> r) {
                             ++done;
                             granted += r.has_value() && std::holds_alternative<grant>(*r);
                           });
  }
  EXPECT_TRUE(ports.wait_for([&] { return done == count; }));
  EXPECT_EQ(granted, count);
}

TEST(RedisConnection, ClosingCompletesWhatIsOutstanding) {
  redis_server server;
  std::size_t canceled = 0;
  {
    redis_ports ports(server.url());
    fence_of(ports.acquire("warm", mine));
    server.pause();
    for (int i = 0; i < 10; ++i) {
      ports.leases().acquire({resource("r"), mine, 30s}, [&](result<acquire_reply> r) {
        canceled += r.has_error() && r.error() == errc::canceled;
      });
    }
    ports.values().watch({cache_key("k"), 30s}, [&](result<watch_reply> r) {
      canceled += r.has_error() && r.error() == errc::canceled;
    });
    ports.wait_for([] { return false; }, 20ms);
  }
  server.resume();
  EXPECT_EQ(canceled, 11u);
}

TEST(RedisConnection, ContextMayBeDestroyedWithEverythingUnderWay) {
  redis_server server;
  auto io = std::make_unique<asio::io_context>(1);
  auto ports = open_redis(store_url::parse(server.url()).value(), io->get_executor()).value();
  for (int i = 0; i < 10; ++i) {
    ports.leases->acquire({resource("r"), mine, 30s}, [](result<acquire_reply>) {});
    ports.values->watch({cache_key("k"), 30s}, [](result<watch_reply>) {});
    io->run_for(2ms);
  }
  ports = {};
  EXPECT_NO_FATAL_FAILURE(io.reset());  // what it would do wrong, a sanitizer sees
}

}  // namespace
}  // namespace herdlock_test
