#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <support/free_port.hpp>
#include <support/zookeeper_server.hpp>

namespace herdlock_test {
namespace {

// A JVM each: on a loaded machine three of them take longer than what they are asked then.
constexpr std::chrono::milliseconds start_patience{60'000};

std::string class_path() {
  char const* const jars[] = {"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-nop.jar"};
  std::string path;
  for (auto const* jar : jars) {
    if (!std::filesystem::exists(jar)) {
      throw std::runtime_error(std::string(jar) + " is missing; install libzookeeper-java");
    }
    path += (path.empty() ? "" : ":") + std::string(jar);
  }
  return path;
}

// A connection to a loopback port that gives up soon.
class short_connection {
 public:
  explicit short_connection(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    timeval const patience_of_it{5, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience_of_it, sizeof patience_of_it);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    open_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~short_connection() { ::close(fd_); }
  short_connection(short_connection const&) = delete;
  short_connection& operator=(short_connection const&) = delete;

  std::string ask(std::string const& text) {
    std::string answer;
    if (!open_ || ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return answer;
    char part[4096];
    for (ssize_t n; (n = ::recv(fd_, part, sizeof part, 0)) > 0;) {
      answer.append(part, static_cast<std::size_t>(n));
    }
    return answer;
  }

 private:
  int fd_;
  bool open_ = false;
};

}  // namespace

zookeeper_member::zookeeper_member(std::size_t number, std::vector<ports> const& all,
                                   zookeeper_extras more)
    : java_(std::move(more.java)), syncs_(more.syncs), port_(all[number - 1].client) {
  std::ofstream config(folder_ / "zoo.cfg");
  config << "tickTime=200\nminSessionTimeout=400\nmaxSessionTimeout=60000\ninitLimit=50\n"
         << "syncLimit=25\nclientPortAddress=127.0.0.1\nclientPort=" << port_
         << "\ndataDir=" << folder_.path().string()
         << "\nadmin.enableServer=false\nmaxClientCnxns=0\n"
         << "4lw.commands.whitelist=*\n";
  if (all.size() > 1) {
    std::ofstream(folder_ / "myid") << number << "\n";
    for (std::size_t i = 0; i < all.size(); ++i) {
      config << "server." << i + 1 << "=127.0.0.1:" << all[i].quorum << ":" << all[i].election
             << "\n";
    }
  }
  for (auto const& line : more.config) config << line << "\n";
  config.close();
  start();
}

// Containers are looked at each second, so that a test sees them go.
void zookeeper_member::start() {
  child_.reset();
  child_options how;
  how.argv = {find_program("java", "default-jre-headless"),
              "-Xmx256m",
              "-XX:TieredStopAtLevel=1",
              "-Dznode.container.checkIntervalMs=1000",
              "-cp",
              class_path(),
              "org.apache.zookeeper.server.quorum.QuorumPeerMain",
              (folder_ / "zoo.cfg").string()};
  how.syncs = syncs_;
  how.argv.insert(how.argv.begin() + 1, java_.begin(), java_.end());
  how.folder = folder_.path();
  child_.emplace(std::move(how));
}

void zookeeper_member::configure(std::string const& line) {
  std::ofstream(folder_ / "zoo.cfg", std::ios::app) << line << "\n";
}

std::string zookeeper_member::word(std::string const& four) const {
  return short_connection(port_).ask(four);
}

std::optional<double> zookeeper_member::figure(std::string const& name) const {
  std::istringstream lines(word("mntr"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + "\t")) return std::stod(line.substr(name.size() + 1));
  }
  return std::nullopt;
}

bool zookeeper_member::serves() const { return word("srvr").find("Mode: ") != std::string::npos; }

zookeeper_server::zookeeper_server(std::size_t members, zookeeper_extras const& more)
    : zookeeper_server(members, [&more](auto const&...) { return more; }) {}

zookeeper_server::zookeeper_server(std::size_t members, extras_of const& more) {
  for (int i = 0; i < start_attempts; ++i) {
    members_.clear();
    std::vector<zookeeper_member::ports> ports;
    for (std::size_t n = 0; n < members; ++n) {
      ports.push_back({ports_.add(), ports_.add(), ports_.add()});
    }
    for (std::size_t n = 1; n <= members; ++n) {
      members_.push_back(std::make_unique<zookeeper_member>(n, ports, more(n, ports)));
    }
    bool died = false;
    auto const settled = [&] {
      for (auto& one : members_) died = died || !one->running();
      return died || all_serve();
    };
    if (eventually(start_patience, settled) && !died) return;
  }
  throw std::runtime_error("ZooKeeper does not start:\n" + members_.front()->errors());
}

zookeeper_server& zookeeper_server::shared() {
  static zookeeper_server server;
  return server;
}

bool zookeeper_server::all_serve() const {
  for (auto const& one : members_) {
    if (!one->serves()) return false;
  }
  return true;
}

std::size_t zookeeper_server::leader() const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i]->word("srvr").find("Mode: leader") != std::string::npos) return i;
  }
  throw std::runtime_error("nobody leads the ensemble");
}

std::size_t zookeeper_server::follower() const {
  auto const leads = leader();
  return leads == 0 ? 1 : 0;
}

std::string zookeeper_server::fresh_chroot() {
  return "/test/" + std::to_string(::getpid()) + "-" + std::to_string(++chroots_);
}

std::string zookeeper_server::url(std::string const& chroot) const {
  std::string text = "zk://";
  for (auto const& one : members_) {
    if (&one != &members_.front()) text += ",";
    text += "127.0.0.1:" + std::to_string(one->port());
  }
  return text + chroot;
}

void zookeeper_server::restart() {
  auto& only = *members_.front();
  only.start();
  auto const settled = [&] { return !only.running() || only.serves(); };
  if (!eventually(start_patience, settled) || !only.running()) {
    throw std::runtime_error("ZooKeeper does not restart:\n" + only.errors());
  }
}

}  // namespace herdlock_test
