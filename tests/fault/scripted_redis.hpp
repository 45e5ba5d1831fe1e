// A peer that speaks as a server does that cannot be had: each command is answered by a function.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace herdlock_test {

/// Each connection until its client goes.
class scripted_redis {
 public:
  using command_words = std::vector<std::string>;
  /// The reply as it goes over the wire; a NUL at the end closes the connection behind it. Called
  /// on threads of its own, one call at a time.
  using answer = std::function<std::string(command_words const&)>;

  explicit scripted_redis(answer says) : says_(std::move(says)), runs_([this] { run(); }) {}
  ~scripted_redis() {
    over_ = true;
    boost::system::error_code ignored;
    tcp::socket(io_).connect(at_, ignored);  // what accept() waits for
    runs_.join();
  }
  scripted_redis(scripted_redis const&) = delete;
  scripted_redis& operator=(scripted_redis const&) = delete;

  std::uint16_t port() const { return at_.port(); }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }

 private:
  using tcp = boost::asio::ip::tcp;

  void run() {
    std::vector<std::jthread> served;  // until their clients have gone
    while (true) {
      boost::system::error_code ec;
      auto client = door_.accept(ec);
      if (ec || over_) return;
      served.emplace_back([this, one = std::move(client)]() mutable { serve(one); });
    }
  }

  void serve(tcp::socket& client) {
    std::string arrived;
    std::array<char, 4096> piece{};
    boost::system::error_code ec;
    while (!ec) {
      arrived.append(piece.data(), client.read_some(boost::asio::buffer(piece), ec));
      std::string said;
      for (auto words = take(arrived); !words.empty(); words = take(arrived)) said += reply(words);
      bool const ends = said.ends_with('\0');
      if (ends) said.pop_back();
      boost::system::error_code gone;
      boost::asio::write(client, boost::asio::buffer(said), gone);
      if (ends) return;
    }
  }

  std::string reply(command_words const& words) {
    std::lock_guard const alone(one_at_a_time_);
    if (words[0] == "HELLO") return "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n";
    if (words[0] == "PING") return "$8\r\nherdlock\r\n";
    return says_(words);
  }

  // The first command, off the front; none when it has not come in whole.
  static command_words take(std::string& from) {
    std::size_t at = 0;
    auto const number = [&](char mark) -> std::size_t {
      auto const end = from.find("\r\n", at);
      if (end == from.npos || from[at] != mark) return 0;
      auto const value = std::stoul(from.substr(at + 1, end - at - 1));
      at = end + 2;
      return value;
    };
    command_words words(number('*'));
    for (auto& word : words) {
      auto const size = number('$');
      if (size == 0 || from.size() < at + size + 2) return {};
      word = from.substr(at, size);
      at += size + 2;
    }
    from.erase(0, at);
    return words;
  }

  answer const says_;
  std::mutex one_at_a_time_;
  std::atomic<bool> over_ = false;
  boost::asio::io_context io_;
  tcp::acceptor door_{io_, {boost::asio::ip::address_v4::loopback(), 0}};
  tcp::endpoint const at_ = door_.local_endpoint();
  std::thread runs_;
};

}  // namespace herdlock_test
