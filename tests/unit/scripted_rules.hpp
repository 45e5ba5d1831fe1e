// The rules half of a scripted store: the test writes as somebody else, or is in front of a writer.
#pragma once

#include <boost/asio/post.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <herdlock/rules_store.hpp>

#include "algo/rule_list.hpp"

namespace herdlock::scripted {

class scripted_rules final : public rules_store {
 public:
  explicit scripted_rules(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  store_rules stored;
  bool tells = true;        // who listens
  int others_in_front = 0;  // writes in front of which somebody else's comes
  std::size_t reads = 0;
  std::size_t writes = 0;
  std::size_t listeners = 0;
  std::vector<prolong_request> prolonged;  // what was asked for
  failure prolong_failure;                 // its answer; none: it was lengthened

  /// Somebody else has written them.
  void tell(std::uint64_t version, std::string text) {
    stored = {version, std::move(text)};
    if (auto const to = listener_.lock()) to->on_rules(stored);
  }
  void tell(std::vector<hot_rule> rules) {
    tell(stored.version + 1, algo::encode({0, std::move(rules)}));
  }

  void read_rules(std::string, handler<store_rules> done) override {
    ++reads;
    detail::post_result<store_rules>(executor_, std::move(done), stored);
  }
  void write_rules(rules_change what, handler<std::uint64_t> done) override {
    ++writes;
    if (others_in_front > 0) {
      --others_in_front;
      stored = {stored.version + 1, algo::encode({})};
    }
    bool const first = what.expected == stored.version;
    if (first) stored = {stored.version + 1, std::move(what.text)};
    detail::post_result<std::uint64_t>(executor_, std::move(done),
                                       first ? stored.version : std::uint64_t{0});
  }
  void listen_for_rules(std::string, std::weak_ptr<rules_listener> to) override {
    ++listeners;
    listener_ = std::move(to);
    asio::post(executor_, [this] {
      auto const told = listener_.lock();
      if (tells && told && stored.version != 0) told->on_rules(stored);
    });
  }
  void count_listeners(std::string, handler<listener_count> done) override {
    detail::post_result<listener_count>(executor_, std::move(done), listener_count(listeners));
  }
  void prolong(prolong_request what, handler<bool> done) override {
    prolonged.push_back(std::move(what));
    auto said = prolong_failure.code ? result<bool>(prolong_failure) : result<bool>(true);
    detail::post_result<bool>(executor_, std::move(done), std::move(said));
  }

 private:
  asio::any_io_executor executor_;
  std::weak_ptr<rules_listener> listener_;
};

}  // namespace herdlock::scripted
