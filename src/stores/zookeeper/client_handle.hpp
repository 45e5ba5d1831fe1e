// The border to the C client: one handle of it, and the calls that are under way on it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <herdlock/detail/async.hpp>
#include <herdlock/types.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "stores/zookeeper/settings.hpp"

struct _zhandle;  // NOLINT(bugprone-reserved-identifier): the C client's

namespace herdlock::zookeeper {

/// First those that write.
enum class verb {
  create,   ///< an ephemeral sequential node; `text` is its path, `fencing` its czxid
  make,     ///< a persistent node
  contain,  ///< a container, which the server removes some time after its last child
  remove,   ///< whatever its version
  set,      ///< its data
  check,    ///< a transaction that does nothing, but fails when there is no such node
  // The same with a persistent node beside it, `other`, whose data is `data`:
  make_other,   ///< ZNODEEXISTS: it is there already
  set_other,    ///< ZNONODE: one of them is not there
  remove_both,  ///< ZNONODE: one of them is not there
  children,     ///< `names`
  get,          ///< `text` and `fencing`
  get_watch,    ///< the same, and tells when the node changes or goes
  sync,         ///< what was written before is seen by later reads of this session
};

struct request {
  verb what;
  std::string path;
  std::string data{};
  std::uint64_t session = 0;  ///< the one it is for; 0: any
  std::string other{};
};

struct reply {
  int code = 0;  ///< the C client's; ZOK is 0
  std::string text{};
  std::vector<std::string> names{};
  fencing_token fencing{};
  clock::time_point sent{};
  std::uint64_t session = 0;  ///< in which it was sent
};
using reply_handler = std::function<void(reply)>;

enum class watch_event { gone, other };
enum class handle_event { connected, suspended, expired, refused_login, no_handle };

/// Who hears of a handle's events, on the executor.
class handle_listener {
 public:
  virtual ~handle_listener() = default;
  virtual void on_handle_event(std::uint64_t session, handle_event what, milliseconds timeout) = 0;
  virtual void on_watch_event(std::string const&, watch_event) {}
};

/// The C client has two threads of its own, on which it calls back; each callback is posted to the
/// executor at once. After detach() nothing is posted any more, and the executor may go.
class client_handle {
 public:
  client_handle(asio::any_io_executor executor, std::weak_ptr<handle_listener> listener,
                std::uint64_t number);
  ~client_handle();
  client_handle(client_handle const&) = delete;
  client_handle& operator=(client_handle const&) = delete;

  std::uint64_t number() const { return number_; }

  /// Blocks while names are looked up, perhaps for ever; not for the executor.
  void open(settings const& how);
  /// What becomes of the calls that are under way.
  enum class calls { dropped, answered };
  /// From any thread. Calls are answered with ZSESSIONEXPIRED, as events of the executor, if they
  /// are.
  void detach(calls under_way);
  /// Once it is detached, from any thread but the C client's; blocks until open() is done and the
  /// C client's threads have ended, which look names up, too, when they connect again.
  void end();

  /// From the executor. The handler is called as an event of it, with an error at the latest when
  /// the connection is lost.
  void send(request const& what, access acl, reply_handler done);
  void log_in(std::string const& login);
  /// From any thread but the C client's. `told` is called on one of those, or at once, and never
  /// after detach(); it calls nothing of the handle.
  void remove(std::string const& path, std::function<void(int code)> told);

 private:
  struct call;
  struct callbacks;
  friend struct callbacks;

  void submit(std::unique_ptr<call> fresh, request const& what, access acl);
  /// With handle_guard_.
  int start(call& one, request const& what, access acl);
  int transact(call& one, request const& what, access acl);
  void finish(call& one, reply answer);
  void tell(handle_event what, milliseconds timeout);
  void tell_watch_event(char const* path, int type);

  std::weak_ptr<handle_listener> const listener_;
  std::uint64_t const number_;

  std::mutex handle_guard_;  ///< before calls_guard_; never taken by the C client's threads
  _zhandle* handle_ = nullptr;

  std::mutex calls_guard_;
  asio::any_io_executor executor_;  ///< none once it is detached
  std::list<std::unique_ptr<call>> calls_;
  bool detached_ = false;
};

}  // namespace herdlock::zookeeper
