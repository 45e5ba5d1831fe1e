#include "stores/zookeeper/examination.hpp"

#include <zookeeper/zookeeper.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <sstream>

#include "stores/common/look_up.hpp"
#include "stores/zookeeper/settings.hpp"

namespace herdlock {
namespace zookeeper {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// A session of its own, for what the server grants.
class short_session {
 public:
  short_session(settings const& how, std::string const& servers) {
    handle_ = zookeeper_init2(servers.c_str(), &short_session::on_event,
                              static_cast<int>(how.session_timeout.count()), nullptr, this, 0,
                              [](char const*) {});
  }
  ~short_session() {
    if (handle_) zookeeper_close(handle_);
  }
  short_session(short_session const&) = delete;
  short_session& operator=(short_session const&) = delete;

  // What was agreed on; nothing when there is no session by then.
  std::optional<milliseconds> agreed(milliseconds limit) {
    std::unique_lock guard(mutex_);
    changed_.wait_for(guard, limit, [this] { return timeout_.has_value() || refused_; });
    return timeout_;
  }

 private:
  static void on_event(zhandle_t* handle, int type, int state, char const*, void* context) {
    auto& self = *static_cast<short_session*>(context);
    if (type != ZOO_SESSION_EVENT) return;
    std::lock_guard const guard(self.mutex_);
    if (state == ZOO_CONNECTED_STATE) self.timeout_ = milliseconds(zoo_recv_timeout(handle));
    if (state == ZOO_AUTH_FAILED_STATE) self.refused_ = true;
    self.changed_.notify_all();
  }

  zhandle_t* handle_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<milliseconds> timeout_;
  bool refused_ = false;
};

// A server of the list; nothing when its name is not found in time.
std::vector<tcp::endpoint> endpoints_of(std::string const& server, milliseconds limit) {
  auto const colon = server.rfind(':');
  std::string host = server.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  unsigned short port = 0;
  std::from_chars(server.data() + colon + 1, server.data() + server.size(), port);
  std::vector<tcp::endpoint> all;
  for (auto const& each : stores::look_up_here(host, clock::now() + limit, -1).all) {
    all.emplace_back(asio::ip::make_address(each), port);
  }
  return all;
}

// The answer to a four-letter word; empty when there is none in time.
std::string word(std::vector<tcp::endpoint> const& server, std::string const& four,
                 milliseconds limit) {
  asio::io_context io;
  tcp::socket socket(io);
  std::string answer;
  auto const read = [&](boost::system::error_code ec, std::size_t) {
    if (ec) return;
    asio::async_read(socket, asio::dynamic_buffer(answer, 65'536),
                     [](boost::system::error_code, std::size_t) {});
  };
  auto const send = [&](boost::system::error_code ec, tcp::endpoint const&) {
    if (!ec) asio::async_write(socket, asio::buffer(four), read);
  };
  if (!server.empty()) asio::async_connect(socket, server, send);
  io.run_for(limit);
  boost::system::error_code ignored;
  socket.close(ignored);
  io.restart();
  io.run();
  return answer;
}

std::string line_of(std::string const& text, std::string const& beginning) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(beginning, 0) == 0) return line.substr(beginning.size());
  }
  return {};
}

// The C client gets the addresses of those whose name is found: it would look names up itself, for
// as long as the name server takes.
std::string addresses_of(settings const& how) {
  std::istringstream list(how.servers);
  std::string all;
  for (std::string server; std::getline(list, server, ',');) {
    for (auto const& each : endpoints_of(server, how.timeout)) {
      std::ostringstream text;
      text << each;
      all += (all.empty() ? "" : ",") + text.str();
    }
  }
  return all;
}

void check_session(settings const& how, examination& into) {
  auto const servers = addresses_of(how);
  std::optional<milliseconds> agreed;
  if (!servers.empty()) agreed = short_session(how, servers).agreed(how.timeout);
  into.expect(
      agreed.has_value(),
      {"zookeeper.reachable", severity::error,
       how.servers + " give no session within " + std::to_string(how.timeout.count()) + " ms",
       "there is no lock to be had", "start them; an ensemble without a majority serves nobody"});
  if (!agreed) return;
  into.expect(*agreed == how.session_timeout,
              {"zookeeper.session", severity::warning,
               "asked for a session timeout of " + std::to_string(how.session_timeout.count()) +
                   " ms, the server gives " + std::to_string(agreed->count()) + " ms",
               *agreed < how.session_timeout
                   ? "a pause that was thought harmless ends the session and its leases"
                   : "the leases of a dead holder are kept longer than was asked",
               "ask for what it allows (session_timeout=), or set minSessionTimeout and "
               "maxSessionTimeout at the server"});
}

void check_limits(std::string const& server, std::string const& conf, examination& into) {
  auto const limit = line_of(conf, "maxClientCnxns=");
  if (limit.empty()) {
    return into.skip("zookeeper.connections", server + " does not permit the word conf");
  }
  into.expect(limit == "0" || limit.size() > 1,
              {"zookeeper.connections", severity::warning,
               server + " takes " + limit + " connections of one address (maxClientCnxns)",
               "each herdlock process has one: those beyond find no store",
               "set maxClientCnxns to 60, its default, or more"});
}

void check_servers(settings const& how, examination& into) {
  std::istringstream list(how.servers);
  std::size_t all = 0;
  std::size_t serving = 0;
  std::string silent;
  std::string mode;
  for (std::string server; std::getline(list, server, ',');) {
    ++all;
    auto const endpoints = endpoints_of(server, how.timeout);
    auto const told = word(endpoints, "srvr", how.timeout);
    mode = line_of(told, "Mode: ");
    bool const serves =
        mode == "leader" || mode == "follower" || mode == "standalone" || mode == "observer";
    if (serves) ++serving;
    into.expect(mode != "read-only",
                {"zookeeper.read_only", severity::error, server + " is read-only",
                 "it has lost the majority: nothing can be locked there",
                 "let it reach the other servers"});
    if (serves) check_limits(server, word(endpoints, "conf", how.timeout), into);
    if (!serves && mode.empty()) silent += " " + server;
  }
  into.expect(silent.empty(),
              {"zookeeper.servers", serving * 2 > all ? severity::warning : severity::error,
               "no answer to srvr from" + silent,
               serving * 2 > all ? "fewer servers may fail before nothing is granted any more"
                                 : "most servers do not serve",
               "start them; if they run, permit srvr in 4lw.commands.whitelist"});
}

}  // namespace
}  // namespace zookeeper

result<examination> examine_zookeeper(store_url url) {
  auto const how = zookeeper::take_settings(std::move(url));
  if (how.has_error()) return how.error();
  examination made;
  zookeeper::check_session(*how, made);
  zookeeper::check_servers(*how, made);
  return made;
}

}  // namespace herdlock
