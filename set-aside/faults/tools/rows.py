# ------------------------------------------------------------------------------------ L
row("L1", ("election_threads_tests", "tests/unit/election_threads_tests"), "ElectionThreads.*",
    "a thread that cannot be had is thrown out of the initiation, and the term goes on without work",
    ("src/runtime/election_work.cpp", """  try {
    self->set_value(std::thread(std::move(run)));
  } catch (...) {
    asio::post(executor, [done, thrown = std::current_exception()] { std::move (*done)(thrown); });
  }
""", "  self->set_value(std::thread(std::move(run)));\n"))
row("L2", E2E, """GroupReaper.OrphansAreReapedInTurnsWithoutALookAtAllProcesses
    GroupReaper.ThereIsOneWalkInATurnAtMost
    GroupReaper.TheLastOneOfTheGroupIsToldOfBeforeItIsReaped""",
    "each orphan of the group costs a walk over all processes, and all are reaped in one turn",
    ("src/cli/common/group_reaper.cpp",
     "for (int i = 0; i < children_per_turn; ++i) {", "for (;;) {"),
    ("src/cli/common/group_reaper.cpp",
     "if (over_ || at_.group_of(child) != group_ || is_kept_by_another(child)) return true;\n"
     "  if (std::exchange(walked_, true)) return false;\n",
     "if (over_ || at_.group_of(child) != group_) return true;\n"))
row("L3", F, "modes/postgres_line.AProcessThatStandsStillCostsOneTermHoweverManyOfItsWaitersAreQueued/*",
    "PostgreSQL's hand-over forgets who let a grant run out: each waiter of a stopped process costs a term",
    ("src/stores/postgres/table_statements.cpp", "IF hung IS NOT NULL AND EXISTS (", "IF false AND EXISTS ("))
row("L3_confirmed", F, "modes/postgres_line.ALeaseThatRanOutLeavesTheOthersOfItsProcessInTheLine/*",
    "a grant that was renewed and then ran out counts as one that nobody confirmed",
    ("src/stores/postgres/table_statements.cpp",
     "\n    AND l.expires_at - l.acquired_at <= least(m.ttl_ms, 3000) * interval '1 ms'\n", "\n"))
row("L4", E2E, "RunRefusals.AStoreInOneProcessExcludesNobody",
    "`run` takes memory: without a word",
    ("src/cli/run/run_options.cpp", """  throw command_error(exit_code::usage,
                      "memory: lives in one process; a run needs a store that processes share "
                      "(sqlite:PATH, redis://…)");
""", "  return text;\n"))
row("L5", F, """redis_new_connection.AServerThatForgotIsTheLossInEachDialect
    RedisSentinelNewConnection.TheNextMasterIsAskedForWhatIsHeld
    RedisClusterNewConnection.ANodeThatForgotIsTheLoss redlock.NodesThatAllForgotAreTheLoss""",
    "no store's new connection renews what is held (the runtime does not listen)",
    ("src/runtime/store_core.cpp", """  ports_.leases->on_new_connection([weak = std::weak_ptr(roll_)] {
    if (auto const roll = weak.lock()) roll->renew_all(clock::now(), random_unit());
  });
""", ""))
row("L5_roll", U, "LeaseRoll.* LeaseConnection.*",
    "news of a connection bring no renewal forward (the roll)",
    ("src/runtime/lease_roll.cpp", "one.renew_by(last_news_);", "one.renew_by(clock::time_point::max());"))
row("L5_machine", U, """LeaseRenewBy.ANewConnectionBringsTheRenewalForward
    LeaseRenewBy.ANewConnectionPutsNoRenewalOff LeaseRenewBy.WhatIsUnderWayDoesNotCountForANewConnection""",
    "news of a connection bring no renewal forward (the machine; the other faults are in lease_mutants.py)",
    ("src/algo/lease_machine.cpp",
     "  renew_by_ = std::min(at, renew_by_.value_or(at));\n  hasten_renewal();\n", "  static_cast<void>(at);\n"))
row("L6", F, "modes/postgres_line.ALeaveThatIsRefusedIsRepeatedUntilItIsAnswered/*",
    "a refused leave of PostgreSQL's line counts as answered: it is sent once",
    ("src/stores/postgres/table_queue.cpp", "    if (answered) {\n      self->forget_leaver(number);",
     "    if (true) {\n      self->forget_leaver(number);"))
row("L6_back", F, "modes/postgres_line.WhoIsBackInTheLineIsNotThrownOutByHisOldLeave/*",
    "who is back in the line does not take back his old leave, which is repeated behind him",
    ("src/stores/postgres/table_store.cpp", "    queue_->forget_leave(request);\n", ""))
row("L6_machine", U, "UnansweredLeaves.OneThatIsRefusedIsSentUntilItIsAnswered",
    "a leave that was refused is not kept (the other faults are in leaves_mutants.py)",
    ("src/algo/unanswered_leaves.cpp", "  auto action = keep(number);\n",
     "  static_cast<void>(number);\n  leave_action action;\n"))
row("L7", U, "ThreadSignals.AStoresOwnThreadTakesNone",
    "a store's own thread has the signals of the thread that opened it",
    ("src/runtime/io_runner.cpp", 'detail::start_quiet_thread("herdlock", [mine', "std::thread([mine"))
row("L7_stores", C, "stores/thread_contract.TheProgramsSignalsAreForItsOwnThreads/*",
    "the same at every store",
    ("src/runtime/io_runner.cpp", 'detail::start_quiet_thread("herdlock", [mine', "std::thread([mine"))
row("L7_users", U, """ThreadSignals.AnElectionsWorkHasThoseOfWhoMadeTheService
    ThreadSignals.ALoaderHasThoseOfWhoMadeItsCache""",
    "the work of a term and a loader block all signals, as the store's thread that made theirs",
    ("src/runtime/election_work.cpp", "    what.signals.take_on();\n", ""),
    ("src/types/quiet_thread.cpp", "    signals.take_on();\n    body();\n", "    body();\n"))
NO_FORKS = ("src/types/process_bound.cpp",
            "::pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1); });",
            "::pthread_atfork(nullptr, nullptr, nullptr);")
row("L8", U, "Fork.*-Fork.AChildOpensAStoreOfItsOwn",
    "nobody counts the forks: calls and destructors of inherited handles wait for ever (also N6; each red test takes 20 s, its alarm)",
    NO_FORKS)
row("L8_stores", C, """stores/process_fork_contract.AChildIsRefusedAndLeavesTheLeaseToItsParent/memory
    stores/process_fork_contract.AChildIsRefusedAndLeavesTheLeaseToItsParent/sqlite
    stores/process_fork_contract.AChildIsRefusedAndLeavesTheLeaseToItsParent/redis
    stores/process_fork_contract.AChildIsRefusedAndLeavesTheLeaseToItsParent/postgres_table""",
    "the same over four stores", NO_FORKS)
row("U5", C, """stores/process_end_contract.AChildThatExitsLeavesThemToItsParent/memory
    stores/process_end_contract.AChildThatExitsLeavesThemToItsParent/sqlite
    stores/process_end_contract.AChildThatExitsLeavesThemToItsParent/redis""",
    "nobody counts the forks: a child's exit() destroys inherited objects, and hangs", NO_FORKS)
row("L9", ("rotated_files_tests", "tests/fault/rotated_files_tests"), "TlsSource.AnEncryptedKeyIsRefused",
    "OpenSSL asks for the pass phrase of an encrypted key (Redis, etcd)",
    ("src/stores/common/tls_context.cpp", "  into.set_password_callback(no_answer, ec);\n", ""))
row("L9_postgres", F, "postgres_tls.AnEncryptedKeyIsRefusedAndNobodyIsAskedForItsPassPhrase",
    "libpq lets OpenSSL ask for the pass phrase of an encrypted key",
    ("src/stores/postgres/connection.cpp", """{"keepalives_count", "3"},
                                                       {"sslpassword", no_pass_phrase}};""",
     """{"keepalives_count", "3"}};"""))
row("L11", F, "RedisSecurity.TlsChecksTheHostName EtcdTlsTest.ACertificateForAnotherNameIsRefused",
    "a certificate for another name is told in OpenSSL's words",
    ("src/stores/common/tls_source.cpp",
     """  if (kind_of(verdict) == distrust::name) return "it is for another name than " + in_quotes(host);
""", "  static_cast<void>(host);\n"))
row("L13a", DOC, "DoctorRedis.TakesNoLongerLeaseThanTheStoreAllows DoctorRedlock.FindsNothingWhereRestartedNodesWait",
    "doctor's probe asks for 30 s whatever the store allows",
    ("src/cli/doctor/probe.cpp", "ttl == probe_ttls.back()) throw;", "ttl == probe_ttls.front()) throw;"))
row("L13b", DOC, "DoctorRedlock.FindsNothingWhereRestartedNodesWait",
    "doctor advises append-only files where restarted nodes wait",
    ("src/stores/redis/examination/examination.cpp",
     'waits ? nullptr : "set appendonly yes, or leave restart_delay out (60s)");',
     'waits ? "set appendonly yes" : "set appendonly yes, or leave restart_delay out (60s)");'))
row("L14", F, "redlock.OneServerUnderTwoNamesIsAWarning",
    "Redlock does not compare its servers",
    ("src/stores/redis/redlock/redlock_node.cpp",
     "  if (auto const owner = owner_.lock()) owner->on_node_server(index_, found->run_id);\n", ""))
# ------------------------------------------------------------------------------------ N
row("N2_once", E2E, """RunPlan.SuccessIsLeftAsDoneAndFailureIsTriedAgain Stores/RunOnce.WhatIsDoneIsNotDoneAgain/*
    Stores/RunOnce.WhoWaitsWhileItIsDoneEndsWithIt/*""",
    "what succeeded is not left as done: --once-per does nothing (also U3)",
    ("src/cli/run/run_plan.cpp",
     "auto const how = status == 0 && times_.once_per > milliseconds{0} ? left_as::done : left_as::held;",
     "static_cast<void>(status);\n  auto const how = left_as::held;"))
row("N2_min_hold", E2E, """RunPlan.TheLeaseIsKeptUntilItsGrantIsAsOldAsWasAskedFor
    RunPlan.WhereTheStoreCanKeepALeaseItIsLeftThere RunPlan.SuccessIsLeftAsDoneAndFailureIsTriedAgain
    Stores/RunHold.*""",
    "--min-hold does nothing: short work gives its lease back at once",
    ("src/cli/run/run_plan.cpp", "? times_.once_per : times_.min_hold;", "? times_.once_per : milliseconds{0};"))
GIVEN_BACK = ("src/runtime/lease_core.cpp",
              "if (!self.releasing_ && !self.released_ && left >= limits::min_ttl) {",
              "if (false && !self.releasing_ && !self.released_ && left >= limits::min_ttl) {")
row("N2_leave", C, " ".join(f"stores/leave_contract.{test}/{store}" for test in
    ("ALeaseThatIsLeftForLongerThanItsTtlOutlivesIt", "WhatIsLeftAsDoneTellsWhoDidItAndHowLongAgo")
    for store in ("memory", "sqlite", "redis", "redis_cluster", "mysql_table", "postgres_table", "etcd")),
    "a lease that is to be left is given back", GIVEN_BACK)
row("N2_leave_unit", U, "LeaveTest.TheStoreIsAskedOnceForWhatIsLeftOfTheTime",
    "the same over a scripted store", GIVEN_BACK)
row("N2_etcd", F, "EtcdLeaveTest.WhoWasNotAnsweredAsksAgainAndHearsThatItWasLeft ways/EtcdLeaveCutTest.*",
    "etcd: who asks again after a lost answer is not told that the key was left",
    ("src/stores/etcd/owned_key_left.cpp",
     "    if (was_left && own->lease == next) co_return release_reply::released;\n", ""))
row("N2_refusal", E2E, "RunRefusals.ALeaseThatCannotBeLeftCannotBeDone",
    "--once-per is taken where a lease cannot be left",
    ("src/cli/run/run.cpp", "int session::go() {\n  check_once();\n", "int session::go() {\n"))
row("N3", E2E, "Citizen.WithoutAStoreItSaysWhomItExcludes",
    "with --if-busy quiet a store that nobody named is not told",
    ("src/cli/run/run.cpp", "if (options_.store_named == store_choice::by_default) log_.warns",
     "if (options_.store_named == store_choice::by_default && !quiet) log_.warns"))
row("N4", F, """modes/postgres_tables.AUserWhoMayNotCreateTablesIsToldWhoPrintsTheStatements/*
    modes/mysql_modes.WithoutTheRightToMakeTheTableTheErrorTellsWhoPrintsTheStatements/*""",
    "the error of a user without rights holds the SQL (PostgreSQL), or none, and does not name doctor",
    ("src/stores/postgres/command_connection.cpp",
     """    if (a) return self.prepare();
    self.set_up_failed(a.error());
  };
  connection_->run_script(needed_.script""", """    if (a) return self.prepare();
    auto why = a.error();
    if (why.state == "42501") why.message += "; let somebody run:\\n" + self.needed_.script;
    self.set_up_failed(why);
  };
  connection_->run_script(needed_.script"""),
    ("src/stores/postgres/sql_error.cpp",
     '"`herdlock doctor` prints the SQL for somebody who may grant it; or use another user"',
     '"grant the right, or use another user"'),
    ("src/stores/mysql/sql_error.cpp",
     """on the tables; `herdlock doctor` prints the "
    "SQL for an administrator that makes them and grants these";""",
     """on the tables; if it may not create it, "
    "let an administrator do so";"""))
row("N4_doctor", DOC, "DoctorSql.*",
    "doctor's way out of missing rights is words, no SQL",
    ("src/stores/postgres/examination.cpp",
     "(missing.tables ? set_up_script(how_, user) : grant_script(how_, user))",
     'std::string("GRANT them")'),
    ("src/stores/mysql/examination.cpp", '"let an administrator run:\\n" + how_.set_up_script(account)',
     'account + " needs SELECT, INSERT, UPDATE, DELETE, CREATE on the database"'))
row("N5", E2E, """Options/RunAway.AStoreThatComesBackInTimeIsUsed/retry Options/RunAway.ASignalEndsTheTrying/retry
    RunPlan.RetryIsForTheStoreAndNotForTheHolder RunPlan.PausesGrowToASecondAndEndWithTheTime""",
    "--retry does nothing: one failure of the store ends the run",
    ("src/cli/run/run_plan.cpp", "left_of(std::max(times_.wait, times_.retry), began_, now)",
     "left_of(times_.wait, began_, now)"))
row("U2", E2E, """Options/RunAway.AStoreThatComesBackInTimeIsUsed/wait Options/RunAway.ASignalEndsTheTrying/wait
    RunPlan.AStoreThatIsAwayIsAskedAgainWithinTheWait""",
    "--wait does not outlast a store that is away at the first look",
    ("src/cli/run/run_plan.cpp", "left_of(std::max(times_.wait, times_.retry), began_, now)",
     "left_of(times_.retry, began_, now)"))
row("N10", ("cache_tests", "tests/unit/cache_tests"), "CacheAge.AnEntryOfAPlainCacheIsAMissAndIsOverwritten",
    "entries that cannot be decoded are counted, and not warned of",
    ("src/runtime/cache_engine.cpp",
     "  warn_of_foreign_entries(counters, values_->display_name(), options());\n", ""))
row("N11", U, "LockTwice.AThreadThatWaitsForItselfIsWarnedOfAsItBegins",
    "who waits for itself hears nothing",
    ("src/runtime/acquire_op.cpp", """  bool const blocks = asked_.by != std::thread::id{};
  if (blocks && options_.wait > milliseconds{0}) core_->roll().wait_begins(name_, asked_.by);
""", ""))
row("N13", F, "RedisConnection.AWaitThatCannotConnectSaysThatItCannotAcquire",
    "who waits is told that it cannot leave the queue",
    ("src/stores/redis/queue/lease_messages.hpp",
     """it wanted to acquire.
  static constexpr std::string_view verb = "acquire";""",
     """it wanted to acquire.
  static constexpr std::string_view verb = "leave the queue for";"""))
row("N14", E2E, "LookAtOthers.AListOfAServerThatDoesNotRunSaysSo",
    "a list's own limit is over in the same moment as that of its command",
    ("src/stores/redis/lease_list.cpp", "from.timeout + from.timeout / 20", "from.timeout"))
row("N17_lease", U, "MovedHandles.ALeaseIsNoLeaseAnyMore",
    "a lease that was moved from is a null pointer that is followed (it crashes)",
    ("src/runtime/lease.cpp", """  if (core_) return *core_;
  throw error(make_failure(errc::lost,
                           "there is no lease in this object: it was moved to another one, or "
                           "handed over"));
""", "  return *core_;\n"))
row("N17_election", U, "MovedHandles.AnElectionIsIdle",
    "the same of an election (it crashes)",
    ("src/runtime/election.cpp", """  if (core_) return *core_;
  throw error(make_failure(errc::not_supported, "this election was moved to another object"));
""", "  return *core_;\n"))
row("N17_store", U, "MovedHandles.AStoreAndALockStandForNothing",
    "a store that was moved from ends the process (as its null pointer did)",
    ("src/open/open.cpp",
     '  throw error(make_failure(errc::not_supported, "this store was moved to another object"));\n',
     "  __builtin_trap();\n"))
row("N17_duration", U, "Duration.ReadsEachUnitAndPlainMilliseconds Duration.IsSaidInAUnitThatLosesNothing",
    "days are no unit, and limits are said in ms",
    ("src/types/url.cpp", '  if (unit == "d") factor = 24 * 60 * 60 * 1000;\n', ""),
    ("src/types/types.cpp", "if (ms != 0 && ms % each.ms == 0) return", "if (ms == 1 && each.ms == 1) return"))
row("N17_etcd", F, "EtcdElsewhere.APortThatIsNoEtcdsIsCalledThat",
    "a port that is no etcd's is told as the end of a stream",
    ("src/stores/etcd/dialing.cpp", "if (!answer.by_etcd && is_no_http(answer.ec)) {",
     "if (false && !answer.by_etcd && is_no_http(answer.ec)) {"))
# ------------------------------------------------------------------------------------ P
row("P2", U, """ElectionClosing.ACampaignThatComesBehindItDoesNotBegin
    ElectionClosing.ItResignsFromTheCampaignThatStands ElectionEnds.ACloseCountsBeforeTheCampaignHasBegun
    ElectionEnds.ACloseGivesTheTermBackAndEndsTheCandidateForGood""",
    "a resignation (close) before the campaign is forgotten",
    ("src/algo/election_machine.cpp",
     "  if (closed_ && event == election_event::campaign) return std::nullopt;\n", ""))
row("P2_stop", U, "LockStop.OneThatWasThereFirstAsksForNothing",
    "acquire(options, stop) does not look at its token",
    ("src/runtime/lock.cpp", """wait_for<acquired>(*detail::context_of(store_), start, detail::dropped_answer{},
                                    std::move(stop))
      .value();""", """wait_for<acquired>(*detail::context_of(store_), start).value();"""))
row("P5", E2E, "LookAtOthers.ALockWithoutAnEndIsNotSaidToEndIn0Ms",
    "a lock without an end is held for at most 0 ms more",
    ("src/cli/run/run.cpp",
     '  if (seen->remaining <= milliseconds{0}) return fmt::format("held by {}", seen->holder);\n', ""))
# ------------------------------------------------------------------------------------ U
row("U1", C, "over_tls/process_end_contract.StaticObjects*",
    "OpenSSL ends before the program's static objects",
    ("src/runtime/io_runner.cpp", "  if (OPENSSL_init_crypto) OPENSSL_init_crypto(no_atexit, nullptr);\n",
     "  static_cast<void>(no_atexit);\n"))
row("U4", DOC, "modes/schema_choice.OfTheUsersNameIsAWarningOfRunAndOfDoctor/* modes/schema_choice.ThatTheUrlMakesIsNotedAndNoWarning/*",
    "neither run nor doctor says in which schema a lock lives, nor that \"$user\" chose it",
    ("src/stores/postgres/command_connection.cpp", "  }\n  tell_schema();\n  statement last{", "  }\n  statement last{"),
    ("src/stores/postgres/examination.cpp", "      schema(db);\n", ""))
row("U9", F, "modes/mysql_settings.OfTheServerDoNotChangeWhatOurSessionsDo/*",
    "MySQL's sessions keep what the server set for them (completion_type, read-only transactions, limits)",
    ("src/stores/mysql/connection.cpp", """         "completion_type = 'NO_CHAIN', sql_safe_updates = 0, "
         "sql_select_limit = 18446744073709551615, innodb_lock_wait_timeout = " +
         lock_wait + ", lock_wait_timeout = " + lock_wait +
         " /*M!100300 , max_statement_time = 0, idle_transaction_timeout = 0, "
         "idle_readonly_transaction_timeout = 0, idle_write_transaction_timeout = 0 */"
         " /*!80000 , max_execution_time = 0 */"
         "; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";""",
     """         "innodb_lock_wait_timeout = " +
         lock_wait + ", lock_wait_timeout = " + lock_wait +
         "; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";"""))
row("U10", F, "modes/postgres_standby.AServerThatWasMadeReadOnlyIsLeftToo/*",
    "a server or role that was made read-only is told to be a standby, and no other cause is named",
    ("src/stores/postgres/sql_error.cpp", """     "this server is a standby: name the primary; or it, or this user, was made read-only: ALTER "
     "ROLE … SET default_transaction_read_only = off"},
""", """     "this server is a standby; name the primary"},
"""))
# ------------------------------------------------------------------------------------ H
row("H2", F, "redis_survey.MonitorLogsInAsAllConnectionsDo",
    "MONITOR's connection logs in by AUTH, and quotes what the server answers",
    ("src/stores/redis/hot/monitor_connection.cpp",
     'words[] = {"HELLO", "2", "AUTH", user, how_.password};', 'words[] = {"AUTH", user, how_.password};'),
    ("src/stores/redis/hot/monitor_connection.cpp", "fail(refused_greeting(text.substr(1)",
     "fail(server_failure(text.substr(1)"))
row("H2_greeting", F, "RedisSecurity.TheAnswerToAGreetingIsNeverQuoted",
    "the answer to a greeting is quoted",
    ("src/stores/redis/client/server_errors.cpp",
     "failure refused_greeting(std::string_view line, std::string_view store) {\n",
     "failure refused_greeting(std::string_view line, std::string_view store) {\n"
     '  if (!line.starts_with("ERR unknown command")) return server_failure(line, store);\n'))
row("H4", U, "PrometheusText.StoresOfOneUrlHaveLabelsOfTheirOwn",
    "two stores of one URL have one label",
    ("src/metrics/prometheus_text.cpp", "  auto const all = told_apart(given);\n", "  auto const& all = given;\n"))
row("H7_threshold", ("hot_tests", "tests/unit/hot_tests"),
    "HotKeys.AThresholdThatIsNeverReachedIsRefusedWithBothNumbers",
    "a threshold that is never reached is taken",
    ("src/local/hot_keys.cpp", "  check_reachable(options, owner);\n", ""))
row("H7_demo", E2E, "DemoHotkey.WhatItCannotDoIsRefusedWithTheWayOut",
    "the demo takes a threshold that is never reached (and the library refuses it with other words)",
    ("src/cli/demo/hotkey_options.cpp", "if (options.threshold * half_s < least / 2) {",
     "if (false && options.threshold * half_s < least / 2) {"))
row("H7_time_point", ("cache_tests", "tests/unit/cache_tests"), "HotRules.TimesThatMakeNoSenseAreRefused",
    "times are rounded before they are judged: time_point::min() becomes 2262",
    ("src/runtime/hot_rules.cpp", """    auto fault = fault_of(known->rules);
    if (fault.empty()) {
      std::for_each(known->rules.begin(), known->rules.end(), &round_times);
      fault = fault_of(known->rules);
    }
""", """    std::for_each(known->rules.begin(), known->rules.end(), &round_times);
    auto const fault = fault_of(known->rules);
"""))
RAW = (("src/types/error.cpp", "  return overlong || surrogate || too_great ? 0 : size;\n",
        "  static_cast<void>(overlong || surrogate || too_great);\n  return size;\n"),
       ("src/types/error.cpp", 'if (code_point == "\\xd8\\x9c") return true;               // U+061C\n',
        "if (true) return false;\n"),
       ("src/types/error.cpp", 'return shown(text, "\\\\\\\\"); }', 'return shown(text, "\\\\"); }'))
row("H7_text", U, "Message.WhatIsNotUtf8IsShownAsBytes Message.StaysOneLineWhateverTheNameHolds",
    "surrogates, overlong forms and characters that turn a row come out raw, and a backslash looks like an escape", *RAW)
row("H7_text_hot", HOT, "HotTable.NoTwoKeysLookAlikeInALine HotTable.JsonHasTheBytesOfAKeyThatIsNoText",
    "the same in the table of hot keys", *RAW)
row("H7_text_spdlog", ("logging_spdlog_tests", "tests/unit/logging_spdlog_tests"),
    "LoggingSpdlog.NothingInALineIsForATerminal", "the same in the lines of the adapter for spdlog", *RAW)
row("H7_cut", HOT, "HotTable.WhatMayHaveBeenCutHasAMark", "a key that was cut has no mark",
    ("src/cli/hot/hot_table.cpp", 'return escaped(one.key) + (one.cut ? "…" : ""); }', "return escaped(one.key); }"),
    ("src/cli/hot/hot_table.cpp", '    if (one.cut) told["key_cut"] = true;\n', ""))
row("H7_hot_list", HOT, "HotRulesCommand.ListTellsRulesApartAndHasTheBytesThatRemoveTakes",
    "`hot list` cuts keys, and its JSON replaces their bytes",
    ("src/cli/hot/rule_table.cpp", "whole(one.key), ", "in_quotes(one.key), "),
    ("src/cli/hot/rule_table.cpp",
     '  if (auto text = escaped(one.key); text != one.key) told["key_escaped"] = std::move(text);\n', ""))
# ------------------------------------------------------------------------------------ W
row("W1", E2E, "RunDefaults.WhoNamesNoStoreIsToldWhichFileItIs",
    "who names no store is not told its file",
    ("src/cli/common/store_argument.cpp", """  return fmt::format(
      "no store is named (--store): only processes on this machine that use the same file are "
      "excluded: {}",
      default_store_file().string());
""", """  return "no store is named (--store): only this user's processes on this machine are excluded";
"""))
row("W2", F, "redis_documented_rights.OfRedisSuffice RedisClusterDocumentedRights.Suffice",
    "the page's ACL does not let doctor look (the page; nothing is built)",
    ("docs/stores/redis.md", "ACL SETUSER app +acl|whoami +acl|dryrun ~herdlock-doctor* ~{herdlock-doctor*\n", ""))
WHOLE = ("docs/stores/redis.md",
         "ACL SETUSER app +eval +evalsha +get +set +del +incr +rename +exists +type +pexpire +pttl +time\n",
         "ACL SETUSER app +@read +@write +@scripting +time\n")
row("W3", F, "redis_documented_rights.OfRedisSuffice",
    "the page's ACL lets a user empty the server (the page; nothing is built)", WHOLE)
row("W3_page", CU, "redis_rights.ThePagesPrintThoseThatDoctorAsksFor",
    "the same page beside what doctor asks for", WHOLE)
row("W4", F, "redis_documented_rights.OfTheDialectsSuffice",
    "the dialects' ACL lacks INFO and TIME: the store warns (the page; nothing is built)",
    ("docs/stores/redis-dialects.md", "ACL SETUSER plain +info +time +ping +select\n", ""),
    ("docs/stores/redis-dialects.md", "ACL SETUSER getset +info +time +ping +select\n", ""))
# -------------------------------- nothing is built: "!" and a command, run at the root of the tree
row("P1_style", ("-", "!python3 -B tests/style/check.py . async_calls_are_work"), "-",
    "an operation begins elsewhere than in detail/async.hpp (style rule async_calls_are_work)",
    ("include/herdlock/single_flight.hpp",
     """    return detail::initiate_as<void(std::exception_ptr, T)>(executor_, std::move(start),
                                                            std::forward<Token>(token));
""", """    using initiation = detail::initiation<decltype(start)>;
    return boost::asio::async_initiate<Token, void(std::exception_ptr, T)>(
        initiation{executor_, std::move(start)}, token);
"""))
row("H5", ("-", "!tree=$PWD && cd $(mktemp -d) && env -u CCACHE_DIR -u XDG_CACHE_HOME -u CCACHE_CONFIGPATH HOME=/proc cmake"
    " -D SOURCE_DIR=$tree -D COMPILER=/usr/bin/c++ -D HOME_WORKS=false -P $tree/tests/consumer/ccache.cmake"), "-",
    "ccache is used where it cannot write its cache (ctest consumer.ccache_false)",
    ("cmake/HerdlockCcache.cmake", "  if(status EQUAL 0)\n", "  if(TRUE)\n"))
row("N16", ("-", "!old=$(mktemp -d) && mkdir $old/boost && echo '#define BOOST_VERSION 107400' >$old/boost/version.hpp &&"
    " c++ -std=c++20 -fsyntax-only -I $old -I include -x c++ include/herdlock/herdlock.hpp 2>&1 |"
    " grep 'error.*needs the headers of Boost 1.88 or newer'"), "-",
    "an old Boost is not named (as ctest old_boost looks for it)",
    ("include/herdlock/detail/boost_version.hpp",
     """#if BOOST_VERSION < 108800
#error "herdlock needs the headers of Boost 1.88 or newer; put their folder in front, with -isystem"
#endif
""", ""))
# ------------------------------------------- where the test, or the mend, came with e1f110a5
mended_later("L5_postgres", F, "postgres_new_connection.ALeaseThatWasTakenAwayMeanwhileIsLost",
    "PostgreSQL's table mode tells of no new connection (test of e1f110a5)",
    ("src/stores/postgres/table_store.cpp",
     "  void on_new_connection(std::function<void()> told) override { news_.listen(std::move(told)); }\n", ""))
mended_later("L5_mysql", F, "mysql_new_connection.ALeaseThatWasTakenAwayMeanwhileIsLost",
    "MySQL's table mode tells of no new connection (mend and test of e1f110a5)",
    ("src/stores/mysql/table_store.cpp", "    state_->news.listen(std::move(told));\n",
     "    static_cast<void>(told);\n"))
mended_later("L5_etcd", F, "EtcdNewConnection.ALeaseThatWasTakenAwayMeanwhileIsLost",
    "etcd tells of no new connection (mend and test of e1f110a5)",
    ("src/stores/etcd/etcd_store.cpp", "    queues_->on_new_connection(std::move(told));\n",
     "    static_cast<void>(told);\n"))
mended_later("L9_mysql", F, "mysql_tls.AnEncryptedKeyIsRefusedAndNobodyIsAskedForItsPassPhrase",
    "libmariadb lets OpenSSL ask for the pass phrase of an encrypted key (mend and test of e1f110a5)",
    ("src/stores/mysql/connection.cpp",
     '  mysql_optionsv(handle, MARIADB_OPT_TLS_PASSPHRASE, "herdlock knows no pass phrase");\n', ""))
mended_later("N17_finding", DOC, "DoctorRedis.FindsAServerThatForgetsUnlessItIsQuarantined",
    "doctor says 1 findings (the line of the test came with e1f110a5)",
    ("src/cli/doctor/doctor.cpp", 'number == 1 ? "" : "s");', 'number == 1 ? "s" : "s");'))
# ------------------------------------------------- a public header: all is built again, so it is last
row("P1", U, "AsyncWork.* AsyncWorkTest.AHandlerThatIsDroppedUncalledIsNoWorkAnyMore",
    "no asynchronous call is work for its handler's executor (a public header: all is built; async_with may stay green, since co_spawn is work of its own)",
    ("include/herdlock/detail/async.hpp", """    auto const own = boost::asio::get_associated_executor(h_);
    if (!is_same(own, at)) work_.emplace(tracked(own));
""", "    static_cast<void>(at);\n"))
