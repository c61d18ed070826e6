/// The part of Redis's module interface that this module uses, declared here since it is a C ABI that needs
/// no header: the server gives a function for each name. Unlike the library, the module is part of the
/// server's process: all of it runs on the server's one thread, and a crash here is a crash of the server.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::server::abi {

// The server's own types, opaque here.
struct context;
struct key;
struct string;
struct call_reply;
struct command;
struct info_context;
struct server_info;

/// Of the server: what a module may be told of.
struct event {
  std::uint64_t id;
  std::uint64_t version;
};

using command_function = int (*)(context*, string** words, int count);
using info_function = void (*)(info_context*, int for_crash_report);
using event_function = void (*)(context*, event, std::uint64_t kind, void* details);

inline constexpr int ok = 0;
inline constexpr int failed = 1;
inline constexpr int interface_version = 1;

inline constexpr int open_to_read = 1 << 0;
inline constexpr int open_to_write = 1 << 1;

enum key_type : int { no_key, string_key, list_key, hash_key, set_key, zset_key, module_key, stream_key };
enum reply_type : int { text_reply = 0, error_reply = 1, integer_reply = 2, array_reply = 3, nil_reply = 4 };

inline constexpr long long no_expiry = -1;
inline constexpr int hash_plain = 0;
inline constexpr int hash_exists = 1 << 3;
inline string* const hash_delete = reinterpret_cast<string*>(1);

inline constexpr int notify_generic = 1 << 2;
inline constexpr int notify_string = 1 << 3;
inline constexpr int notify_hash = 1 << 6;
inline constexpr int notify_zset = 1 << 7;

inline constexpr int context_replica = 1 << 3;
inline constexpr int context_cluster = 1 << 5;
inline constexpr int context_append_only = 1 << 6;
inline constexpr int context_out_of_memory = 1 << 10;
inline constexpr int context_loading = 1 << 13;
inline constexpr int context_active_child = 1 << 18;

inline constexpr std::uint64_t event_role_changed = 0;
inline constexpr std::uint64_t event_persistence = 1;
inline constexpr std::uint64_t event_loading = 3;
inline constexpr std::uint64_t event_replica_changed = 6;
inline constexpr std::uint64_t event_cron = 8;
inline constexpr std::uint64_t event_fork = 13;
inline constexpr std::uint64_t event_config = 16;

/// We say ourselves which keys have changed: a key that is opened for writing needn't be.
inline constexpr int option_no_implicit_signal = 1 << 1;
/// There are no types of our own, so a replica may go on serving while it loads new data.
inline constexpr int option_handles_async_loading = 1 << 2;

inline constexpr std::uint64_t key_read_write = 1 << 1;
inline constexpr std::uint64_t key_access = 1 << 4;
inline constexpr std::uint64_t key_update = 1 << 5;

inline constexpr char const* wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";

inline constexpr char const* out_of_memory = "OOM command not allowed when used memory > 'maxmemory'.";

// What set_command_info is told; from Redis 7 on.

enum argument_type : int { text_argument = 0, integer_argument = 1, key_argument = 3 };
inline constexpr int argument_optional = 1 << 0;
inline constexpr int argument_multiple = 1 << 1;

struct command_argument {
  char const* name;
  argument_type type;
  int key_spec_index;
  char const* token;
  char const* summary;
  char const* since;
  int flags;
  char const* deprecated_since;
  command_argument* parts;
  char const* display_text;
};

struct history_entry {
  char const* since;
  char const* changes;
};

enum begin_search : int { begins_nowhere = 0, begins_at_index = 2 };
enum find_keys : int { finds_range = 2, finds_number = 3 };

struct key_spec {
  char const* notes;
  std::uint64_t flags;
  begin_search begin;
  union {
    struct {
      int position;
    } index;
    struct {
      char const* word;
      int start;
    } keyword;
  } from;
  find_keys find;
  union {
    struct {
      int last;
      int step;
      int limit;
    } range;
    struct {
      int number_index;
      int first;
      int step;
    } number;
  } keys;
};

struct command_info_version {
  int version;
  std::size_t size_of_history_entry;
  std::size_t size_of_key_spec;
  std::size_t size_of_argument;
};

struct command_info {
  command_info_version const* version;
  char const* summary;
  char const* complexity;
  char const* since;
  history_entry* history;
  char const* tips;
  int arity;
  key_spec* key_specs;
  command_argument* arguments;
};

/// The server's functions, under their names in its documentation.
struct functions {
  int (*is_module_name_busy)(char const* name);
  void (*set_module_attributes)(context*, char const* name, int version, int interface_version);
  void (*set_module_options)(context*, int options);
  int (*create_command)(context*, char const* name, command_function, char const* flags, int first, int last,
                        int step);
  command* (*get_command)(context*, char const* name);
  int (*set_command_info)(command*, command_info const*);  ///< null before Redis 7
  int (*register_info)(context*, info_function);
  int (*info_add_section)(info_context*, char const* name);
  int (*info_add_field)(info_context*, char const* field, unsigned long long value);
  void (*log)(context*, char const* level, char const* format, ...);

  int (*is_keys_position_request)(context*);
  void (*key_at_position)(context*, int position);
  int (*context_flags)(context*);
  int (*wrong_arity)(context*);
  int (*reply_error)(context*, char const* text);
  int (*reply_integer)(context*, long long number);
  int (*reply_array)(context*, long size);
  int (*reply_text)(context*, char const* text, std::size_t size);

  string* (*create_string)(context*, char const* text, std::size_t size);
  void (*free_string)(context*, string*);
  void (*retain_string)(context*, string*);
  char const* (*string_text)(string const*, std::size_t* size);

  key* (*open_key)(context*, string* name, int mode);
  int (*key_exists)(context*, string* name);  ///< null before Redis 7
  void (*close_key)(key*);
  int (*type_of)(key*);
  std::size_t (*value_length)(key*);
  int (*delete_key)(key*);
  long long (*expiry)(key*);  ///< when it expires, in milliseconds since the epoch
  int (*set_expiry)(key*, long long milliseconds_since_the_epoch);
  long long (*ttl)(key*);
  int (*signal_modified)(context*, string* name);
  int (*notify)(context*, int kind, char const* event, string* name);

  char* (*string_in_place)(key*, std::size_t* size, int mode);
  int (*string_truncate)(key*, std::size_t size);
  int (*string_set)(key*, string* text);

  int (*zset_add)(key*, double score, string* member, int* flags);
  int (*zset_score)(key*, string* member, double* score);
  int (*zset_remove)(key*, string* member, int* deleted);
  int (*zset_first)(key*, double least, double most, int without_least, int without_most);
  int (*zset_last)(key*, double least, double most, int without_least, int without_most);
  string* (*zset_current)(key*, double* score);
  int (*zset_next)(key*);
  void (*zset_stop)(key*);

  int (*hash_set)(key*, int flags, ...);
  int (*hash_get)(key*, int flags, ...);

  // Null in servers that don't have them.
  int (*subscribe)(context*, event, event_function);
  server_info* (*get_server_info)(context*, char const* section);
  void (*free_server_info)(context*, server_info*);
  char const* (*server_info_text)(server_info*, char const* field);

  int (*replicate)(context*, char const* command, char const* format, ...);
  call_reply* (*call)(context*, char const* command, char const* format, ...);
  void (*free_reply)(call_reply*);
  int (*type_of_reply)(call_reply*);
  long long (*integer_of)(call_reply*);
  char const* (*text_of)(call_reply*, std::size_t* size);
  call_reply* (*element_of)(call_reply*, std::size_t index);
};

/// Filled once, before any other function of the module runs.
inline constinit functions redis{};

/// Fetches the functions. Returns the name of the first that this server doesn't have, null if it has all.
[[nodiscard]] char const* load(context*);

}  // namespace holdfast::server::abi
