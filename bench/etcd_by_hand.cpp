#include "etcd_by_hand.hpp"

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "stores/etcd/encoding.hpp"

namespace bench::etcd {
namespace {

using herdlock::etcd::to_base64;
using nlohmann::json;

std::string chunk(std::string const& text) {
  std::ostringstream out;
  out << std::hex << text.size() << "\r\n" << text << "\r\n";
  return out.str();
}

}  // namespace

raw_client::raw_client(std::uint16_t port) : socket_(io_) {
  socket_.connect({asio::ip::address_v4::loopback(), port});
  socket_.set_option(asio::ip::tcp::no_delay(true));
}

std::string raw_client::post(std::string const& path, std::string const& body) {
  std::string const text =
      "POST " + path + " HTTP/1.1\r\nHost: etcd\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  asio::write(socket_, asio::buffer(text));
  auto const head = asio::read_until(socket_, asio::dynamic_buffer(in_), "\r\n\r\n");
  if (in_.substr(0, head).find(" 200 ") == std::string::npos) {
    throw std::runtime_error("etcd refuses " + path + ": " + in_);
  }
  return in_.find("chunked") < head ? chunked(head) : sized(head);
}

std::string raw_client::sized(std::size_t head) {
  auto const at = in_.find("Content-Length: ");
  if (at >= head) throw std::runtime_error("an answer without its length");
  std::size_t const length = std::strtoul(in_.c_str() + at + 16, nullptr, 10);
  if (in_.size() < head + length) {
    asio::read(socket_, asio::dynamic_buffer(in_),
               asio::transfer_exactly(head + length - in_.size()));
  }
  std::string body = in_.substr(head, length);
  in_.erase(0, head + length);
  return body;
}

std::string raw_client::chunked(std::size_t head) {
  in_.erase(0, head);
  auto const end = asio::read_until(socket_, asio::dynamic_buffer(in_), "0\r\n\r\n");
  std::string body = in_.substr(0, end);
  in_.erase(0, end);
  return body;
}

void raw_client::open_watch() {
  std::string const head =
      "POST /v3/watch HTTP/1.1\r\nHost: etcd\r\nTransfer-Encoding: chunked\r\nConnection: "
      "close\r\n\r\n";
  asio::write(socket_, asio::buffer(head));
}

void raw_client::watch(std::string const& key) {
  json const request{{"create_request", {{"key", key}, {"filters", json::array({"NOPUT"})}}}};
  asio::write(socket_, asio::buffer(chunk(request.dump() + "\n")));
  read_past("\"created\":true");
}

void raw_client::wait_for_deletion() { read_past("\"DELETE\""); }

void raw_client::read_past(std::string const& text) {
  in_.erase(0, asio::read_until(socket_, asio::dynamic_buffer(in_), text));
}

lock_by_hand::lock_by_hand(std::uint16_t port, std::string prefix, std::size_t number)
    : raw_(port), port_(port), prefix_(std::move(prefix)), lease_(1'000'000 * (number + 1)) {}

void lock_by_hand::take() {
  std::string const lease = std::to_string(++lease_);
  std::string const key = to_base64(prefix_ + "/" + lease);
  std::string past = prefix_ + "/";
  ++past.back();
  raw_.post("/v3/lease/grant", json{{"ID", lease}, {"TTL", "30"}}.dump());
  json const range{{"key", to_base64(prefix_ + "/")},
                   {"range_end", to_base64(past)},
                   {"sort_target", "CREATE"},
                   {"sort_order", "DESCEND"},
                   {"limit", "2"}};
  json const join{
      {"compare",
       json::array(
           {{{"key", key}, {"target", "CREATE"}, {"result", "EQUAL"}, {"create_revision", "0"}}})},
      {"success", json::array({{{"request_put", {{"key", key}, {"lease", lease}}}},
                               {{"request_range", range}}})}};
  auto const answer = json::parse(raw_.post("/v3/kv/txn", join.dump()));
  auto const& found = answer["responses"][1]["response_range"]["kvs"];
  if (found.size() < 2) return;
  auto const before = found[1]["key"].get<std::string>();
  if (!watches_) {
    watches_ = std::make_unique<raw_client>(port_);
    watches_->open_watch();
  }
  watches_->watch(before);
  auto const still = json::parse(raw_.post("/v3/kv/range", json{{"key", before}}.dump()));
  // An event of a deletion before this look may be on its way: the watch is of no use any more.
  if (!still.contains("kvs")) return watches_.reset();
  watches_->wait_for_deletion();
}

void lock_by_hand::give_back() {
  raw_.post("/v3/lease/revoke", json{{"ID", std::to_string(lease_)}}.dump());
}

lock_service::lock_service(std::uint16_t port, std::string const& name, std::size_t number)
    : raw_(port), name_(to_base64(name)), lease_(std::to_string(number + 1)) {
  raw_.post("/v3/lease/grant", json{{"ID", lease_}, {"TTL", "3600"}}.dump());
}

void lock_service::take() {
  json const request{{"name", name_}, {"lease", lease_}};
  key_ = json::parse(raw_.post("/v3/lock/lock", request.dump()))["key"].get<std::string>();
}

void lock_service::give_back() { raw_.post("/v3/lock/unlock", json{{"key", key_}}.dump()); }

}  // namespace bench::etcd
