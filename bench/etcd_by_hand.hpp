// An etcd client that does the least, over the JSON gateway and a plain socket; every call blocks.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "contenders.hpp"

namespace bench::etcd {

namespace asio = boost::asio;

/// One connection that stays open.
class raw_client {
 public:
  explicit raw_client(std::uint16_t port);

  /// The answer's body.
  std::string post(std::string const& path, std::string const& body);

  /// Begins a stream of watches, in place of posts.
  void open_watch();
  /// Watches one more key, from now on; returns when the watch stands.
  void watch(std::string const& key);
  /// Until the key watched last is deleted.
  void wait_for_deletion();

 private:
  std::string sized(std::size_t head);
  std::string chunked(std::size_t head);
  void read_past(std::string const& text);

  asio::io_context io_;
  asio::ip::tcp::socket socket_;
  std::string in_;
};

/// A lease, a transaction that joins the queue, a watch on the one before; the lease's end.
class lock_by_hand final : public turn_taker {
 public:
  lock_by_hand(std::uint16_t port, std::string prefix, std::size_t number);
  void take() override;
  void give_back() override;

 private:
  raw_client raw_;
  std::unique_ptr<raw_client> watches_;
  std::uint16_t const port_;
  std::string const prefix_;
  std::uint64_t lease_;
};

/// The server's own lock service, with one lease for all turns.
class lock_service final : public turn_taker {
 public:
  lock_service(std::uint16_t port, std::string const& name, std::size_t number);
  void take() override;
  void give_back() override;

 private:
  raw_client raw_;
  std::string const name_;
  std::string const lease_;
  std::string key_;
};

}  // namespace bench::etcd
