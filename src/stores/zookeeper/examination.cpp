#include "stores/zookeeper/zookeeper_store.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <sstream>

#include "stores/common/look_up.hpp"
#include "stores/common/numbers.hpp"
#include "stores/zookeeper/client_handle.hpp"
#include "stores/zookeeper/settings.hpp"

namespace herdlock {
namespace zookeeper {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

struct session_watch final : handle_listener {
  void on_handle_event(std::uint64_t, handle_event what, milliseconds timeout) override {
    if (what == handle_event::connected) agreed = timeout;
    over = agreed || what == handle_event::refused_login || what == handle_event::no_handle;
  }

  std::optional<milliseconds> agreed;
  bool over = false;
};

// The session timeout that a session of our own is granted; nothing when there is none in time.
std::optional<milliseconds> granted_timeout(settings const& how) {
  asio::io_context io;
  auto const stays = asio::make_work_guard(io);
  auto const session = std::make_shared<session_watch>();
  client_handle handle(io.get_executor(), session, 1);
  handle.open(how);
  auto const until = std::chrono::steady_clock::now() + how.timeout;
  while (!session->over && io.run_one_until(until) > 0) {
  }
  return session->agreed;
}

// A server of the list; nothing when its name is not found in time.
std::vector<tcp::endpoint> endpoints_of(std::string const& server, milliseconds limit) {
  auto const colon = server.rfind(':');
  std::string host = server.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  auto const port = whole_number<std::uint16_t>(std::string_view(server).substr(colon + 1));
  std::vector<tcp::endpoint> all;
  for (auto const& each : stores::look_up_here(host, clock::now() + limit, -1).all) {
    all.emplace_back(asio::ip::make_address(each), port.value_or(0));
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
  settings by_address = how;
  by_address.servers = addresses_of(how);
  std::optional<milliseconds> agreed;
  if (!by_address.servers.empty()) agreed = granted_timeout(by_address);
  into.expect(agreed.has_value(), {"zookeeper.reachable", severity::error,
                                   how.servers + " give no session within " + in_ms(how.timeout),
                                   "there is no lock to be had",
                                   "start them; an ensemble without a majority serves nobody"});
  if (!agreed) return;
  into.expect(*agreed == how.session_timeout,
              {"zookeeper.session", severity::warning,
               "asked for a session timeout of " + in_ms(how.session_timeout) +
                   ", the server gives " + in_ms(*agreed),
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
