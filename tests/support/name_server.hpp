// A name server of a test program that has a getaddrinfo of its own.
#pragma once

#include <condition_variable>
#include <mutex>

namespace herdlock_test {

/// Where those who ask for a name wait while there is no answer.
class name_server {
 public:
  void pass() {
    std::unique_lock alone(mutex_);
    ++asking_;
    answers_again_.wait(alone, [this] { return answers_; });
    --asking_;
  }
  void hang() {
    std::lock_guard const alone(mutex_);
    answers_ = false;
  }
  void answer() {
    std::lock_guard const alone(mutex_);
    answers_ = true;
    answers_again_.notify_all();
  }
  int asking() {
    std::lock_guard const alone(mutex_);
    return asking_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable answers_again_;
  bool answers_ = true;
  int asking_ = 0;
};

inline name_server& names() {
  static auto& one = *new name_server;  // for threads that outlive main()
  return one;
}

}  // namespace herdlock_test
