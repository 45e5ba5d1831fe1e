// An ensemble that is named. The resolver is look_up_test.cpp's.
#include <atomic>
#include <support/name_server.hpp>
#include <support/relay.hpp>
#include <support/zookeeper_server.hpp>

#include "zookeeper_ports.hpp"

namespace herdlock_test {
namespace {

class zookeeper_look_up : public testing::Test {
 protected:
  static std::string by_name(std::uint16_t port) {
    return "zk://ensemble.example:" + std::to_string(port) +
           zookeeper_server::shared().fresh_chroot() + "?timeout=500ms&session_timeout=20s";
  }
  // As a process that ends would: from another thread, to see that it ends. What was left behind
  // goes on afterwards.
  static bool closes_while_names_hang(std::unique_ptr<zookeeper_ports> store) {
    std::atomic<bool> closed = false;
    std::thread closing([&] {
      store.reset();
      closed = true;
    });
    bool const soon = eventually([&] { return closed.load(); });
    EXPECT_GT(names().asking(), 0);
    names().answer();
    closing.join();
    return soon && eventually([] { return names().asking() == 0; });
  }

  std::string const stock_ = "stock/1";
  relay between_{zookeeper_server::shared().port()};
};

TEST_F(zookeeper_look_up, AStoreWhoseFirstLookUpHangsCanBeClosed) {
  names().hang();
  auto a = std::make_unique<zookeeper_ports>(by_name(between_.port()));
  ASSERT_TRUE(eventually([] { return names().asking() == 1; }));
  EXPECT_TRUE(closes_while_names_hang(std::move(a)));
}

// The C client looks the name up again when it has lost its connection.
TEST_F(zookeeper_look_up, AStoreThatLooksItsServerUpAgainCanBeClosed) {
  auto a = std::make_unique<zookeeper_ports>(by_name(between_.port()));
  ASSERT_TRUE(eventually([&] { return granted(a->acquire(stock_, owner_token::generate())); }));
  names().hang();
  between_.cut_all();
  ASSERT_TRUE(eventually([] { return names().asking() == 1; }));
  EXPECT_TRUE(closes_while_names_hang(std::move(a)));
}

TEST_F(zookeeper_look_up, ANameThatIsFoundAgainIsUsed) {
  names().hang();
  zookeeper_ports a(by_name(between_.port()));
  EXPECT_EQ(a.acquire(stock_, owner_token::generate()).error(), errc::timed_out);
  names().answer();
  EXPECT_TRUE(eventually([&] { return granted(a.acquire(stock_, owner_token::generate())); }));
}

}  // namespace
}  // namespace herdlock_test
