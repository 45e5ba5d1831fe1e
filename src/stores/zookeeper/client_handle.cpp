#include "stores/zookeeper/client_handle.hpp"

#include <zookeeper/zookeeper.h>

#include <array>
#include <boost/asio/post.hpp>

#include "types/quiet_thread.hpp"

namespace herdlock::zookeeper {
namespace {

ACL_vector const* rights_of(access acl) {
  return acl == access::open ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
}

}  // namespace

struct client_handle::call {
  client_handle* via;
  reply_handler done;             // on the executor
  std::function<void(int)> told;  // instead, and at once
  clock::time_point sent;
  std::list<std::unique_ptr<call>>::iterator listed{};
  // The C client writes to it when a transaction ends.
  std::array<zoo_op_t, 2> operations{};
  std::array<zoo_op_result_t, 2> results{};
};

// What the C client calls, on threads of its own.
struct client_handle::callbacks {
  static call& of(void const* data) { return *static_cast<call*>(const_cast<void*>(data)); }

  static void finish(void const* data, reply answer) {
    call& one = of(data);
    one.via->finish(one, std::move(answer));
  }

  static void on_void(int code, void const* data) { finish(data, {.code = code}); }

  static void on_stat(int code, Stat const*, void const* data) { finish(data, {.code = code}); }

  static void on_string(int code, char const* text, void const* data) {
    finish(data, {.code = code, .text = code == ZOK && text ? text : ""});
  }

  static void on_created(int code, char const* path, Stat const* stat, void const* data) {
    reply answer{.code = code};
    if (code == ZOK && path && stat) {
      answer.text = path;
      answer.fencing.value = static_cast<std::uint64_t>(stat->czxid);
    }
    finish(data, std::move(answer));
  }

  static void on_data(int code, char const* bytes, int size, Stat const* stat, void const* data) {
    reply answer{.code = code};
    if (code == ZOK && stat) {
      if (bytes && size > 0) answer.text.assign(bytes, static_cast<std::size_t>(size));
      answer.fencing.value = static_cast<std::uint64_t>(stat->czxid);
    }
    finish(data, std::move(answer));
  }

  static void on_names(int code, String_vector const* names, void const* data) {
    reply answer{.code = code};
    if (code == ZOK && names) answer.names.assign(names->data, names->data + names->count);
    finish(data, std::move(answer));
  }

  static void on_event(zhandle_t* handle, int type, int state, char const* path, void* context) {
    auto& self = *static_cast<client_handle*>(context);
    if (type != ZOO_SESSION_EVENT) return self.tell_watch_event(path, type);
    if (state == ZOO_CONNECTED_STATE) {
      self.tell(handle_event::connected, milliseconds(zoo_recv_timeout(handle)));
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
      self.tell(handle_event::expired, {});
    } else if (state == ZOO_AUTH_FAILED_STATE) {
      self.tell(handle_event::refused_login, {});
    } else {
      self.tell(handle_event::suspended, {});
    }
  }

  // Each watch that is set hears of the session, too; the handle's own watcher has told of that.
  static void on_watch_event(zhandle_t*, int type, int, char const* path, void* context) {
    if (type == ZOO_SESSION_EVENT) return;
    static_cast<client_handle*>(context)->tell_watch_event(path, type);
  }

  static void on_log(char const*) {}  // it would go to standard error
};

client_handle::client_handle(asio::any_io_executor executor,
                             std::weak_ptr<handle_listener> listener, std::uint64_t number)
    : listener_(std::move(listener)), number_(number), executor_(std::move(executor)) {}

client_handle::~client_handle() {
  detach(calls::dropped);
  end();
}

void client_handle::open(settings const& how) {
  std::lock_guard const alone(handle_guard_);
  {
    std::lock_guard const with_calls(calls_guard_);
    if (detached_) return;
  }
  auto const timeout = static_cast<int>(how.session_timeout.count());
  detail::signals_blocked const for_its_threads;
  handle_ = zookeeper_init2(how.servers.c_str(), &callbacks::on_event, timeout, nullptr, this, 0,
                            &callbacks::on_log);
  if (!handle_) tell(handle_event::no_handle, {});
}

// The C client's own last answers, while it closes, are as good as none.
void client_handle::detach(calls under_way) {
  asio::any_io_executor last;  // these two go without the guard
  std::vector<reply_handler> unanswered;
  std::lock_guard const alone(calls_guard_);
  if (detached_) return;
  detached_ = true;
  last.swap(executor_);
  for (auto const& one : calls_) {
    if (!one->done) continue;
    auto done = std::exchange(one->done, nullptr);
    if (under_way == calls::dropped) {
      unanswered.push_back(std::move(done));
      continue;
    }
    reply expired{.code = ZSESSIONEXPIRED, .sent = one->sent, .session = number_};
    asio::post(last, [done = std::move(done), expired] { done(expired); });
  }
}

void client_handle::end() {
  _zhandle* handle = nullptr;
  {
    std::lock_guard const alone(handle_guard_);
    handle = std::exchange(handle_, nullptr);
  }
  if (handle) zookeeper_close(handle);
  std::list<std::unique_ptr<call>> left;
  std::lock_guard const alone(calls_guard_);
  left.swap(calls_);
}

void client_handle::log_in(std::string const& login) {
  std::lock_guard const alone(handle_guard_);
  if (!handle_) return;
  // Sent in front of every later request, and again after each reconnection. A refusal comes as an
  // event of the session.
  zoo_add_auth(
      handle_, "digest", login.data(), static_cast<int>(login.size()), [](int, void const*) {},
      nullptr);
}

void client_handle::send(request const& what, access acl, reply_handler done) {
  submit(std::make_unique<call>(call{this, std::move(done), nullptr, clock::now()}), what, acl);
}

void client_handle::remove(std::string const& path, std::function<void(int)> told) {
  submit(std::make_unique<call>(call{this, nullptr, std::move(told), clock::now()}),
         {verb::remove, path}, access::open);
}

void client_handle::submit(std::unique_ptr<call> fresh, request const& what, access acl) {
  // All the way: end() frees what is under way as soon as it has had this guard.
  std::lock_guard const open(handle_guard_);
  call* one = nullptr;
  {
    std::lock_guard const alone(calls_guard_);
    if (detached_) return;
    one = fresh.get();
    one->listed = calls_.insert(calls_.end(), std::move(fresh));
  }
  int const code = start(*one, what, acl);
  if (code != ZOK) finish(*one, {.code = code});
}

int client_handle::transact(call& one, request const& what, access acl) {
  auto& [first, second] = one.operations;
  char const* const other = what.other.c_str();
  auto const size = static_cast<int>(what.data.size());
  zoo_check_op_init(&first, what.path.c_str(), -1);
  if (what.what == verb::make_other) {
    zoo_create_op_init(&second, other, what.data.data(), size, rights_of(acl), ZOO_PERSISTENT,
                       nullptr, 0);
  } else if (what.what == verb::set_other) {
    zoo_set_op_init(&second, other, what.data.data(), size, -1, nullptr);
  } else if (what.what == verb::remove_both) {
    zoo_delete_op_init(&first, what.path.c_str(), -1);
    zoo_delete_op_init(&second, other, -1);
  }
  int const count = what.what == verb::check ? 1 : 2;
  return zoo_amulti(handle_, count, one.operations.data(), one.results.data(), &callbacks::on_void,
                    &one);
}

int client_handle::start(call& one, request const& what, access acl) {
  if (!handle_) return ZINVALIDSTATE;
  char const* const path = what.path.c_str();
  auto const size = static_cast<int>(what.data.size());
  auto const create = [&](int mode) {
    return zoo_acreate2(handle_, path, what.data.data(), size, rights_of(acl), mode,
                        &callbacks::on_created, &one);
  };
  switch (what.what) {
    case verb::create:
      return create(ZOO_EPHEMERAL_SEQUENTIAL);
    case verb::make:
      return create(ZOO_PERSISTENT);
    case verb::contain:
      return create(ZOO_CONTAINER);
    case verb::remove:
      return zoo_adelete(handle_, path, -1, &callbacks::on_void, &one);
    case verb::set:
      return zoo_aset(handle_, path, what.data.data(), size, -1, &callbacks::on_stat, &one);
    case verb::check:
    case verb::make_other:
    case verb::set_other:
    case verb::remove_both:
      return transact(one, what, acl);
    case verb::children:
      return zoo_aget_children(handle_, path, 0, &callbacks::on_names, &one);
    case verb::get:
      return zoo_aget(handle_, path, 0, &callbacks::on_data, &one);
    case verb::get_watch:
      return zoo_awget(handle_, path, &callbacks::on_watch_event, this, &callbacks::on_data, &one);
    case verb::sync:
      return zoo_async(handle_, path, &callbacks::on_string, &one);
  }
  return ZBADARGUMENTS;
}

void client_handle::finish(call& one, reply answer) {
  std::lock_guard const alone(calls_guard_);
  answer.sent = one.sent;
  answer.session = number_;
  auto done = std::move(one.done);
  auto const told = std::move(one.told);
  calls_.erase(one.listed);
  if (detached_) return;
  if (told) return told(answer.code);
  asio::post(executor_, [done = std::move(done), answer = std::move(answer)]() mutable {
    done(std::move(answer));
  });
}

void client_handle::tell(handle_event what, milliseconds timeout) {
  std::lock_guard const alone(calls_guard_);
  if (detached_) return;
  asio::post(executor_, [listener = listener_, number = number_, what, timeout] {
    if (auto alive = listener.lock()) alive->on_handle_event(number, what, timeout);
  });
}

void client_handle::tell_watch_event(char const* path, int type) {
  auto const what = type == ZOO_DELETED_EVENT ? watch_event::gone : watch_event::other;
  std::lock_guard const alone(calls_guard_);
  if (detached_) return;
  asio::post(executor_, [listener = listener_, where = std::string(path ? path : ""), what] {
    if (auto alive = listener.lock()) alive->on_watch_event(where, what);
  });
}

}  // namespace herdlock::zookeeper
