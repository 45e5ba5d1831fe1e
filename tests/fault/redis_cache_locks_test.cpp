// A cache and locks in one keyspace: neither is taken for the other.
#include <future>
#include <map>
#include <stop_token>

#include <boost/asio/detached.hpp>

#include <herdlock/cache.hpp>
#include <herdlock/election.hpp>
#include <herdlock/lock.hpp>
#include "redis_ports.hpp"
#include "support/temp_dir.hpp"

namespace herdlock_test {
namespace {

using texts = cache<std::string>;
using maybe_text = std::optional<std::string>;

struct redis_cache_locks : testing::Test {
  redis_cache_locks() { server.flush(); }
  redis_server& server = redis_server::shared();
  owner_token holder = owner_token::generate();
  owner_token loader = owner_token::generate();
};

TEST_F(redis_cache_locks, NoStepOfACacheTouchesALockThatIsHeld) {
  redis_ports ports(server.url());
  ASSERT_TRUE(std::holds_alternative<claimed>(ports.claim("42", loader).value()));
  ASSERT_TRUE(std::holds_alternative<grant>(ports.acquire("42", holder).value()));
  auto const held = server.cli("GET 42");
  auto const is_refused = [](auto const& outcome) {
    return outcome.has_error() && outcome.error() == errc::wrong_type &&
           outcome.error().message.find("prefix") != std::string::npos;
  };
  for (auto const form : {layout::string, layout::hash}) {
    EXPECT_TRUE(is_refused(ports.look_up("42", form)));
    EXPECT_TRUE(is_refused(ports.claim("42", loader, 30s, form)));
    EXPECT_TRUE(is_refused(ports.get<claim_reply>([&](auto h) {
      ports.values().claim({cache_key("42"), loader, 30s, form, 60s}, std::move(h));
    }))) << "to refresh it";
  }
  for (auto const& value : {cache_value(std::string("x")), cache_value(absent{}),
                            cache_value(hash_fields{{"a", "b"}})}) {
    EXPECT_TRUE(is_refused(ports.put("42", value)));
    EXPECT_TRUE(is_refused(ports.fill("42", loader, value)));
  }
  EXPECT_TRUE(is_refused(
      ports.get<bool>([&](auto h) { ports.values().invalidate(cache_key("42"), std::move(h)); })));
  for (auto const keep : {0ms, 60'000ms}) {
    EXPECT_TRUE(is_refused(ports.get<bool>(
        [&](auto h) { ports.values().expire(cache_key("42"), keep, std::move(h)); })));
  }
  EXPECT_EQ(server.cli("GET 42"), held);
  EXPECT_LE(std::stol(server.cli("PTTL 42")), 30'000);
  EXPECT_EQ(ports.renew("42", holder, 30s).value(), renew_reply::renewed);
}

TEST_F(redis_cache_locks, ACallSaysThatAPrefixKeepsThemApart) {
  auto const store = open_store(server.url());
  texts const names(store, {.prefix = no_prefix});
  auto held = lock(store, "42").acquire();
  ASSERT_TRUE(held);
  auto const load = [](load_context const&) { return maybe_text("a product"); };
  auto const says = [](auto call) {
    try {
      call();
      return std::string("nothing");
    } catch (error const& why) {
      return why.code() == errc::wrong_type ? std::string(why.what()) : "another error";
    }
  };
  for (auto const& said : {
           says([&] { names.get_or_load("42", load); }),
           says([&] { names.get("42"); }),
           says([&] { names.put("42", "a product"); }),
           says([&] { names.invalidate("42"); }),
       }) {
    EXPECT_NE(said.find("prefix"), std::string::npos) << said;
  }
  EXPECT_EQ(held->renew(), renew_reply::renewed);
  texts const apart(store, {.prefix = "names:"});
  EXPECT_EQ(apart.get_or_load("42", load), "a product");
  EXPECT_EQ(held->renew(), renew_reply::renewed);
}

// Whatever its candidate is called.
TEST_F(redis_cache_locks, NoStepOfACacheTouchesTheLeaseOfALeader) {
  for (std::string const candidate : {"", "blue"}) {
    auto const store = open_store(server.url());
    auto const work = [](election_term& term) {
      std::promise<void> ended;
      std::stop_callback const told(term.stop_token(), [&] { ended.set_value(); });
      ended.get_future().wait();
    };
    election leader(store, "nightly", {.start_work = in_thread(work)}, {.candidate = candidate});
    leader.async_campaign(asio::detached);
    ASSERT_TRUE(eventually([&] { return leader.state() == election_state::working; }));
    texts const names(store, {.prefix = no_prefix});
    EXPECT_THROW(names.invalidate("nightly"), error);
    EXPECT_THROW(names.put("nightly", "x"), error);
    EXPECT_THROW(names.get("nightly"), error);
    EXPECT_EQ(leader.state(), election_state::working);
  }
}

TEST_F(redis_cache_locks, AValueThatLooksLikeAnOwnerIsNotStoredAsItIs) {
  redis_ports ports(server.url());
  ASSERT_TRUE(std::holds_alternative<claimed>(ports.claim("k", loader).value()));
  EXPECT_EQ(ports.put("k", holder.str()).error(), errc::invalid_value);
  EXPECT_EQ(ports.fill("k", loader, holder.str()).error(), errc::invalid_value);
  // What is only like it, and framed values, are values as all others.
  for (auto const& value : {"session:" + holder.str().substr(holder.str().size() - 32),
                            holder.str() + "\n", " " + holder.str() + " "}) {
    ASSERT_TRUE(ports.put("k", value).has_value()) << value;
    EXPECT_EQ(ports.look_up("k").value(), cache_value(value));
  }
  texts const framed(open_store(server.url()), {.prefix = "f:", .format = cache_format::framed});
  framed.put("k", holder.str());
  EXPECT_EQ(*framed.get("k"), holder.str());
}

TEST_F(redis_cache_locks, NoKeyReachesWhatBelongsToAnother) {
  auto const store = open_store(server.url());
  texts const tagged(store, {.prefix = "{shop}:"});
  texts const plain(store, {.prefix = no_prefix});
  auto const refuses = [](texts const& values, std::string const& key) {
    try {
      values.put(key, "a visitor's page");
      return false;
    } catch (error const& why) {
      return why.code() == errc::invalid_name;
    }
  };
  for (std::string const role : {"error", "claim", "claim-fence", "fence", "queue", "x"}) {
    EXPECT_TRUE(refuses(tagged, "x::herdlock:" + role));
    EXPECT_TRUE(refuses(plain, "{x}:herdlock:" + role));
    EXPECT_TRUE(refuses(plain, "{x}y::herdlock:" + role));
  }
  EXPECT_EQ(server.cli("DBSIZE"), "0");
  // Neither does a tag, nor the name of a lock.
  cache_options with_tags{.prefix = "{shop}:", .format = cache_format::framed};
  with_tags.tags.of = [](std::string_view) { return std::vector<std::string>{"t"}; };
  texts const of_tags(store, with_tags);
  EXPECT_THROW(of_tags.invalidate_tag("t::herdlock:claim"), error);
  EXPECT_THROW(lock(store, "{x}:herdlock:claim").acquire(), error);
  // Where the claims are locks, they have names of their own.
  texts const over_locks(store, open_store(server.url()), {.prefix = "over:"});
  EXPECT_TRUE(refuses(over_locks, "x:lock"));
  EXPECT_EQ(server.cli("DBSIZE"), "0");
  // A colon or a word more or less is nobody's.
  EXPECT_FALSE(refuses(plain, "app:herdlock:42"));
  EXPECT_FALSE(refuses(texts(store, {.prefix = "app:herdlock:"}), "42"));
}

TEST_F(redis_cache_locks, ACacheWithoutAPrefixIsRefused) {
  try {
    texts const names(open_store(server.url()));
    FAIL() << "it was made";
  } catch (error const& why) {
    EXPECT_EQ(why.code(), errc::invalid_name);
    EXPECT_NE(std::string(why.what()).find("no_prefix"), std::string::npos) << why.what();
  }
  EXPECT_THROW(texts(open_store(server.url()), {.prefix = ""}), error);
  EXPECT_THROW(texts(open_store(server.url()), {.prefix = "a::herdlock:"}), error);
  texts const elsewhere(open_store("memory:"));
  EXPECT_EQ(elsewhere.get_or_load("42", [] { return std::string("x"); }), "x");
}

// Where they are apart, one name is a lock's and an entry's.
TEST(CacheAndLock, ShareANameWhereTheStoreKeepsThemApart) {
  temp_dir const folder;
  for (auto const& url : {std::string("memory:"), "sqlite:" + (folder / "locks.db").string()}) {
    auto const store = open_store(url);
    texts const names(store);
    auto held = lock(store, "42").acquire();
    EXPECT_EQ(names.get_or_load("42", [] { return std::string("a product"); }), "a product");
    names.put("42", "another");
    EXPECT_TRUE(names.invalidate("42"));
    EXPECT_EQ(held->renew(), renew_reply::renewed) << url;
  }
}

// In each step of a call for many, too.
TEST_F(redis_cache_locks, ACallForManyKeysLoadsTheOthers) {
  auto const store = open_store(server.url());
  texts const names(store, {.prefix = no_prefix});
  auto held = lock(store, "42").acquire();
  auto const load = [](std::vector<std::string> const& keys) {
    std::map<std::string, std::string> values;
    for (auto const& key : keys) values[key] = "loaded";
    return values;
  };
  auto const got = names.get_many_or_load({"41", "42", "43"}, load);
  EXPECT_EQ(got[0].value(), "loaded");
  EXPECT_TRUE(got[1].has_error() && got[1].error() == errc::wrong_type);
  EXPECT_EQ(got[2].value(), "loaded");
  EXPECT_EQ(held->renew(), renew_reply::renewed);
}

}  // namespace
}  // namespace herdlock_test
