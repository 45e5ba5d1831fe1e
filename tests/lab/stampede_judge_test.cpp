// The judge of the stampede, shown a forged fault for each check.
#include <gtest/gtest.h>

#include <support/mariadb_server.hpp>
#include <support/redis_server.hpp>

#include "broken.hpp"
#include "scenes/stampede.hpp"
#include "stampede_play.hpp"

namespace {

using namespace herdlock::lab;
using namespace herdlock_test;
using words = std::vector<std::string>;
using verdict = right_products::verdict;

guard_mode const plain{.name = "plain", .does = ""};
guard_mode const stale{.name = "stale", .does = "", .serves_old = true};

TEST(StampedeJudge, TheProductOfTheExpiryIsRightInEveryMode) {
  EXPECT_EQ(right_products(plain, 7).judged(product_at(7)), verdict::fresh);
  EXPECT_EQ(right_products(stale, 7).judged(product_at(7)), verdict::fresh);
}

TEST(StampedeJudge, TheProductBeforeIsRightOnlyWhereStaleOnesAreServed) {
  EXPECT_EQ(right_products(plain, 7).judged(product_at(6)), verdict::wrong);
  EXPECT_EQ(right_products(stale, 7).judged(product_at(6)), verdict::old);
}

TEST(StampedeJudge, OlderOrNewerOrChangedProductsAreWrong) {
  right_products const right(stale, 7);
  EXPECT_EQ(right.judged(product_at(5)), verdict::wrong);
  EXPECT_EQ(right.judged(product_at(8)), verdict::wrong);
  product changed = product_at(7);
  changed.price_cents += 1;
  EXPECT_EQ(right.judged(changed), verdict::wrong);
  EXPECT_EQ(right.judged({}), verdict::wrong);
}

TEST(StampedeJudge, DemandsARightAnswerForEachRequest) {
  stampede_orders orders;
  orders.mode = &plain;
  stampede_outcome outcome(orders);
  outcome.counts.answers = 600;
  EXPECT_EQ(broken_of([&](judge& by) { judge_stampede(outcome, by); }), "");
  outcome.counts.errors = 1;
  outcome.first_error = "forged";
  EXPECT_EQ(broken_of([&](judge& by) { judge_stampede(outcome, by); }),
            "plain: 1 without a right answer; the first: forged");
}

// ------------------------------------------------------- a database that does not do what it says

// Each forged fault is a trigger of the database: the scene cannot know of it.
class ForgedOrigin : public Stampede {
 protected:
  // The tables are there, and empty of this test's loads.
  std::string forge(std::string const& name, std::string const& trigger) {
    auto& database = mariadb_server::shared();
    auto const url = database.url(name);
    play_stampede({"--origin", url, "--mode", "naive", "--processes", "1", "--requests", "1",
                   "--expiries", "1"});
    database.sql("CREATE TRIGGER " + name + ".forged BEFORE " + trigger);
    return url;
  }
  static words with(std::string const& url, std::string const& modes) {
    return {"--origin",   url, "--mode",     modes, "--processes", "2",
            "--requests", "3", "--expiries", "1",   "--load-time", "10ms"};
  }
};

TEST_F(ForgedOrigin, WithAnswersOfTheRevisionBeforeIsToldInEachModeAndEndsWithOne) {
  auto& redis = redis_server::shared();
  redis.flush();
  auto const url =
      forge("wrong", "UPDATE ON wrong.Product FOR EACH ROW SET NEW.revision = NEW.revision - 1");
  auto options = with(url, "naive,fleet,logical,near");
  options.insert(options.end(), {"--store", redis.url()});
  nlohmann::json const list = play_stampede(options, 1);
  for (char const* mode : {"naive", "fleet"}) EXPECT_EQ(mode_of(list, mode)["errors"], 6) << list;
  // Each process goes on asking for the new one, and is given the wrong one once.
  EXPECT_GE(mode_of(list, "logical")["errors"], 2) << list;
  // The requests that come once more are judged, too.
  EXPECT_EQ(mode_of(list, "near")["errors"], 12) << list;

  options = with(url, "naive");
  options.insert(options.begin(), "stampede");
  auto const shown = run_lab(options);
  EXPECT_EQ(shown.code, 1) << shown.err;
  EXPECT_NE(shown.out.find("\nBROKEN  naive: 6 without a right answer; the first: wrong answer: "
                           "revision 0 instead of 1\n"),
            std::string::npos)
      << shown.out;
}

TEST_F(ForgedOrigin, WithLoadsThatFailIsToldAndEndsWithOne) {
  auto options = with(forge("failing",
                            "INSERT ON failing.herdlock_demo_load FOR EACH ROW "
                            "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'forged'"),
                      "naive");
  options.insert(options.begin(), "stampede");
  auto const shown = run_lab(options);
  EXPECT_EQ(shown.code, 1) << shown.err;
  EXPECT_NE(shown.out.find("BROKEN  naive: 6 without a right answer; the first: origin "),
            std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("forged"), std::string::npos) << shown.out;
}

}  // namespace
